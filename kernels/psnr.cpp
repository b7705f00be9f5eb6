// The pixel part of psnr: the sum of squared errors of one plane. Defined by
// crates/metrics/src/psnr.
#include "account.h"

#define THREADS 256
// Samples of a row that a thread takes.
#define RUN 8

// A block takes THREADS * RUN samples of a row; the grid is (ceil(width / (THREADS * RUN)), height).
template <typename T> VX_INLINE void psnr(const VxPsnrArgs &args) {
    VX_SHARED u64 parts[THREADS / 32];
    const VX_GLOBAL VxJob *job = vx_at<const VxJob>(args.frame.job);
    u64 row = vx_block_y();
    const VX_GLOBAL T *x = vx_at<const T>(job->reference[args.plane].address +
                                          row * job->reference[args.plane].pitch);
    const VX_GLOBAL T *y = vx_at<const T>(job->distorted[args.plane].address +
                                          row * job->distorted[args.plane].pitch);
    u64 sum = 0;
    u32 over = 0;
    for (u32 i = 0; i < RUN; i++) {
        u32 at = (vx_block_x() * RUN + i) * THREADS + vx_thread();
        if (at < args.width) {
            u32 a = x[at], b = y[at];
            u32 error = a > b ? a - b : b - a;
            sum += error * error;
            over |= (a | b) >> args.frame.depth;
        }
    }
    sum = vx_block_sum<THREADS>(sum, parts);
    if (vx_thread() == 0) vx_atomic_add(vx_at<u64>(args.frame.results) + args.sum, sum);
    vx_account(args.frame, over);
}

VX_KERNEL(vx_psnr_u8, THREADS, VxPsnrArgs) { psnr<u8>(args); }
VX_KERNEL(vx_psnr_u16, THREADS, VxPsnrArgs) { psnr<u16>(args); }
