// Kernels as a metric has them: a sum of absolute differences, a separable filter, division and
// root in f32, a ratio in f64. They take their arguments one by one.
#include "proof.h"

#define KERNEL(threads)                                                                         \
    extern "C" __attribute__((amdgpu_kernel, visibility("protected"),                           \
                              amdgpu_flat_work_group_size(threads, threads))) void

// 16x16 blocks: a sum over each 32 lanes, one over LDS, one atomic addition a block.
KERNEL(256)
sad_u8(const VX_GLOBAL u8 *a, const VX_GLOBAL u8 *b, u32 w, u32 h, u32 stride,
       VX_GLOBAL u64 *out) {
    VX_SHARED u32 part[8];
    u32 tx = __builtin_amdgcn_workitem_id_x(), ty = __builtin_amdgcn_workitem_id_y();
    u32 at = ty * 16 + tx, x = vx_block_x() * 16 + tx, y = vx_block_y() * 16 + ty, d = 0;
    if (x < w && y < h) {
        i32 p = a[y * stride + x], q = b[y * stride + x];
        d = (u32)(p > q ? p - q : q - p);
    }
    for (u32 mask = 16; mask; mask >>= 1)
        d += (u32)__builtin_amdgcn_ds_bpermute((i32)((lane() ^ mask) << 2), (i32)d);
    if ((at & 31) == 0) part[at >> 5] = d;
    vx_barrier();
    if (at == 0) {
        u32 sum = 0;
        for (u32 i = 0; i < 8; i++) sum += part[i];
        vx_atomic_add(out, sum);
    }
}

#define TAPS 9
#define REACH 4
// Horizontally, then vertically, through LDS; multiplications and additions stay apart.
KERNEL(256)
filter9_f32(const VX_GLOBAL float *src, VX_GLOBAL float *dst, const VX_GLOBAL float *taps, i32 w,
            i32 h, i32 stride) {
    VX_SHARED float tile[16 + 2 * REACH][16 + 2 * REACH];
    VX_SHARED float mid[16 + 2 * REACH][16];
    i32 tx = (i32)__builtin_amdgcn_workitem_id_x(), ty = (i32)__builtin_amdgcn_workitem_id_y();
    i32 at = ty * 16 + tx;
    i32 x0 = (i32)vx_block_x() * 16 - REACH, y0 = (i32)vx_block_y() * 16 - REACH;
    for (i32 i = at; i < 24 * 24; i += 256) {
        i32 yy = vx_max(0, vx_min(h - 1, y0 + i / 24));
        i32 xx = vx_max(0, vx_min(w - 1, x0 + i % 24));
        tile[i / 24][i % 24] = src[yy * stride + xx];
    }
    vx_barrier();
    for (i32 i = at; i < 24 * 16; i += 256) {
        float s = 0.0f;
        for (i32 k = 0; k < TAPS; k++) s += taps[k] * tile[i / 16][i % 16 + k];
        mid[i / 16][i % 16] = s;
    }
    vx_barrier();
    i32 x = x0 + REACH + tx, y = y0 + REACH + ty;
    if (x < w && y < h) {
        float s = 0.0f;
        for (i32 k = 0; k < TAPS; k++) s += taps[k] * mid[ty + k][tx];
        dst[y * stride + x] = s;
    }
}

KERNEL(64)
divsqrt_f32(const VX_GLOBAL float *a, const VX_GLOBAL float *b, VX_GLOBAL float *q,
            VX_GLOBAL float *r, u32 n) {
    u32 i = GLOBAL_ID();
    if (i < n) {
        q[i] = a[i] / b[i];
        r[i] = __builtin_elementwise_sqrt(a[i]);
    }
}

KERNEL(64)
divsqrt_f64(const VX_GLOBAL double *a, const VX_GLOBAL double *b, VX_GLOBAL double *q,
            VX_GLOBAL double *r, u32 n) {
    u32 i = GLOBAL_ID();
    if (i < n) {
        q[i] = a[i] / b[i];
        r[i] = __builtin_elementwise_sqrt(a[i]);
    }
}

KERNEL(64)
ratio_f64(const VX_GLOBAL double *a, const VX_GLOBAL double *b, VX_GLOBAL double *q, u32 n) {
    u32 i = GLOBAL_ID();
    if (i < n) {
        double x = a[i], y = b[i];
        q[i] = (2.0 * x * y + 1e-3) / (x * x + y * y + 1e-3) +
               __builtin_elementwise_sqrt(x * x + y);
    }
}

// What the hardware only estimates.
KERNEL(64)
estimates_f32(const VX_GLOBAL float *a, VX_GLOBAL float *rcp, VX_GLOBAL float *rsq,
              VX_GLOBAL float *root, u32 n) {
    u32 i = GLOBAL_ID();
    if (i < n) {
        rcp[i] = __builtin_amdgcn_rcpf(a[i]);
        rsq[i] = __builtin_amdgcn_rsqf(a[i]);
        root[i] = __builtin_amdgcn_sqrtf(a[i]);
    }
}

KERNEL(64)
estimates_f64(const VX_GLOBAL double *a, VX_GLOBAL double *rcp, VX_GLOBAL double *rsq, u32 n) {
    u32 i = GLOBAL_ID();
    if (i < n) {
        rcp[i] = __builtin_amdgcn_rcp(a[i]);
        rsq[i] = __builtin_amdgcn_rsq(a[i]);
    }
}
