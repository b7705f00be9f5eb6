// One layer between the kernels and what they are compiled for: AMDGPU, NVPTX, or the host.
//
// Freestanding: no header of a vendor, no device library, no C library. A kernel is
//
//     VX_KERNEL(name, THREADS, Args) { ... fields of `args` ... }
//
// and takes one structure by value (see args.h), so that host code hands over bytes and a size.
// A block is THREADS threads in a row (`vx_thread`); a grid has up to three dimensions
// (`vx_block_x`, `_y`, `_z`). On the host `name` takes a pointer to the structure, and the
// threads of a block are fibres of one thread: barriers and exchanges yield.
//
// Pointers say which memory they point to: VX_GLOBAL that of the device, VX_LOCAL that of the block
// (where VX_SHARED puts a variable).
//
// What must stay true:
// - sizes are constants or arguments, never asked of the runtime: on AMD that would bring hidden
//   arguments;
// - exchanges work on groups of 32 lanes, whatever the width of a wave;
// - floating point is IEEE 754 in the order written: the build switches contraction off;
// - sums that leave a block are 64-bit integers, added atomically: their order is free.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed short i16;
typedef int i32;
typedef long long i64;

#define VX_INLINE static inline __attribute__((always_inline))

#if defined(__AMDGCN__)

// The block size is a constant of each kernel: neither hidden arguments nor the dispatch packet
// are read.
#define VX_KERNEL(name, threads, Args)                                                          \
    extern "C" __attribute__((amdgpu_kernel, visibility("protected"),                           \
                              amdgpu_flat_work_group_size(threads, threads))) void              \
    name(const Args args)
#define VX_GLOBAL __attribute__((address_space(1)))
#define VX_SHARED [[clang::loader_uninitialized]] static __attribute__((address_space(3)))
#define VX_LOCAL __attribute__((address_space(3)))

VX_INLINE u32 vx_thread() { return __builtin_amdgcn_workitem_id_x(); }
VX_INLINE u32 vx_block_x() { return __builtin_amdgcn_workgroup_id_x(); }
VX_INLINE u32 vx_block_y() { return __builtin_amdgcn_workgroup_id_y(); }
VX_INLINE u32 vx_block_z() { return __builtin_amdgcn_workgroup_id_z(); }

// Orders accesses to shared memory alone ("local"), so no vector cache is invalidated. Data in
// global memory is handed over between kernels, never inside one.
VX_INLINE void vx_barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

// The value of the lane whose number differs in the bits of `mask`, which is below 32.
VX_INLINE u32 vx_exchange(u32 value, u32 mask) {
    u32 lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
    return (u32)__builtin_amdgcn_ds_bpermute((i32)((lane ^ mask) << 2), (i32)value);
}

VX_INLINE void vx_atomic_add(VX_GLOBAL u64 *at, u64 value) {
    __scoped_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

#elif defined(__NVPTX__)

// The build writes the block size into the PTX: plain C++ has no attribute for it.
#define VX_KERNEL(name, threads, Args)                                                          \
    extern "C" __attribute__((nvptx_kernel, visibility("protected"))) void name(const Args args)
#define VX_GLOBAL __attribute__((address_space(1)))
#define VX_SHARED [[clang::loader_uninitialized]] static __attribute__((address_space(3)))
#define VX_LOCAL __attribute__((address_space(3)))

VX_INLINE u32 vx_thread() { return __nvvm_read_ptx_sreg_tid_x(); }
VX_INLINE u32 vx_block_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
VX_INLINE u32 vx_block_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
VX_INLINE u32 vx_block_z() { return __nvvm_read_ptx_sreg_ctaid_z(); }
VX_INLINE void vx_barrier() { __syncthreads(); }
VX_INLINE u32 vx_exchange(u32 value, u32 mask) {
    return (u32)__nvvm_shfl_sync_bfly_i32(0xffffffffu, (i32)value, (i32)mask, 0x1f);
}
VX_INLINE void vx_atomic_add(VX_GLOBAL u64 *at, u64 value) {
    __scoped_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

#else

// What runs the blocks fills in `vx_host` after it has loaded the library, and sets the thread's
// position before it enters a fibre.
struct vx_host_position {
    u32 thread;
    u32 block[3];
};
struct vx_host_functions {
    const vx_host_position *(*position)();
    void (*barrier)();
    u32 (*exchange)(u32 value, u32 mask);
};
extern "C" vx_host_functions vx_host;

#define VX_KERNEL(name, threads, Args)                                                          \
    static void name##_body(const Args &args);                                                  \
    extern "C" __attribute__((visibility("default"))) const u32 name##_threads = threads;       \
    extern "C" __attribute__((visibility("default"))) const u32 name##_args = sizeof(Args);     \
    extern "C" __attribute__((visibility("default"))) void name(const void *args) {             \
        name##_body(*static_cast<const Args *>(args));                                          \
    }                                                                                           \
    static void name##_body(const Args &args)
#define VX_GLOBAL
#define VX_LOCAL
// Blocks of one thread run one after the other.
#define VX_SHARED static thread_local

VX_INLINE u32 vx_thread() { return vx_host.position()->thread; }
VX_INLINE u32 vx_block_x() { return vx_host.position()->block[0]; }
VX_INLINE u32 vx_block_y() { return vx_host.position()->block[1]; }
VX_INLINE u32 vx_block_z() { return vx_host.position()->block[2]; }
VX_INLINE void vx_barrier() { vx_host.barrier(); }
VX_INLINE u32 vx_exchange(u32 value, u32 mask) { return vx_host.exchange(value, mask); }
VX_INLINE void vx_atomic_add(u64 *at, u64 value) {
    __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}

#endif

VX_INLINE u32 vx_lane() { return vx_thread() & 31; }
VX_INLINE u64 vx_exchange(u64 value, u32 mask) {
    return (u64)vx_exchange((u32)(value >> 32), mask) << 32 | vx_exchange((u32)value, mask);
}
// The sum over a group of 32 lanes, in every lane of it.
template <typename T> VX_INLINE T vx_sum32(T value) {
    for (u32 mask = 16; mask; mask >>= 1) value += vx_exchange(value, mask);
    return value;
}
// The sum over a block of `threads` threads, in its first thread; the others get something else.
// Every thread of the block calls this; `parts` is shared memory for a word a group of 32.
template <u32 threads> VX_INLINE u64 vx_block_sum(u64 value, VX_LOCAL u64 *parts) {
    value = vx_sum32(value);
    if (vx_lane() == 0) parts[vx_thread() / 32] = value;
    vx_barrier();
    u64 all = 0;
    if (vx_thread() == 0)
        for (u32 i = 0; i < threads / 32; i++) all += parts[i];
    return all;
}
template <typename T> VX_INLINE T vx_min(T a, T b) { return a < b ? a : b; }
template <typename T> VX_INLINE T vx_max(T a, T b) { return a > b ? a : b; }

// Reflects an index about the first and the last of `n` samples, which are not repeated. One
// reflection must do.
VX_INLINE i32 vx_mirror(i32 at, i32 n) {
    at = at < 0 ? -at : at;
    return at < n ? at : 2 * n - 2 - at;
}

// Memory of the device at an address.
template <typename T> VX_INLINE VX_GLOBAL T *vx_at(u64 address) {
    return reinterpret_cast<VX_GLOBAL T *>(address);
}
