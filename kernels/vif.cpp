// The pixel part of vif: local means and products of two images, and what they say about each
// pixel. Defined by crates/metrics/src/vif; equal in every bit.
//
// One launch a scale, which also makes the images of the next one. A block takes a tile of
// columns x VIF_ROWS pixels: with THREADS threads the grid is
//
//     (ceil(width / columns), ceil(height / VIF_ROWS)), columns = 112 at scale 0, else 120.
//
// A thread filters one column of the tile (margins included) downwards for half the rows, straight
// from memory; the five filtered maps go through shared memory one after the other, in two buffers
// that take turns so that one barrier a map does; then a thread filters eight neighbours of a row
// across. What must stay true:
// - taps are symmetric, so the two samples under one tap are added first where the sum fits;
// - a row of the buffers is 132 words: eight rows, read by 16 bytes at the same column, lie in
//   different banks.
#include "account.h"
#include "vif_information.h"

#define THREADS 256
// Columns of a tile, margins included.
#define VIF_COLUMNS 128
#define VIF_ROWS 16
// Words of a row in a buffer.
#define VIF_PITCH 132
// Rows that a thread filters downwards, neighbours that it filters across.
#define RUN 8

typedef u32 u32x4 __attribute__((ext_vector_type(4)));

// Half of the taps of the symmetric windows in Q16, the outermost first.
template <u32 scale> struct Window;
template <> struct Window<0> {
    static constexpr u32 radius = 8;
    static constexpr u32 taps[9] = {489, 935, 1640, 2640, 3896, 5274, 6547, 7455, 7784};
};
template <> struct Window<1> {
    static constexpr u32 radius = 4;
    static constexpr u32 taps[5] = {1244, 3663, 7925, 12590, 14692};
};
template <> struct Window<2> {
    static constexpr u32 radius = 2;
    static constexpr u32 taps[3] = {3571, 16004, 26386};
};
template <> struct Window<3> {
    static constexpr u32 radius = 1;
    static constexpr u32 taps[2] = {10904, 43728};
};

// The weighted sum around v[center], on top of `sum`. The sum of two elements and the sum of all
// must fit 32 bits.
template <u32 scale> VX_INLINE u32 weigh(const u32 *v, u32 center, u32 sum) {
    constexpr u32 radius = Window<scale>::radius;
#pragma unroll
    for (u32 i = 0; i < radius; i++)
        sum += Window<scale>::taps[i] * (v[center - radius + i] + v[center + radius - i]);
    return sum + Window<scale>::taps[radius] * v[center];
}

// The same to 64 bits.
template <u32 scale> VX_INLINE u64 weigh_wide(const u32 *v, u32 center, u64 sum) {
    constexpr u32 radius = Window<scale>::radius;
#pragma unroll
    for (u32 i = 0; i < radius; i++)
        sum += (u64)Window<scale>::taps[i] * (v[center - radius + i] + v[center + radius - i]);
    return sum + (u64)Window<scale>::taps[radius] * v[center];
}

// The weighted sum of elements of 32 bits, divided by 2^shift (at most 16), halves up; the low 32
// bits of it. `upper` holds the upper halves of the elements. Sums of two do not fit 32 bits, but
// the sum of the upper halves does, and so does what the lower halves add, which is known modulo
// 2^32.
template <u32 scale>
VX_INLINE u32 weigh_full(const u32 *v, const u32 *upper, u32 center, u32 shift) {
    u32 high = weigh<scale>(upper, center, 0);
    u32 low = weigh<scale>(v, center, 1u << shift >> 1) - (high << 16);
    return (high << (16 - shift)) + (low >> shift);
}

// What differs between inputs: at scale 0 the depth.
enum Range {
    // 8 bits: filtered products fit 32 bits.
    BITS_8,
    // Up to 12 bits: sums of two products fit 32 bits.
    BITS_12,
    // Up to 16 bits: products fit 32 bits.
    BITS_16,
};

// `count` words of a row, from a multiple of 4 on.
template <u32 count> VX_INLINE void load_row(u32 (&out)[count], const VX_LOCAL u32 *row) {
#pragma unroll
    for (u32 i = 0; i < count; i += 4) {
        u32x4 four = *(const VX_LOCAL u32x4 *)(row + i);
        out[i] = four.x;
        out[i + 1] = four.y;
        out[i + 2] = four.z;
        out[i + 3] = four.w;
    }
}

