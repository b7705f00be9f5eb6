// Two instructions that no kernel of ours has a use for: of matrices where there are such, else
// two that stop a wave.
#include "proof.h"

VX_KERNEL(unknown, 64, Args) {
    typedef float f32x4 __attribute__((ext_vector_type(4)));
    VX_GLOBAL f32x4 *out = vx_at<f32x4>(args.out) + vx_thread();
    f32x4 sum = *out;
#if GENERATION == 9
    float a = vx_at<float>(args.in[0])[vx_thread()];
    sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a, a, sum, 0, 0, 0);
    sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a, a, sum, 0, 0, 0);
#else
    __asm__ volatile("s_sethalt 1\n\ts_sethalt 0" : "+v"(sum));
#endif
    *out = sum;
}
