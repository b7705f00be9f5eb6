// Kernels for the simulator's own tests: each does one thing that can be told from outside.
#include "../../../../kernels/vx.h"

struct ProbeArgs {
    u64 from;
    u64 to;
    u32 count;
    u32 at;
};

// to[i] = from[i] + 1
VX_KERNEL(probe_add, 64, ProbeArgs) {
    u32 i = vx_block_x() * 64 + vx_thread();
    if (i < args.count) vx_at<u32>(args.to)[i] = vx_at<const u32>(args.from)[i] + 1;
}
// to[i] += count
VX_KERNEL(probe_more, 64, ProbeArgs) {
    u32 i = vx_block_x() * 64 + vx_thread();
    vx_at<u32>(args.to)[i] += args.count;
}
// Sums thread numbers through shared memory; with `at` 1 without the barrier between.
VX_KERNEL(probe_sum, 256, ProbeArgs) {
    VX_SHARED u32 parts[256];
    parts[vx_thread()] = vx_thread();
    if (args.at == 0) vx_barrier();
    if (vx_thread() == args.count) {
        u32 all = 0;
        for (u32 i = 0; i < 256; i++) all += parts[i];
        vx_at<u32>(args.to)[vx_block_x()] = all;
    }
}
// Every thread whose number is not below `count` ends early; the others pass two barriers and
// leave the sum of their group of 32.
VX_KERNEL(probe_early, 128, ProbeArgs) {
    if (vx_thread() >= args.count) return;
    vx_barrier();
    u32 sum = vx_sum32(vx_thread());
    vx_barrier();
    vx_at<u32>(args.to)[vx_thread()] = sum;
}
// Where each thread is: block x, y, z and thread.
VX_KERNEL(probe_where, 32, ProbeArgs) {
    u32 block = (vx_block_z() * args.at + vx_block_y()) * args.count + vx_block_x();
    VX_GLOBAL u32 *to = vx_at<u32>(args.to) + (block * 32 + vx_thread()) * 4;
    to[0] = vx_block_x();
    to[1] = vx_block_y();
    to[2] = vx_block_z();
    to[3] = vx_thread();
}
// Thread `at` waits at a barrier while the others exchange.
VX_KERNEL(probe_stuck, 64, ProbeArgs) {
    if (vx_thread() == args.at) vx_barrier();
    else vx_at<u32>(args.to)[vx_thread()] = vx_sum32(1u);
}
// Reads shared memory that nobody wrote.
VX_KERNEL(probe_shared, 64, ProbeArgs) {
    VX_SHARED volatile u32 unwritten[64];
    vx_at<u32>(args.to)[vx_thread()] = unwritten[vx_thread()];
    unwritten[vx_thread()] = 7;
}
// Thread 3 of block 1 writes at `to`; all pass a barrier.
VX_KERNEL(probe_fault, 64, ProbeArgs) {
    vx_barrier();
    if (vx_block_x() == 1 && vx_thread() == 3) *vx_at<u32>(args.to) = 1;
    vx_barrier();
}
// Adds 1 to a 64-bit word from every thread.
VX_KERNEL(probe_count, 64, ProbeArgs) { vx_atomic_add(vx_at<u64>(args.to), 1); }
// Runs over its stack on the host.
VX_KERNEL(probe_deep, 32, ProbeArgs) {
#if defined(__AMDGCN__) || defined(__NVPTX__)
    (void)args;
#else
    volatile u8 frame[128 * 1024];
    for (u32 i = sizeof frame; i-- > 0;) frame[i] = (u8)args.at;
    vx_at<u32>(args.to)[0] = frame[args.at];
#endif
}
// to[i] = the bits of the processor's estimate of 1 / (i + 1).
VX_KERNEL(probe_reciprocal, 64, ProbeArgs) {
    u32 i = vx_block_x() * 64 + vx_thread();
    float x = (float)(i + 1);
#if defined(__AMDGCN__)
    float estimate = __builtin_amdgcn_rcpf(x);
#else
    float estimate = 1.0f / x;
#endif
    vx_at<u32>(args.to)[i] = __builtin_bit_cast(u32, estimate);
}
// to[i] += count, and one more in thread `at`, but for AMD.
VX_KERNEL(probe_unlike, 64, ProbeArgs) {
    u32 i = vx_block_x() * 64 + vx_thread();
    u32 more = args.count;
#if !defined(__AMDGCN__)
    if (i == args.at) more++;
#endif
    vx_at<u32>(args.to)[i] += more;
}
// Adds 1 to the word at `to` in a kernel for AMD alone.
VX_KERNEL(probe_stray, 64, ProbeArgs) {
#if defined(__AMDGCN__)
    if (vx_thread() == 0) *vx_at<u32>(args.to) += 1;
#else
    (void)args;
#endif
}
