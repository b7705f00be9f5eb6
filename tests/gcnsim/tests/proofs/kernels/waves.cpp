// What lanes of a wave, waves of a block and blocks of a grid have to do with each other.
// The build defines WAVE, the lanes of a wave, and GENERATION, 9 to 12.
#include "proof.h"

#define SHARED_BLOCK(x, y, z)                                                                   \
    extern "C" __attribute__((amdgpu_kernel, visibility("protected"),                           \
                              amdgpu_flat_work_group_size(x * y * z, x * y * z))) void
#define DPP(control) (u32) __builtin_amdgcn_update_dpp((i32)b, (i32)a, control, 0xf, 0xf, false)
#define DPP_ZERO(control) (u32) __builtin_amdgcn_update_dpp(0, (i32)a, control, 0xf, 0xf, true)
#define SWIZZLE(pattern) (u32) __builtin_amdgcn_ds_swizzle((i32)a, pattern)

#if WAVE == 64
#define BALLOT(x) __builtin_amdgcn_ballot_w64(x)
#else
#define BALLOT(x) (u64) __builtin_amdgcn_ballot_w32(x)
#endif

// Exchanges between lanes. All lanes of a wave take part; blocks may end within a wave.
VX_INLINE void exchanges(const Args &args, u32 i) {
    u32 a = vx_at<u32>(args.in[0])[i], b = vx_at<u32>(args.in[1])[i];
    VX_GLOBAL u32 *out = vx_at<u32>(args.out);
    u32 slot = 0;
    PUT(lane, lane());
    PUT(exchange_1, vx_exchange(a, 1));
    PUT(exchange_16, vx_exchange(a, 16));
    PUT(gather, (u32)__builtin_amdgcn_ds_bpermute((i32)(b << 2), (i32)a));
    PUT(scatter, (u32)__builtin_amdgcn_ds_permute((i32)((lane() ^ 5) << 2), (i32)a));
    PUT(first, (u32)__builtin_amdgcn_readfirstlane((i32)a));
    PUT(third, (u32)__builtin_amdgcn_readlane((i32)a, 3));
    PUT(chosen, (u32)__builtin_amdgcn_readlane((i32)a, (i32)args.extra));
    u32 written = a;
    __asm__("v_writelane_b32 %0, 33, %1" : "+v"(written) : "s"(args.extra));
    PUT(written, written);
    u64 votes = BALLOT(a & 1);
    PUT(votes_low, (u32)votes);
    PUT(votes_high, (u32)(votes >> 32));
    PUT(votes_count, (u32)__builtin_popcountll(BALLOT(a < b)));
    PUT(quad, DPP(0x1b));
    PUT(quad_broadcast, DPP(0x55));
    PUT(row_left, DPP(0x103));
    PUT(row_right, DPP(0x111));
    PUT(row_right_zero, DPP_ZERO(0x118));
    PUT(row_rotate, DPP(0x125));
    PUT(row_mirror, DPP(0x140));
    PUT(row_half_mirror, DPP(0x141));
    PUT(row_masked,
        (u32)__builtin_amdgcn_update_dpp((i32)b, (i32)a, 0x121, 0x5, 0xa, false));
    PUT(row_sum, a + DPP_ZERO(0x111));
    PUT(row_sum_mirror, b - DPP(0x140));
    PUT(swizzle_exchange, SWIZZLE(0x041f));
    PUT(swizzle_reverse, SWIZZLE(0x7c1f));
    PUT(swizzle_broadcast, SWIZZLE(0x0018));
    PUT(swizzle_quad, SWIZZLE(0x8000 | 0x4e));
#if GENERATION == 9
    PUT(row_broadcast_15, DPP(0x142));
    PUT(row_broadcast_31, DPP(0x143));
    PUT(wave_right, DPP(0x138));
    PUT(wave_left, DPP(0x130));
    PUT(wave_rotate, DPP(0x13c));
#else
    PUT(row_share, DPP(0x157));
    PUT(row_exchange, DPP(0x163));
    PUT(eight, (u32)__builtin_amdgcn_mov_dpp8(a, 0xfac688 & 0xffffff));
    PUT(rows, (u32)__builtin_amdgcn_permlane16(b, a, 0x76543210, 0xfedcba98 ^ args.extra, false,
                                               false));
    PUT(rows_across, (u32)__builtin_amdgcn_permlanex16(b, a, 0x01234567, 0x89abcdef, false,
                                                       false));
#endif
}

VX_KERNEL(exchanges_64, 64, Args) { exchanges(args, vx_block_x() * 64 + vx_thread()); }
VX_KERNEL(exchanges_40, 40, Args) { exchanges(args, vx_block_x() * 40 + vx_thread()); }