// One filtered map of a tile.
struct alignas(16) Buffer {
    u32 words[VIF_ROWS * VIF_PITCH];
};

template <typename T, u32 scale, Range range> struct Vif {
    static constexpr u32 radius = Window<scale>::radius;
    // Margin of a tile: the radius, and a multiple of 4.
    static constexpr u32 margin = scale == 0 ? 8 : 4;
    static constexpr u32 columns = VIF_COLUMNS - 2 * margin;
    static constexpr u32 segments = columns / RUN;
    static constexpr u32 next_scale = scale == 3 ? 3 : scale + 1;
    // Samples of a column that a thread reads, words of a row.
    static constexpr u32 tall = RUN + 2 * radius;
    static constexpr u32 wide = RUN + 2 * margin;

    // Right shifts after filtering downwards.
    VX_INLINE u32 mean_shift(u32 depth) {
        return scale != 0 ? 16 : range == BITS_8 ? 8 : depth;
    }
    VX_INLINE u32 product_shift(u32 depth) {
        return scale != 0 ? 16 : range == BITS_8 ? 0 : 2 * (depth - 8);
    }

    // Samples of a column from row `first - radius` on.
    VX_INLINE void load(u32 (&out)[tall], const VxPlane &plane, u32 column, i32 first, u32 height,
                        bool inside) {
        u64 start = plane.address + column * sizeof(T);
        // A row is shorter than 2^17 bytes, but rows may lie far apart.
        u64 pitch = (u32)plane.pitch;
        if (inside) {
            u64 at = start + (u32)(first - (i32)radius) * pitch;
#pragma unroll
            for (u32 i = 0; i < tall; i++, at += pitch) out[i] = *vx_at<const T>(at);
            // Keeps the compiler from sharing the loads of both branches: addresses that come from
            // either cost more than the loads.
            asm volatile("");
        } else {
#pragma unroll
            for (u32 i = 0; i < tall; i++) {
                u32 row = (u32)reflect(first - (i32)radius + (i32)i, (i32)height);
                out[i] = *vx_at<const T>(start + row * pitch);
            }
        }
    }

    // Reflected, or anywhere inside where no pixel of the image needs it.
    VX_INLINE i32 reflect(i32 at, i32 n) {
        at = at < 0 ? -at : at;
        return vx_max(vx_min(at, 2 * n - 2 - at), 0);
    }

    // Filters means of both images downwards around `center`: one in each half of a word.
    template <u32 window>
    VX_INLINE u32 mean(const u32 *x, const u32 *y, u32 center, u32 shift) {
        u32 half = 1u << shift >> 1;
        u32 a = weigh<window>(x, center, half), b = weigh<window>(y, center, half);
        return (b << (16 - shift) & 0xffff0000) | a >> shift;
    }

    // Filters the products of two columns downwards into a column of a buffer.
    VX_INLINE void products(VX_LOCAL u32 *out, const u32 *x, const u32 *y, u32 shift) {
        u32 p[tall], upper[tall];
#pragma unroll
        for (u32 i = 0; i < tall; i++) {
            p[i] = x[i] * y[i];
            upper[i] = p[i] >> 16;
        }
#pragma unroll
        for (u32 i = 0; i < RUN; i++) {
            u32 center = i + radius, sum;
            if (scale == 0 && range == BITS_8)
                sum = weigh<scale>(p, center, 0);
            else if (scale == 0 && range == BITS_12)
                sum = (u32)(weigh_wide<scale>(p, center, (u64)1 << shift >> 1) >> shift);
            else
                sum = weigh_full<scale>(p, upper, center, shift);
            out[i * VIF_PITCH] = sum;
        }
    }

    // Filters a row of products across and adds it.
    VX_INLINE void across(u32 (&sums)[RUN], const VX_LOCAL u32 *row) {
        u32 v[wide], upper[wide];
        load_row(v, row);
#pragma unroll
        for (u32 i = 0; i < wide; i++) upper[i] = v[i] >> 16;
#pragma unroll
        for (u32 i = 0; i < RUN; i++) sums[i] += weigh_full<scale>(v, upper, i + margin, 16);
    }

    // The images of the next scale: every second row of the tile is in `buffer`, filtered
    // downwards; a thread makes four samples of one image.
    VX_INLINE void halve(const VxVifArgs &args, const VX_LOCAL u32 *buffer) {
        u32 row = vx_thread() & 7, part = vx_thread() >> 3;
        if (part >= 2 * segments) return;
        u32 image = part >= segments, segment = part - image * segments;
        u32 v[16];
        load_row(v, buffer + row * VIF_PITCH + segment * RUN + margin - 4);
#pragma unroll
        for (u32 i = 0; i < 16; i++) v[i] = v[i] >> 16 * image & 0xffff;
        u64 four = 0;
#pragma unroll
        for (u32 i = 0; i < 4; i++)
            four |= (u64)(weigh<next_scale>(v, 4 + 2 * i, 1 << 15) >> 16) << 16 * i;
        u32 x = (vx_block_x() * columns + segment * RUN) / 2;
        u32 y = vx_block_y() * (VIF_ROWS / 2) + row;
        if (x < args.width / 2 && y < args.height / 2)
            *vx_at<u64>(args.next[image].address + y * args.next[image].pitch + x * 2) = four;
    }

    // Adds up the sums of all threads.
    VX_INLINE void reduce(const VxVifArgs &args, const VifSums &sums, VX_LOCAL u32 *words) {
        constexpr u32 parts = 5;
        u32 thread = vx_thread();
        // Sums of 256 threads fit 32 bits.
        u32 mine[parts] = {sums.all - sums.rest, sums.reference - sums.varied * (1040 * 2048),
                           (u32)sums.flat_variance & 0x1ffff, sums.flat,
                           (u32)(sums.flat_variance >> 17)};
#pragma unroll
        for (u32 i = 0; i < parts; i++) words[i * THREADS + thread] = mine[i];
        vx_barrier();
        u32 part = thread / 32;
        if (part >= parts) return;
        u32 sum = 0;
#pragma unroll
        for (u32 i = 0; i < THREADS; i += 32) sum += words[part * THREADS + i + vx_lane()];
        sum = vx_sum32(sum);
        if (vx_lane() == 0) {
            VX_GLOBAL u64 *out = vx_at<u64>(args.frame.results) + args.sums;
            vx_atomic_add(out + (part == 4 ? 2 : part), part == 4 ? (u64)sum << 17 : sum);
        }
    }

    // The product of two means in Q16, rounded to Q16.
    VX_INLINE u32 mean_product(u32 a, u32 b) {
        return (u32)(((u64)a * b + ((u64)1 << 31)) >> 32);
    }

    VX_INLINE void run(const VxVifArgs &args) {
        VX_SHARED struct {
            Buffer first, second;
            u32 halved[VIF_ROWS / 2 * VIF_PITCH];
            u32 chords[VIF_CHORDS];
        } shared;
        auto *const first = shared.first.words, *const second = shared.second.words;

        const u32 thread = vx_thread(), depth = args.frame.depth;
        const u32 width = args.width, height = args.height;
        const u32 x0 = vx_block_x() * columns, y0 = vx_block_y() * VIF_ROWS;
        shared.chords[thread] = vx_at<const u32>(args.chords)[thread];

        // Downwards: a column and half the rows.
        const u32 column = thread % VIF_COLUMNS, top = thread / VIF_COLUMNS * RUN;
        u32 x[tall], y[tall];
        {
            const VX_GLOBAL VxJob *job = vx_at<const VxJob>(args.frame.job);
            VxPlane image[2];
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                const VX_GLOBAL VxPlane *plane = i == 0 ? job->reference : job->distorted;
                image[i].address = scale == 0 ? plane->address : args.image[i].address;
                image[i].pitch = scale == 0 ? plane->pitch : args.image[i].pitch;
            }
            u32 at = (u32)reflect((i32)(x0 + column) - (i32)margin, (i32)width);
            bool inside = y0 >= radius && y0 + VIF_ROWS + radius <= height;
            load(x, image[0], at, (i32)(y0 + top), height, inside);
            load(y, image[1], at, (i32)(y0 + top), height, inside);
        }
        u32 over = 0;
        if (scale == 0 && range != BITS_8) {
#pragma unroll
            for (u32 i = radius; i < radius + RUN; i++) over |= x[i] | y[i];
            over >>= depth;
        }

        const u32 shift = product_shift(depth);
        const u32 start = top * VIF_PITCH + column;
        if (scale != 3) {
#pragma unroll
            for (u32 i = 0; i < RUN; i += 2)
                shared.halved[start - top * (VIF_PITCH / 2) + i / 2 * VIF_PITCH] =
                    mean<next_scale>(x, y, i + radius, mean_shift(depth));
        }
        if (args.score) {
#pragma unroll
            for (u32 i = 0; i < RUN; i++)
                first[start + i * VIF_PITCH] = mean<scale>(x, y, i + radius, mean_shift(depth));
        }
        vx_barrier();
        if (scale != 3) halve(args, shared.halved);

        if (args.score) {
            // Across: eight pixels of a row. Products of means first, then (co)variances.
            const u32 row = thread % VIF_ROWS, segment = thread / VIF_ROWS;
            const bool works = segment < segments;
            const u32 from = row * VIF_PITCH + segment * RUN;
            u32 s1[RUN], s2[RUN], s12[RUN];

            products(second + start, x, x, shift);
            if (works) {
                u32 both[wide], upper[wide];
                load_row(both, first + from);
#pragma unroll
                for (u32 i = 0; i < wide; i++) upper[i] = both[i] >> 16;
#pragma unroll
                for (u32 i = 0; i < RUN; i++) {
                    u32 m2 = weigh<scale>(upper, i + margin, 0);
                    // Modulo 2^32, which is above any sum of the lower halves.
                    u32 m1 = weigh<scale>(both, i + margin, 0) - (m2 << 16);
                    s1[i] = 0 - mean_product(m1, m1);
                    s2[i] = 0 - mean_product(m2, m2);
                    s12[i] = 0 - mean_product(m1, m2);
                }
            }
            vx_barrier();
            products(first + start, y, y, shift);
            if (works) across(s1, second + from);
            vx_barrier();
            products(second + start, x, y, shift);
            if (works) across(s2, first + from);
            vx_barrier();
            VifSums sums = {};
            const u32 left = x0 + segment * RUN;
            if (works && left < width && y0 + row < height) {
                bool varied[RUN], any = false;
#pragma unroll
                for (u32 i = 0; i < RUN; i++) {
                    s2[i] = (u32)vx_max((i32)s2[i], 0);
                    bool inside = left + i < width, flat = (i32)s1[i] < VIF_NOISE;
                    sums.flat_variance += inside && flat ? s2[i] : 0;
                    sums.flat += inside && flat;
                    varied[i] = inside && !flat;
                    any |= varied[i];
                }
                if (any) {
                    across(s12, second + from);
#pragma unroll
                    for (u32 i = 0; i < RUN; i++)
                        vif_varied(sums, varied[i], (i32)s1[i], (i32)s2[i], (i32)s12[i],
                                   args.gain_limit, shared.chords);
                }
            }
            reduce(args, sums, first);
        }
        vx_account(args.frame, over);
    }
};

VX_KERNEL(vx_vif_scale0_u8, THREADS, VxVifArgs) { Vif<u8, 0, BITS_8>::run(args); }
VX_KERNEL(vx_vif_scale0_u12, THREADS, VxVifArgs) { Vif<u16, 0, BITS_12>::run(args); }
VX_KERNEL(vx_vif_scale0_u16, THREADS, VxVifArgs) { Vif<u16, 0, BITS_16>::run(args); }
VX_KERNEL(vx_vif_scale1, THREADS, VxVifArgs) { Vif<u16, 1, BITS_16>::run(args); }
VX_KERNEL(vx_vif_scale2, THREADS, VxVifArgs) { Vif<u16, 2, BITS_16>::run(args); }
VX_KERNEL(vx_vif_scale3, THREADS, VxVifArgs) { Vif<u16, 3, BITS_16>::run(args); }
