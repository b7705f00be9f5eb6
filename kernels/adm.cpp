// The pixel part of adm: one kernel a level, then one for all rows. Defined by
// crates/metrics/src/adm.
//
// A thread owns a row of the bands and walks along it: so the sums of a row, which is rounded
// once, stay in registers, and nothing of a level but its low band leaves the block. Per step:
// two columns of samples of either picture through the filter over columns, one coefficient of
// each band by the filter over rows, decoupling, weighing, and, one column behind, masking. Of
// its neighbours a thread needs but the sums of three places of the row above and of that below.
//
// A block of THREADS threads has THREADS - 2 rows; its first and its last thread are there for
// their neighbours. The columns of a block begin at a multiple of 16, less one.
#include "account.h"
#include "adm.h"

#define THREADS 64
#define ROWS (THREADS - 2)
// Pairs of rows in a tile: one more than threads, padded so that no two lanes meet in a bank.
#define PAIRS 66

typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef i32 i32x2 __attribute__((ext_vector_type(2)));

// Two columns of two rows of samples, row by row, as they lie in a tile.
template <typename S> struct AdmCell;
template <> struct AdmCell<u8> {
    typedef u32 Words;
};
template <> struct AdmCell<u16> {
    typedef u32x2 Words;
};
template <> struct AdmCell<i16> {
    typedef u32x2 Words;
};
template <> struct AdmCell<i32> {
    typedef u32x4 Words;
};

// The cell of two samples of a row and two of the next.
VX_INLINE u32 adm_cell(u8 a, u8 b, u8 c, u8 d) { return a | b << 8 | c << 16 | (u32)d << 24; }
VX_INLINE u32x2 adm_cell(u16 a, u16 b, u16 c, u16 d) {
    return {a | (u32)b << 16, c | (u32)d << 16};
}
VX_INLINE u32x2 adm_cell(i16 a, i16 b, i16 c, i16 d) {
    return adm_cell((u16)a, (u16)b, (u16)c, (u16)d);
}
VX_INLINE u32x4 adm_cell(i32 a, i32 b, i32 c, i32 d) { return {(u32)a, (u32)b, (u32)c, (u32)d}; }

// Cell `at` of 16 bytes of a row and 16 of the next.
VX_INLINE u32 adm_cell(u8, u32x4 row, u32x4 next, u32 at) {
    u32 a = row[at / 2], b = next[at / 2];
    return at & 1 ? a >> 16 | (b & 0xffff0000) : (a & 0xffff) | b << 16;
}
VX_INLINE u32x2 adm_cell(u16, u32x4 row, u32x4 next, u32 at) { return {row[at], next[at]}; }
VX_INLINE u32x2 adm_cell(i16, u32x4 row, u32x4 next, u32 at) { return {row[at], next[at]}; }
VX_INLINE u32x4 adm_cell(i32, u32x4 row, u32x4 next, u32 at) {
    return {row[2 * at], row[2 * at + 1], next[2 * at], next[2 * at + 1]};
}

// Sample `column` of row `row` of a cell.
VX_INLINE i32 adm_sample(u8, u32 cell, u32 row, u32 column) {
    return cell >> (16 * row + 8 * column) & 255;
}
VX_INLINE i32 adm_sample(u16, u32x2 cell, u32 row, u32 column) {
    return cell[row] >> 16 * column & 65535;
}
VX_INLINE i32 adm_sample(i16, u32x2 cell, u32 row, u32 column) {
    return column ? (i32)cell[row] >> 16 : (i16)cell[row];
}
VX_INLINE i32 adm_sample(i32, u32x4 cell, u32 row, u32 column) {
    return (i32)cell[2 * row + column];
}

// The sample that stands for sample `at` of `n`: the first one mirrors, the last one is repeated.
// Far outside it is any sample.
VX_INLINE i32 adm_inside(i32 at, i32 n) {
    at = at < 0 ? -at : at < n ? at : 2 * n - 1 - at;
    return vx_min(vx_max(at, 0), n - 1);
}