// Exchanges of which only some lanes are awake.
VX_KERNEL(divergent_exchanges, 64, Args) {
    u32 i = vx_block_x() * 64 + vx_thread();
    u32 a = vx_at<u32>(args.in[0])[i], b = vx_at<u32>(args.in[1])[i];
    u32 first = 0, votes = 0, gathered = 0, shifted = 0;
    if (a & 1) {
        first = (u32)__builtin_amdgcn_readfirstlane((i32)a);
        votes = (u32)__builtin_popcountll(BALLOT(b & 1));
        gathered = (u32)__builtin_amdgcn_ds_bpermute((i32)((lane() ^ 3) << 2), (i32)(a | 2));
        shifted = (u32)__builtin_amdgcn_update_dpp((i32)b, (i32)a, 0x112, 0xf, 0xf, false);
    } else if (b & 2) {
        first = ~(u32)__builtin_amdgcn_readfirstlane((i32)b);
        votes = (u32)__builtin_popcountll(BALLOT(true)) << 8;
    }
    VX_GLOBAL u32 *out = vx_at<u32>(args.out);
    u32 slot = 0;
    PUT(first, first);
    PUT(votes, votes);
    PUT(gathered, gathered);
    PUT(shifted, shifted);
    // A loop that runs once for each value there is in the wave.
    u32 key = b % 5, rounds = 0, total = 0;
    for (;;) {
        u32 chosen = (u32)__builtin_amdgcn_readfirstlane((i32)key);
        rounds++;
        if (key == chosen) {
            total = (u32)__builtin_popcountll(BALLOT(true));
            break;
        }
    }
    PUT(alike, total);
    PUT(rounds, rounds);
}

// Branches, loops and switches whose lanes part.
VX_KERNEL(control, BLOCK, Args) {
    u32 i = GLOBAL_ID();
    if (i >= args.n) return;
    u32 a = vx_at<u32>(args.in[0])[i], b = vx_at<u32>(args.in[1])[i];
    VX_GLOBAL u32 *out = vx_at<u32>(args.out);
    u32 slot = 0;
    u32 steps = 0;
    for (u32 x = (a & 0xffff) + 1; x != 1; x = x & 1 ? 3 * x + 1 : x / 2) steps++;
    PUT(collatz, steps);
    u32 x = a | 1, y = b | 1;
    while (y) {
        u32 rest = x % y;
        x = y;
        y = rest;
    }
    PUT(divisor, x);
    u32 nested = 0;
    if (a & 1) {
        if (b & 1) nested = a * 3;
        else if (b & 2) nested = a * 5;
        else nested = vx_at<u32>(args.in[0])[b % args.n];
        if (a & 2) nested ^= b;
    } else if (b & 4) {
        for (u32 k = 0; k < (b >> 3 & 15); k++) {
            if (k == (a >> 1 & 7)) continue;
            if (k == (a >> 4 & 15)) break;
            nested += k * a;
        }
    }
    PUT(nested, nested);
    u32 chosen;
    switch (a % 11) {
    case 0: chosen = b + 1; break;
    case 1: chosen = b * b; break;
    case 2: chosen = b >> 3; // falls through
    [[fallthrough]];
    case 3: chosen = a ^ b; break;
    case 5: chosen = b % 77; break;
    case 7: chosen = (a - b) / 3; break;
    case 8: chosen = 0; for (u32 k = 0; k < b % 9; k++) chosen = chosen * 7 + k; break;
    default: chosen = 42;
    }
    PUT(chosen, chosen);
    u32 table[4] = {a, b, a + b, a - b}, walked = 0;
    for (u32 k = 0; k < 8; k++) walked = walked * 3 + table[(a >> k) & 3];
    PUT(walked, walked);
    u32 uniform = 0;
    for (u32 k = 0; k < args.extra; k++) uniform = uniform * 5 + (k & 1 ? a : b);
    PUT(uniform, uniform);
}

// Who a thread is, in blocks of 8x4x2 in grids of three dimensions.
SHARED_BLOCK(8, 4, 2) positions(const Args args) {
    u32 x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y();
    u32 z = __builtin_amdgcn_workitem_id_z();
    u32 at = ((vx_block_z() * args.extra + vx_block_y()) * args.n + vx_block_x()) * 64 +
             (z * 4 + y) * 8 + x;
    vx_at<u32>(args.out)[at] = x | y << 4 | z << 8 | vx_block_x() << 12 | vx_block_y() << 20 |
                               vx_block_z() << 26;
}

// The same in two dimensions, in blocks that end within a wave.
SHARED_BLOCK(10, 7, 1) positions_flat(const Args args) {
    u32 x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y();
    u32 at = (vx_block_y() * args.n + vx_block_x()) * 70 + y * 10 + x;
    vx_at<u32>(args.out)[at] = x | y << 8 | vx_block_x() << 16 | vx_block_y() << 24;
}

// Running sums over a block of eight or four waves: two barriers a step.
VX_KERNEL(running_sums, 256, Args) {
    VX_SHARED u64 sums[256];
    u32 t = vx_thread(), i = vx_block_x() * 256 + t;
    u64 own = vx_at<u32>(args.in[0])[i];
    sums[t] = own;
    vx_barrier();
    for (u32 reach = 1; reach < 256; reach *= 2) {
        u64 before = t >= reach ? sums[t - reach] : 0;
        vx_barrier();
        own += before;
        sums[t] = own;
        vx_barrier();
    }
    vx_at<u64>(args.out)[i] = own;
    // The others learn what the last one has.
    vx_at<u64>(args.out)[args.n + i] = sums[255] - own;
}

// A block that asks how large blocks are, and how many.
OWN __attribute__((amdgpu_flat_work_group_size(1, 256))) void sizes(const Args args) {
    u32 size = __builtin_amdgcn_workgroup_size_x();
    u32 i = vx_block_x() * size + vx_thread();
    vx_at<u32>(args.out)[i] = size * 1000 + i;
}
