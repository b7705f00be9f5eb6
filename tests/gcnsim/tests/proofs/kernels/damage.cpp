// A kernel of all kinds of instructions, small enough to damage each of its bytes.
#include "proof.h"

VX_KERNEL(mixed, BLOCK, Args) {
    VX_SHARED float words[BLOCK];
    u32 t = vx_thread(), i = GLOBAL_ID();
    float a = vx_at<float>(args.in[0])[i], b = vx_at<float>(args.in[1])[i];
    words[t] = a;
    vx_barrier();
    float sum = 0.0f;
    for (u32 k = 0; k < args.extra; k++) sum += words[(t + k) % BLOCK] * b;
    u32 votes = vx_exchange(bits(a), 3) ^ bits(b);
    if (votes & 4) sum = sum / a;
    vx_at<u32>(args.out)[i] = bits(sum);
    vx_at<u32>(args.out)[args.n + i] = votes * 13 + (u32)(votes % 19);
}