// Filters four samples. The products of the first levels have 32 bits.
VX_INLINE i32 adm_filter(const i32 (&taps)[4], i32 a, i32 b, i32 c, i32 d, u32 start, u32 shift) {
    u32 sum = start + (u32)taps[0] * (u32)a + (u32)taps[1] * (u32)b;
    return (i32)(sum + (u32)taps[2] * (u32)c + (u32)taps[3] * (u32)d) >> shift;
}
VX_INLINE i32 adm_wide_filter(const i32 (&taps)[4], i32 a, i32 b, i32 c, i32 d, u64 half,
                              u32 shift) {
    i64 sum = (i64)adm_half(half, shift) + adm_wide(taps[0], a) + adm_wide(taps[1], b);
    return adm_signed((i32)((sum + adm_wide(taps[2], c) + adm_wide(taps[3], d)) >> shift));
}

// A column behind the filter over columns.
struct AdmColumn {
    i32 low, high;
};

// What of a place is kept until the next one is known, of the restored part or the impairment.
struct AdmPart {
    // Weighted magnitudes.
    u32 magnitude[3];
    // What it adds to the thresholds of its neighbours, and to its own beyond that.
    i32 spread, own;
};

// The weights of a place: `toward[band]` has the sign `sign[band]`.
template <u32 LEVEL> VX_INLINE AdmPart adm_weigh(const VxAdmLevelArgs &args,
                                                 const u32 (&magnitude)[3], const i32 (&sign)[3]) {
    AdmPart part;
    i32 spread = 0, own = 0;
    for (u32 band = 0; band < 3; band++) {
        u32 weighed;
        if (LEVEL == 0) {
            part.magnitude[band] = args.factors[band] * magnitude[band];
            weighed = adm_first_weighed(part.magnitude[band], sign[band], band);
            spread += adm_first_share(ADM_FIRST_NEIGHBOUR_SHARE, weighed);
            own += adm_first_share(ADM_FIRST_OWN_SHARE, weighed);
        } else {
            weighed = part.magnitude[band] =
                adm_later_weighed(args.factors[band], magnitude[band], sign[band]);
            spread = adm_add(spread, adm_later_share(ADM_NEIGHBOUR_SHARE, weighed));
            own = adm_add(own, adm_later_share(ADM_OWN_SHARE, weighed));
        }
    }
    part.spread = spread, part.own = adm_sub(own, spread);
    return part;
}

