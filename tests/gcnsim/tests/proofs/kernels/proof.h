// What the kernels of these tests share. They are compared with Rust: `PUT(name, value)` writes
// one column of results, and the tables in Rust hold the same names in the same order.
#pragma once
#include "vx.h"

typedef signed char i8;

// Arguments of every kernel: addresses of the inputs and of the results, threads that work, and a
// number that the compiler does not know.
struct Args {
    u64 in[3];
    u64 out;
    u32 n;
    u32 extra;
};

#define BLOCK 64
#define GLOBAL_ID() (vx_block_x() * BLOCK + vx_thread())
// Which operands a thread takes: its own, or those of its block, so that scalar instructions
// compute what vector instructions compute otherwise.
#ifdef UNIFORM
#define POSITION() vx_block_x()
#else
#define POSITION() GLOBAL_ID()
#endif
#define PUT(name, value) out[slot++ * args.n + i] = (value)
#define PUTF(name, value) PUT(name, bits((float)(value)))
#define PUTD(name, value) PUT(name, bits((double)(value)))
#define OWN extern "C" __attribute__((amdgpu_kernel, visibility("protected")))

VX_INLINE u32 bits(float x) { return __builtin_bit_cast(u32, x); }
VX_INLINE u64 bits(double x) { return __builtin_bit_cast(u64, x); }
VX_INLINE float real(u32 x) { return __builtin_bit_cast(float, x); }
VX_INLINE double real(u64 x) { return __builtin_bit_cast(double, x); }
// Lane of the wave.
VX_INLINE u32 lane() {
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
