// The pixel part of motion: the luma difference to an earlier reference frame, blurred by a
// separable window of five taps, and the sum of its absolute values. Defined by
// crates/metrics/src/motion.
#include "account.h"

#define THREADS 256
// Columns of a block that are summed; two more at each side are only filtered down.
#define COLUMNS (THREADS - 4)
// Rows of a block.
#define ROWS 32
// Rows between two barriers.
#define STEP 4

// Taps of the window in Q16.
#define OUTER 3571
#define INNER 16004
#define CENTRE 26386

// Each thread marches down one column with five differences at hand; the block filters a few
// rows at a time along the rows. The grid is (ceil(width / COLUMNS), ceil(height / ROWS)).
//
// `Down` holds a difference times 65536.
template <typename T, typename Down> VX_INLINE void motion(const VxMotionArgs &args) {
    VX_SHARED i32 lines[2][STEP][THREADS];
    VX_SHARED u64 parts[THREADS / 32];
    const VX_GLOBAL VxJob *job = vx_at<const VxJob>(args.frame.job);
    const VxPlane before = {job->earlier[args.earlier].address, job->earlier[args.earlier].pitch};
    const VxPlane now = {job->reference[0].address, job->reference[0].pitch};
    u32 over = 0;
    // A frame without an earlier one has no sum; the block is counted all the same.
    if (before.address != 0) {
        const i32 width = (i32)args.width, height = (i32)args.height;
        const i32 lane = (i32)vx_thread();
        const i32 column = (i32)vx_block_x() * COLUMNS + lane - 2;
        const i32 top = (i32)vx_block_y() * ROWS;
        // Columns past the border by more than the window are read from somewhere and not used.
        const i32 x = vx_mirror(vx_min(column, width + 1), width);
        auto difference = [&](i32 y) {
            u64 row = (u64)vx_mirror(vx_min(y, height + 1), height);
            i32 a = vx_at<const T>(before.address + row * before.pitch)[x];
            i32 b = vx_at<const T>(now.address + row * now.pitch)[x];
            over |= (u32)(a | b) >> args.frame.depth;
            return a - b;
        };
        i32 d[4 + STEP], next[STEP];
        for (i32 k = 0; k < 4; k++) d[k] = difference(top + k - 2);
        for (i32 k = 0; k < STEP; k++) next[k] = difference(top + k + 2);
        const bool summed = lane >= 2 && lane < THREADS - 2 && column < width;
        const i32 bottom = vx_min(top + ROWS, height);
        u64 sad = 0;
        u32 turn = 0;
        for (i32 y = top; y < bottom; y += STEP, turn ^= 1) {
            for (i32 k = 0; k < STEP; k++) d[4 + k] = next[k];
            // The rows of the next turn are on their way while this one is filtered.
            for (i32 k = 0; k < STEP; k++) next[k] = difference(y + STEP + k + 2);
            for (i32 k = 0; k < STEP; k++) {
                Down sum = (Down)(d[k] + d[k + 4]) * OUTER + (Down)(d[k + 1] + d[k + 3]) * INNER +
                           (Down)d[k + 2] * CENTRE;
                lines[turn][k][lane] =
                    (i32)((sum + ((Down)1 << (args.frame.depth - 1))) >> args.frame.depth);
            }
            for (i32 k = 0; k < 4; k++) d[k] = d[k + STEP];
            // The lines of the turn before are still read by slower threads; those of this turn
            // are not written again before the next barrier.
            vx_barrier();
            if (summed) {
                for (i32 k = 0; k < STEP; k++) {
                    auto *line = &lines[turn][k][lane - 2];
                    i64 sum = (i64)(line[0] + line[4]) * OUTER + (i64)(line[1] + line[3]) * INNER +
                              (i64)line[2] * CENTRE;
                    i64 blurred = (sum + (1 << 15)) >> 16;
                    if (y + k < bottom) sad += (u64)(blurred < 0 ? -blurred : blurred);
                }
            }
        }
        sad = vx_block_sum<THREADS>(sad, parts);
        if (vx_thread() == 0) vx_atomic_add(vx_at<u64>(args.frame.results) + args.sad, sad);
    }
    vx_account(args.frame, over);
}

VX_KERNEL(vx_motion_u8, THREADS, VxMotionArgs) { motion<u8, i32>(args); }
VX_KERNEL(vx_motion_u16, THREADS, VxMotionArgs) { motion<u16, i64>(args); }