// One level. LEVEL is 0, 1, or 2 for all further ones; S are its samples. The grid is
// (ceil((columns[1] + 1 - first) / strip), ceil((rows[1] - rows[0]) / ROWS)) with
// first = (columns[0] + 1) rounded down to 16.
template <typename S, u32 LEVEL> VX_INLINE void adm_level(const VxAdmLevelArgs &args) {
    typedef typename AdmCell<S>::Words Cell;
    // Samples in 16 bytes.
    constexpr i32 EACH = 16 / sizeof(S);
    // Pairs of columns in a tile, which takes 32 bytes of a row.
    constexpr i32 CHUNK = EACH;
    // Coefficients of a low band that are written together, 16 bytes.
    constexpr i32 GROUP = LEVEL == 0 ? 8 : 4;
    // Low bands begin with column -1, so that a coefficient and its group are aligned.
    constexpr i32 MARGIN = LEVEL > 0;

    VX_SHARED Cell tile[2][CHUNK][PAIRS];
    VX_SHARED i32x2 sums_of_three[2][PAIRS];
    VX_SHARED u32 low[LEVEL == 0 ? 1 : 2][GROUP][THREADS];

    const i32 thread = (i32)vx_thread();
    const i32 width = (i32)args.width, height = (i32)args.height;
    // The row of the first thread.
    const i32 top = (i32)(args.rows[0] + vx_block_y() * ROWS) - 1;
    const i32 y = top + thread;
    // Outside there are the rows that stand for those.
    const i32 row = (y < 0 ? 1 : vx_min(y, height - 1)) - top;
    // The columns of the block are those in front of these pairs.
    const i32 begin = (i32)(((args.columns[0] + 1) & ~15u) + vx_block_x() * args.strip);
    const i32 end = begin + (i32)args.strip;
    const i32 last = vx_min(end, (i32)args.columns[1] + 1);

    // The planes, or the low bands of the level before.
    u64 reference, distorted, reference_pitch, distorted_pitch;
    if (LEVEL == 0) {
        const VX_GLOBAL VxJob *job = vx_at<const VxJob>(args.frame.job);
        reference = job->reference[0].address, reference_pitch = job->reference[0].pitch;
        distorted = job->distorted[0].address, distorted_pitch = job->distorted[0].pitch;
    } else {
        reference = args.source[0] + sizeof(S), distorted = args.source[1] + sizeof(S);
        reference_pitch = distorted_pitch = args.source_pitch;
    }
    const bool aligned =
        LEVEL > 0 || ((reference | distorted | reference_pitch | distorted_pitch) & 15) == 0;
    u32 all = 0;
    // Brings a chunk of pairs of columns: each thread two rows of either picture, and four of them
    // a piece of the two rows behind the last.
    auto stage = [&](i32 chunk) __attribute__((always_inline)) {
        const i32 samples = (i32)args.source_width, lines = (i32)args.source_height;
        const i32 column = 2 * chunk * CHUNK - MARGIN;
        if (aligned && column >= 0 && column + 2 * CHUNK <= samples) {
            const i32 line = 2 * y - 1, more = 2 * (top + THREADS) - 1;
            const u32 upper = (u32)adm_inside(line, lines),
                      lower = (u32)adm_inside(line + 1, lines);
#pragma unroll
            for (u32 image = 0; image < 2; image++) {
                const u64 at = (image ? distorted : reference) + (u64)(u32)column * sizeof(S);
                const u64 pitch = image ? distorted_pitch : reference_pitch;
                const VX_GLOBAL u32x4 *a = vx_at<const u32x4>(at + upper * pitch);
                const VX_GLOBAL u32x4 *b = vx_at<const u32x4>(at + lower * pitch);
                u32x4 v[3] = {a[0], a[1]}, w[3] = {b[0], b[1]};
                const bool behind = thread >> 1 == (i32)image;
                if (behind) {
                    v[2] =
                        vx_at<const u32x4>(at + (u32)adm_inside(more, lines) * pitch)[thread & 1];
                    w[2] = vx_at<const u32x4>(at +
                                              (u32)adm_inside(more + 1, lines) * pitch)[thread & 1];
                }
#pragma unroll
                for (u32 half = 0; half < 3; half++) {
                    if (half == 2 && !behind) break;
                    const u32 first = (half == 2 ? thread & 1 : half) * (CHUNK / 2);
                    if (LEVEL == 0 && sizeof(S) == 2) {
                        u32x4 both = v[half] | w[half];
                        all |= both[0] | both[1] | both[2] | both[3];
                    }
#pragma unroll
                    for (i32 k = 0; k < CHUNK / 2; k++)
                        tile[image][first + k][half == 2 ? THREADS : thread] =
                            adm_cell(S(), v[half], w[half], k);
                }
            }
            return;
        }
#pragma nounroll
        for (i32 pair = thread; pair <= THREADS; pair += THREADS) {
            const i32 line = 2 * (top + pair) - 1;
#pragma nounroll
            for (u32 image = 0; image < 2; image++) {
                const u64 at = image ? distorted : reference,
                          pitch = image ? distorted_pitch : reference_pitch;
                const VX_GLOBAL S *a = vx_at<const S>(at + (u32)adm_inside(line, lines) * pitch);
                const VX_GLOBAL S *b =
                    vx_at<const S>(at + (u32)adm_inside(line + 1, lines) * pitch);
#pragma nounroll
                for (i32 k = 0; k < CHUNK; k++) {
                    i32 x0 = adm_inside(column + 2 * k, samples),
                        x1 = adm_inside(column + 2 * k + 1, samples);
                    S a0 = a[x0], a1 = a[x1], b0 = b[x0], b1 = b[x1];
                    if (LEVEL == 0 && sizeof(S) == 2) all |= (u32)a0 | (u32)a1 | (u32)b0 | (u32)b1;
                    tile[image][k][pair] = adm_cell(a0, a1, b0, b1);
                }
            }
        }
    };

    // On the first level the middle of the range counts as zero.
    const u32 depth = args.frame.depth, half = 1u << (depth - 1);
    const u32 middle = half * (u32)(ADM_LOW[0] + ADM_LOW[1] + ADM_LOW[2] + ADM_LOW[3]);
    // Pairs behind whose first column a place is wide (scored or next to such), has its sums
    // of three, and counts as original.
    const i32 wide_from = vx_max(vx_max((i32)args.scored_columns[0] - 1, 0), begin - 2) + 1;
    const i32 wide_to = vx_min((i32)args.scored_columns[1] + 1, width) + 1;
    const i32 three_from = vx_max((i32)args.scored_columns[0], begin - 1) + 2;
    const i32 three_to = vx_min((i32)args.scored_columns[1], end - 1) + 2;

    AdmColumn column[2][3] = {};
    AdmPart parts[2][2] = {};
    // Sums of the spreads of the last two and of the last three coefficients.
    i32 two[2] = {}, three[2] = {};
    u64 cubes[9] = {};

    // The first half of a step, up to the sums of three; `odd` says whether the pair is.
    auto make = [&](i32 pair, u32 odd) __attribute__((always_inline)) {
        i32 details[2][3], lows[2];
#pragma unroll
        for (u32 image = 0; image < 2; image++) {
            Cell upper = tile[image][pair & (CHUNK - 1)][row],
                 lower = tile[image][pair & (CHUNK - 1)][row + 1];
            AdmColumn fresh[2];
#pragma unroll
            for (u32 k = 0; k < 2; k++) {
                i32 a = adm_sample(S(), upper, 0, k), b = adm_sample(S(), upper, 1, k);
                i32 c = adm_sample(S(), lower, 0, k), d = adm_sample(S(), lower, 1, k);
                if (LEVEL == 0) {
                    fresh[k].low = adm_filter(ADM_LOW, a, b, c, d, half - middle, depth);
                    fresh[k].high = adm_filter(ADM_HIGH, a, b, c, d, half, depth);
                } else if (LEVEL == 1) {
                    fresh[k].low = adm_filter(ADM_LOW, a, b, c, d, 0, 0);
                    fresh[k].high = adm_filter(ADM_HIGH, a, b, c, d, 0, 0);
                } else {
                    fresh[k].low =
                        adm_wide_filter(args.low_taps, a, b, c, d, args.vertical_half, 16);
                    fresh[k].high =
                        adm_wide_filter(args.high_taps, a, b, c, d, args.vertical_half, 16);
                }
            }
            // A coefficient is made of the last two pairs, those of planes half a pair back.
            AdmColumn(&old)[3] = column[image];
            AdmColumn a = old[0], b = old[1], c = LEVEL == 0 ? old[2] : fresh[0],
                      d = fresh[LEVEL > 0];
            if (LEVEL == 0) {
                lows[image] = adm_filter(ADM_LOW, a.low, b.low, c.low, d.low, 1 << 15, 16);
                details[image][0] =
                    adm_filter(ADM_LOW, a.high, b.high, c.high, d.high, 1 << 15, 16);
                details[image][1] = adm_filter(ADM_HIGH, a.low, b.low, c.low, d.low, 1 << 15, 16);
                details[image][2] =
                    adm_filter(ADM_HIGH, a.high, b.high, c.high, d.high, 1 << 15, 16);
                old[0] = c, old[1] = fresh[0], old[2] = fresh[1];
            } else {
                const u32 shift = LEVEL == 1 ? 15 : args.horizontal_shift;
                a = {adm_signed(a.low), adm_signed(a.high)},
                b = {adm_signed(b.low), adm_signed(b.high)};
                auto filter = [&](const i32(&taps)[4], i32 a, i32 b, i32 c,
                                  i32 d) __attribute__((always_inline)) {
                    return adm_wide_filter(taps, a, b, c, d, args.horizontal_half, shift);
                };
                lows[image] = filter(args.low_taps, a.low, b.low, c.low, d.low);
                details[image][0] = filter(args.low_taps, a.high, b.high, c.high, d.high);
                details[image][1] = filter(args.high_taps, a.low, b.low, c.low, d.low);
                details[image][2] = filter(args.high_taps, a.high, b.high, c.high, d.high);
                old[0] = fresh[0], old[1] = fresh[1];
            }
        }
        if (LEVEL < 2 || args.low[0]) {
            if (LEVEL == 0) {
                low[0][pair & (GROUP - 1)][thread] = (lows[0] & 0xffff) | (u32)lows[1] << 16;
            } else {
                low[0][pair & (GROUP - 1)][thread] = (u32)lows[0];
                low[LEVEL > 0][pair & (GROUP - 1)][thread] = (u32)lows[1];
            }
        }
        if (!args.scored) return;

        // Coefficient pair - 1: its parts, if it is scored or next to such.
        AdmPart(&part)[2] = parts[odd], (&before)[2] = parts[!odd];
        if (pair >= wide_from && pair < wide_to) {
            const i32(&o)[3] = details[0], (&t)[3] = details[1];
            u32 magnitude[2][3], most[3], large = 0;
            i32 sign[2][3], toward[3];
#pragma unroll
            for (u32 band = 0; band < 3; band++) {
                magnitude[1][band] = adm_abs(o[band]);
                sign[0][band] = o[band] >> 31;
                toward[band] = adm_sub(t[band] ^ sign[0][band], sign[0][band]);
                most[band] = (u32)vx_max(toward[band], 0);
                // Below 2^14 the rounded share times the original rounds back to the distorted.
                magnitude[0][band] = vx_min(magnitude[1][band], most[band]);
                large = vx_max(large, magnitude[1][band]);
            }
            if (pair >= three_from - 1 && pair < three_to - 1) {
#pragma unroll
                for (u32 band = 0; band < 3; band++) {
                    const u32 m = magnitude[1][band];
                    if (LEVEL == 0) {
                        cubes[6 + band] += adm_wide(m * m, m);
                    } else {
                        // Of samples within the depth a detail has less than 2^31, so this fits.
                        u32 square =
                            (u32)((adm_wide(m, m) + adm_half(args.energy_square_unit,
                                                             args.energy_square_shift + 1)) >>
                                  args.energy_square_shift);
                        cubes[6 + band] +=
                            (adm_wide(square, m) +
                             adm_half(args.energy_cube_half, args.energy_cube_shift)) >>
                            args.energy_cube_shift;
                    }
                }
            }
            // Few are as large on the first level, most are on the others.
            if (LEVEL > 0 || large >= 1 << 14) {
#pragma unroll
                for (u32 band = 0; band < 3; band++) {
                    const u32 m = magnitude[1][band];
                    const u32 share =
                        adm_large_share(vx_max(m, 1u << 14), sign[0][band], most[band]);
                    magnitude[0][band] = m < 1 << 14 ? magnitude[0][band] : share;
                }
            }
            if (adm_keeps_direction<LEVEL>(o, t, ADM_COSINE_SQUARED)) {
                if (args.whole_gain) {
#pragma unroll
                    for (u32 band = 0; band < 3; band++)
                        magnitude[0][band] =
                            adm_enhanced<LEVEL>(magnitude[0][band], most[band], args.whole_gain);
                } else {
#pragma unroll
                    for (u32 band = 0; band < 3; band++)
                        magnitude[0][band] =
                            adm_enhanced(magnitude[0][band], most[band], args.gain_limit);
                }
            }
#pragma unroll
            for (u32 band = 0; band < 3; band++) {
                i32 added = (i32)((u32)toward[band] - magnitude[0][band]);
                magnitude[1][band] = adm_abs(added);
                sign[1][band] = sign[0][band] ^ added >> 31;
            }
#pragma unroll
            for (u32 which = 0; which < 2; which++)
                part[which] = adm_weigh<LEVEL>(args, magnitude[which], sign[which]);
        }

        // The one before it has both neighbours now. Where all are scored, the first one mirrors
        // and the last one is repeated.
        if (args.scored_columns[0] == 0) {
            if (pair == width + 1)
                part[0].spread = before[0].spread, part[1].spread = before[1].spread;
            if (pair == 2)
                two[0] = adm_add(two[0], part[0].spread), two[1] = adm_add(two[1], part[1].spread);
        }
#pragma unroll
        for (u32 which = 0; which < 2; which++) {
            three[which] = adm_add(two[which], part[which].spread);
            two[which] = adm_add(before[which].spread, part[which].spread);
        }
        if (pair >= three_from && pair < three_to)
            sums_of_three[odd][thread + 1] = i32x2{three[0], three[1]};
    };

    // The second half: masks coefficient pair - 2.
    auto mask = [&](u32 odd) __attribute__((always_inline)) {
        const i32x2 above = sums_of_three[odd][thread], below = sums_of_three[odd][thread + 2];
        const AdmPart(&part)[2] = parts[!odd];
#pragma unroll
        for (u32 which = 0; which < 2; which++) {
            if (which == 0 && !args.with_impairment) continue;
            i32 nine = adm_add(adm_add(above[which], three[which]), below[which]);
            i32 threshold = adm_add(nine, part[which].own);
            // What one part shows hides the other.
            const u32(&hidden)[3] = part[1 - which].magnitude;
            u64 *to = cubes + 3 * (1 - which);
            to[0] += adm_seen_cube<LEVEL, 0>(hidden[0], threshold, args.square_half[0],
                                             args.cube_shift[0], args.cube_half[0]);
            to[1] += adm_seen_cube<LEVEL, 1>(hidden[1], threshold, args.square_half[0],
                                             args.cube_shift[0], args.cube_half[0]);
            to[2] +=
                adm_seen_cube<LEVEL, 2>(hidden[2], threshold, args.square_half[LEVEL == 0],
                                        args.cube_shift[LEVEL == 0], args.cube_half[LEVEL == 0]);
        }
    };

    auto step = [&](i32 pair, u32 odd) __attribute__((always_inline)) {
        make(pair, odd);
        if (!args.scored || pair < three_from || pair >= three_to) return;
        vx_barrier();
        mask(odd);
    };

    for (i32 pair = begin - 4; pair <= last; pair += 2) {
        if ((pair & (CHUNK - 1)) == 0 || pair == begin - 4) {
            vx_barrier();
            stage(pair >> (CHUNK == 16 ? 4 : CHUNK == 8 ? 3 : 2));
            vx_barrier();
        }
        step(pair, 0);
        step(pair + 1, 1);

        // A group of low coefficients that is complete, or the last; coefficient x is at x + 1.
        const i32 group = pair & -GROUP;
        if ((LEVEL < 2 || args.low[0]) && (pair == group + GROUP - 2 || pair + 2 > last) &&
            group >= begin && group < end && group <= (i32)args.columns[1] && thread > 0 &&
            thread <= ROWS && y < (i32)args.rows[1]) {
#pragma unroll
            for (u32 image = 0; image < 2; image++) {
                u32x4 out;
#pragma unroll
                for (u32 k = 0; k < 4; k++) {
                    if (LEVEL > 0) {
                        out[k] = low[LEVEL > 0 && image][k % GROUP][thread];
                    } else {
                        u32 a = low[0][2 * k % GROUP][thread],
                            b = low[0][(2 * k + 1) % GROUP][thread];
                        out[k] = image ? a >> 16 | (b & 0xffff0000) : (a & 0xffff) | b << 16;
                    }
                }
                u64 place = (u64)(u32)group * (LEVEL == 0 ? 2 : 4);
                *vx_at<u32x4>(args.low[image] + (u64)(u32)y * args.low_pitch + place) = out;
            }
        }
    }

    const u32 line = (u32)y - args.scored_rows[0],
              lines = args.scored_rows[1] - args.scored_rows[0];
    if (args.scored && thread > 0 && thread <= ROWS && line < lines) {
        VX_GLOBAL u64 *to = vx_at<u64>(args.frame.results) + args.accumulators + line;
#pragma unroll
        for (u32 sum = 0; sum < 9; sum++) vx_atomic_add(to + sum * lines, cubes[sum]);
    }
    vx_account(args.frame, LEVEL == 0 && sizeof(S) == 2 ? ((all & 65535) | all >> 16) >> depth : 0);
}

