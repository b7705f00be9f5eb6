// Kernels that are wrong, each in one way. Those whose name ends in `_right` show that the check
// is not what is wrong.
#include "proof.h"

// A sum over LDS whose barrier is missing.
#define SUM(name, wait)                                                                         \
    VX_KERNEL(name, 256, Args) {                                                                \
        VX_SHARED u32 words[256];                                                               \
        u32 t = vx_thread();                                                                    \
        words[t] = vx_at<u32>(args.in[0])[t];                                                   \
        wait;                                                                                   \
        vx_at<u32>(args.out)[t] = words[t] + words[255 - t];                                    \
    }
SUM(no_barrier, __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront"))
SUM(no_barrier_right, vx_barrier())

// Reads one row more than there are.
VX_KERNEL(row_beyond, 64, Args) {
    u32 x = vx_thread(), sum = 0;
    for (u32 y = 0; y <= args.n; y++) sum += vx_at<u32>(args.in[0])[y * 64 + x];
    vx_at<u32>(args.out)[x] = sum;
}

// Writes in front of the first sample.
VX_KERNEL(row_before, 64, Args) {
    i32 x = (i32)vx_thread() - (i32)args.extra;
    vx_at<u32>(args.out)[x] = (u32)x;
}

// Each block writes to the same place, or reads what the block before has written.
VX_KERNEL(same_place, 32, Args) { vx_at<u32>(args.out)[vx_thread()] = vx_block_x(); }
VX_KERNEL(handed_over, 32, Args) {
    VX_GLOBAL u32 *out = vx_at<u32>(args.out);
    u32 before = vx_block_x() ? out[vx_block_x() * 32 + vx_thread() - 32] : 5;
    out[vx_block_x() * 32 + vx_thread()] = before + 1;
}

// Takes as many words of LDS as the argument says.
VX_KERNEL(shared_beyond, 64, Args) {
    VX_SHARED u32 words[64];
    u32 t = vx_thread();
    words[t] = t;
    vx_barrier();
    words[t + args.extra] = t;
    vx_barrier();
    vx_at<u32>(args.out)[t] = words[63 - t];
}

// Reads a word of LDS that nobody wrote.
VX_KERNEL(shared_unwritten, 64, Args) {
    VX_SHARED u32 words[65];
    u32 t = vx_thread();
    if (t != args.extra) words[t] = t;
    vx_barrier();
    vx_at<u32>(args.out)[t] = words[63 - t];
}

// A sum over 64 lanes, as if a wave had 64.
VX_KERNEL(for_waves_of_64, 64, Args) {
    u32 value = vx_at<u32>(args.in[0])[vx_thread()];
    for (u32 mask = 32; mask; mask >>= 1)
        value += (u32)__builtin_amdgcn_ds_bpermute((i32)((lane() ^ mask) << 2), (i32)value);
    vx_at<u32>(args.out)[vx_thread()] = value;
}

// A vote of 32 lanes, as if a wave had 32: the first lane's half stands for all.
VX_KERNEL(for_waves_of_32, 64, Args) {
    u32 value = vx_at<u32>(args.in[0])[vx_thread()];
    u64 votes = WAVE == 64 ? __builtin_amdgcn_ballot_w64(value & 1)
                           : (u64)__builtin_amdgcn_ballot_w32(value & 1);
    u32 leader = (u32)__builtin_amdgcn_readfirstlane((i32)value);
    vx_at<u32>(args.out)[vx_thread()] = (u32)__builtin_popcount((u32)votes) * 1000 + leader;
}

// Never ends.
VX_KERNEL(endless, 64, Args) {
    volatile VX_GLOBAL u32 *flag = vx_at<u32>(args.in[0]);
    while (!*flag) {}
    vx_at<u32>(args.out)[vx_thread()] = 1;
}