VX_KERNEL(vx_adm_first_u8, THREADS, VxAdmLevelArgs) { adm_level<u8, 0>(args); }
VX_KERNEL(vx_adm_first_u16, THREADS, VxAdmLevelArgs) { adm_level<u16, 0>(args); }
VX_KERNEL(vx_adm_second, THREADS, VxAdmLevelArgs) { adm_level<i16, 1>(args); }
VX_KERNEL(vx_adm_later, THREADS, VxAdmLevelArgs) { adm_level<i32, 2>(args); }

#define ROW_THREADS 128

// A block rounds and adds up the rows of one sum of one level; the grid is (9, 4).
VX_KERNEL(vx_adm_rows, ROW_THREADS, VxAdmRowsArgs) {
    VX_SHARED u64 parts[ROW_THREADS / 32];
    VX_GLOBAL u64 *results = vx_at<u64>(args.frame.results);
    u32 sum = vx_block_x(), level = vx_block_y(), rows = args.rows[level];
    const VX_GLOBAL u64 *from = results + args.accumulators[level] + sum * rows;
    u64 total = 0;
    for (u32 row = vx_thread(); row < rows; row += ROW_THREADS) {
        // The sums of the original have no sign.
        if (sum < 6)
            total += (u64)((i64)(from[row] + adm_half(args.masked_shift[level])) >>
                           args.masked_shift[level]);
        else
            total += (from[row] + adm_half(args.energy_shift[level])) >> args.energy_shift[level];
    }
    total = vx_block_sum<ROW_THREADS>(total, parts);
    if (vx_thread() == 0) results[args.sums + 9 * level + sum] = total;
    vx_account(args.frame, 0);
}
