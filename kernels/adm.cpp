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
template <> struct AdmCell<u8> { typedef u32 Words; };
template <> struct AdmCell<u16> { typedef u32x2 Words; };
template <> struct AdmCell<i16> { typedef u32x2 Words; };
template <> struct AdmCell<i32> { typedef u32x4 Words; };

// The cell of two samples of a row and two of the next.
VX_INLINE u32 adm_cell(u8 a, u8 b, u8 c, u8 d) { return a | b << 8 | c << 16 | (u32)d << 24; }
VX_INLINE u32x2 adm_cell(u16 a, u16 b, u16 c, u16 d) { return {a | (u32)b << 16, c | (u32)d << 16}; }
VX_INLINE u32x2 adm_cell(i16 a, i16 b, i16 c, i16 d) { return adm_cell((u16)a, (u16)b, (u16)c, (u16)d); }
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
VX_INLINE i32 adm_sample(u8, u32 cell, u32 row, u32 column) { return cell >> (16 * row + 8 * column) & 255; }
VX_INLINE i32 adm_sample(u16, u32x2 cell, u32 row, u32 column) { return cell[row] >> 16 * column & 65535; }
VX_INLINE i32 adm_sample(i16, u32x2 cell, u32 row, u32 column) {
    return column ? (i32)cell[row] >> 16 : (i16)cell[row];
}
VX_INLINE i32 adm_sample(i32, u32x4 cell, u32 row, u32 column) { return (i32)cell[2 * row + column]; }

// The sample that stands for sample `at` of `n`: the first one mirrors, the last one is repeated.
// Far outside it is any sample.
VX_INLINE i32 adm_inside(i32 at, i32 n) {
    at = at < 0 ? -at : at < n ? at : 2 * n - 1 - at;
    return vx_min(vx_max(at, 0), n - 1);
}

// Filters four samples; the products of the first level have 32 bits.
VX_INLINE i32 adm_filter(const i32 (&taps)[4], i32 a, i32 b, i32 c, i32 d, u32 start, u32 shift) {
    u32 sum = start + (u32)taps[0] * (u32)a + (u32)taps[1] * (u32)b;
    return (i32)(sum + (u32)taps[2] * (u32)c + (u32)taps[3] * (u32)d) >> shift;
}
VX_INLINE i32 adm_wide_filter(const i32 (&taps)[4], i32 a, i32 b, i32 c, i32 d, u32 shift) {
    i64 sum = (i64)adm_half(shift) + adm_wide(taps[0], a) + adm_wide(taps[1], b);
    return (i32)((sum + adm_wide(taps[2], c) + adm_wide(taps[3], d)) >> shift);
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
template <u32 LEVEL>
VX_INLINE AdmPart adm_weigh(const VxAdmLevelArgs &args, const u32 (&magnitude)[3], const i32 (&sign)[3]) {
    AdmPart part;
    i32 spread = 0, own = 0;
    for (u32 band = 0; band < 3; band++) {
        u32 weighed;
        if (LEVEL == 0) {
            part.magnitude[band] = args.factors[band] * magnitude[band];
            weighed = adm_first_weighed(part.magnitude[band], sign[band], band);
            spread += adm_first_share(args.neighbour_share, weighed);
            own += adm_first_share(args.own_share, weighed);
        } else {
            weighed = part.magnitude[band] = adm_later_weighed(args.factors[band], magnitude[band], sign[band]);
            spread = adm_add(spread, adm_later_share(args.neighbour_share, weighed));
            own = adm_add(own, adm_later_share(args.own_share, weighed));
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

    u64 address[2], pitch[2];
    bool aligned[2];
    for (u32 image = 0; image < 2; image++) {
        if (LEVEL == 0) {
            const VX_GLOBAL VxJob *job = vx_at<const VxJob>(args.frame.job);
            const VX_GLOBAL VxPlane &plane = image ? job->distorted[0] : job->reference[0];
            address[image] = plane.address, pitch[image] = plane.pitch;
            aligned[image] = ((address[image] | pitch[image]) & 15) == 0;
        } else {
            address[image] = args.source[image] + MARGIN * sizeof(S), pitch[image] = args.source_pitch;
            aligned[image] = true;
        }
    }
    u32 all = 0;
    // Brings the samples of a chunk of pairs.
    auto stage = [&](i32 chunk) {
        i32 samples = (i32)args.source_width, lines = (i32)args.source_height;
        for (u32 image = 0; image < 2; image++) {
            for (i32 unit = thread; unit < 2 * (THREADS + 1); unit += THREADS) {
                i32 pair = unit >> 1, first = (unit & 1) * (CHUNK / 2);
                i32 column = 2 * (chunk * CHUNK + first) - MARGIN, line = 2 * (top + pair) - 1;
                u64 a = address[image] + (u64)(u32)adm_inside(line, lines) * pitch[image];
                u64 b = address[image] + (u64)(u32)adm_inside(line + 1, lines) * pitch[image];
                if (aligned[image] && column >= 0 && column + EACH <= samples) {
                    u32x4 v = *vx_at<const u32x4>(a + (u32)column * sizeof(S));
                    u32x4 w = *vx_at<const u32x4>(b + (u32)column * sizeof(S));
                    if (LEVEL == 0 && sizeof(S) == 2)
                        all |= v[0] | v[1] | v[2] | v[3] | w[0] | w[1] | w[2] | w[3];
                    for (i32 k = 0; k < CHUNK / 2; k++) tile[image][first + k][pair] = adm_cell(S(), v, w, k);
                    continue;
                }
                for (i32 k = 0; k < CHUNK / 2; k++) {
                    i32 x0 = adm_inside(column + 2 * k, samples), x1 = adm_inside(column + 2 * k + 1, samples);
                    S a0 = vx_at<const S>(a)[x0], a1 = vx_at<const S>(a)[x1];
                    S b0 = vx_at<const S>(b)[x0], b1 = vx_at<const S>(b)[x1];
                    if (LEVEL == 0 && sizeof(S) == 2) all |= (u32)a0 | (u32)a1 | (u32)b0 | (u32)b1;
                    tile[image][first + k][pair] = adm_cell(a0, a1, b0, b1);
                }
            }
        }
    };

    const AdmGain gain = {args.gain_limit, args.whole_gain};
    // Starts of the sums of the first level's filter over columns: half a unit, and the middle
    // of the range counts as zero.
    const u32 half = (u32)adm_half(args.vertical_shift);
    const u32 middle = (1u << (args.frame.depth - 1)) *
                       (u32)(args.low_taps[0] + args.low_taps[1] + args.low_taps[2] + args.low_taps[3]);
    AdmColumn column[2][3] = {};
    AdmPart before[2] = {};
    i32 left[2] = {};
    u64 cubes[9] = {};

    for (i32 pair = begin - 3; pair <= last; pair++) {
        const i32 at = pair & (CHUNK - 1);
        if (at == 0 || pair == begin - 3) {
            vx_barrier();
            stage((pair - at) / CHUNK);
            vx_barrier();
        }
        i32 details[2][3], lows[2];
        for (u32 image = 0; image < 2; image++) {
            Cell upper = tile[image][at][row], lower = tile[image][at][row + 1];
            AdmColumn fresh[2];
            for (u32 k = 0; k < 2; k++) {
                i32 a = adm_sample(S(), upper, 0, k), b = adm_sample(S(), upper, 1, k);
                i32 c = adm_sample(S(), lower, 0, k), d = adm_sample(S(), lower, 1, k);
                if (LEVEL < 2) {
                    fresh[k].low = adm_filter(args.low_taps, a, b, c, d, LEVEL == 0 ? half - middle : 0,
                                              LEVEL == 0 ? args.vertical_shift : 0);
                    fresh[k].high = adm_filter(args.high_taps, a, b, c, d, LEVEL == 0 ? half : 0,
                                               LEVEL == 0 ? args.vertical_shift : 0);
                } else {
                    fresh[k].low = adm_wide_filter(args.low_taps, a, b, c, d, args.vertical_shift);
                    fresh[k].high = adm_wide_filter(args.high_taps, a, b, c, d, args.vertical_shift);
                }
            }
            // A coefficient is made of the last two pairs, those of planes half a pair back.
            AdmColumn (&old)[3] = column[image];
            AdmColumn a = old[0], b = old[1], c = LEVEL == 0 ? old[2] : fresh[0], d = fresh[LEVEL == 0 ? 0 : 1];
            if (LEVEL == 0) {
                u32 start = (u32)adm_half(args.horizontal_shift), shift = args.horizontal_shift;
                lows[image] = adm_filter(args.low_taps, a.low, b.low, c.low, d.low, start, shift);
                details[image][0] = adm_filter(args.low_taps, a.high, b.high, c.high, d.high, start, shift);
                details[image][1] = adm_filter(args.high_taps, a.low, b.low, c.low, d.low, start, shift);
                details[image][2] = adm_filter(args.high_taps, a.high, b.high, c.high, d.high, start, shift);
                old[0] = c, old[1] = fresh[0], old[2] = fresh[1];
            } else {
                u32 shift = args.horizontal_shift;
                lows[image] = adm_wide_filter(args.low_taps, a.low, b.low, c.low, d.low, shift);
                details[image][0] = adm_wide_filter(args.low_taps, a.high, b.high, c.high, d.high, shift);
                details[image][1] = adm_wide_filter(args.high_taps, a.low, b.low, c.low, d.low, shift);
                details[image][2] = adm_wide_filter(args.high_taps, a.high, b.high, c.high, d.high, shift);
                old[0] = fresh[0], old[1] = fresh[1];
            }
        }
        const i32 x = pair - 1;

        if (args.low[0]) {
            const i32 slot = pair & (GROUP - 1);
            if (LEVEL == 0) {
                low[0][slot][thread] = (lows[0] & 0xffff) | (u32)lows[1] << 16;
            } else {
                low[0][slot][thread] = (u32)lows[0];
                low[LEVEL > 0][slot][thread] = (u32)lows[1];
            }
            const i32 group = pair - slot;
            if ((slot == GROUP - 1 || pair == last) && group >= begin && group < end && thread > 0 &&
                thread <= ROWS && y < (i32)args.rows[1]) {
                for (u32 image = 0; image < 2; image++) {
                    u32x4 out;
                    for (u32 k = 0; k < 4; k++) {
                        if (LEVEL > 0) {
                            out[k] = low[LEVEL > 0 && image][k % GROUP][thread];
                        } else {
                            u32 a = low[0][2 * k % GROUP][thread], b = low[0][(2 * k + 1) % GROUP][thread];
                            out[k] = image ? a >> 16 | (b & 0xffff0000) : (a & 0xffff) | b << 16;
                        }
                    }
                    u64 place = (u64)(u32)group * (LEVEL == 0 ? 2 : 4);
                    *vx_at<u32x4>(args.low[image] + (u64)(u32)y * args.low_pitch + place) = out;
                }
            }
        }
        if (!args.scored || x < begin - 2) continue;

        // The place, as far as it is scored or next to such.
        AdmPart parts[2] = {};
        const bool wide = x + 1 >= (i32)args.scored_columns[0] && x <= (i32)args.scored_columns[1];
        if (wide && x >= 0 && x < width) {
            const i32(&o)[3] = details[0], (&t)[3] = details[1];
            float products[3];
            for (u32 k = 0; k < 3; k++) {
                const i32(&a)[3] = k < 2 ? o : t, (&b)[3] = k == 1 ? o : t;
                if (LEVEL == 0)
                    products[k] = (float)adm_add(adm_mul(a[0], b[0]), adm_mul(a[1], b[1]));
                else
                    products[k] = (float)(i64)((u64)adm_wide(a[0], b[0]) + (u64)adm_wide(a[1], b[1]));
            }
            bool same = adm_keeps_direction(products[0], products[1], products[2], args.cosine_squared);
            u32 magnitude[2][3];
            i32 sign[2][3];
            const bool scored = x >= begin - 1 && x < end - 1 && x >= (i32)args.scored_columns[0] &&
                                x < (i32)args.scored_columns[1];
            for (u32 band = 0; band < 3; band++) {
                u32 original = adm_abs(o[band]);
                sign[0][band] = o[band] >> 31;
                i32 toward = adm_sub(t[band] ^ sign[0][band], sign[0][band]);
                u32 restored = adm_restored(original, sign[0][band], toward, same, gain);
                i32 added = (i32)((u32)toward - restored);
                magnitude[0][band] = restored;
                magnitude[1][band] = adm_abs(added);
                sign[1][band] = sign[0][band] ^ added >> 31;
                if (scored) {
                    cubes[6 + band] += LEVEL == 0 ? adm_first_cube(original)
                                                  : adm_later_cube(original, args.energy_square_shift,
                                                                   args.energy_cube_shift);
                }
            }
            for (u32 which = 0; which < 2; which++)
                parts[which] = adm_weigh<LEVEL>(args, magnitude[which], sign[which]);
        }

        // The place before it has both neighbours now.
        const i32 centre = x - 1;
        if (centre >= begin - 1 && centre >= (i32)args.scored_columns[0] && centre < (i32)args.scored_columns[1]) {
            i32 three[2];
            for (u32 which = 0; which < 2; which++) {
                i32 first = centre == 0 ? parts[which].spread : left[which];
                i32 third = x == width ? before[which].spread : parts[which].spread;
                three[which] = adm_add(adm_add(first, before[which].spread), third);
            }
            sums_of_three[pair & 1][thread + 1] = i32x2{three[0], three[1]};
            vx_barrier();
            i32x2 above = sums_of_three[pair & 1][thread], below = sums_of_three[pair & 1][thread + 2];
            for (u32 which = 0; which < 2; which++) {
                i32 nine = adm_add(adm_add(above[which], three[which]), below[which]);
                i32 threshold = adm_add(nine, before[which].own);
                // What one part shows hides the other.
                if (which == 0 && !args.with_impairment) continue;
                for (u32 band = 0; band < 3; band++)
                    cubes[3 * (1 - which) + band] +=
                        adm_seen_cube(before[1 - which].magnitude[band], threshold, args.threshold_shift[band],
                                      args.square_shift[band], args.cube_shift[band]);
            }
        }
        for (u32 which = 0; which < 2; which++) {
            left[which] = before[which].spread;
            before[which] = parts[which];
        }
    }

    const u32 line = (u32)y - args.scored_rows[0], lines = args.scored_rows[1] - args.scored_rows[0];
    if (args.scored && thread > 0 && thread <= ROWS && line < lines) {
        VX_GLOBAL u64 *to = vx_at<u64>(args.frame.results) + args.accumulators + line;
        for (u32 sum = 0; sum < 9; sum++)
            if (cubes[sum]) vx_atomic_add(to + sum * lines, cubes[sum]);
    }
    vx_account(args.frame, LEVEL == 0 && sizeof(S) == 2 ? (all | all >> 16) & 65535 ? ((all & 65535) | all >> 16) >> args.frame.depth : 0 : 0);
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
            total += (u64)((i64)(from[row] + adm_half(args.masked_shift[level])) >> args.masked_shift[level]);
        else
            total += (from[row] + adm_half(args.energy_shift[level])) >> args.energy_shift[level];
    }
    total = vx_sum32(total);
    if (vx_lane() == 0) parts[vx_thread() / 32] = total;
    vx_barrier();
    if (vx_thread() == 0) {
        u64 all = 0;
        for (u32 i = 0; i < ROW_THREADS / 32; i++) all += parts[i];
        results[args.sums + 9 * level + sum] = all;
    }
    vx_account(args.frame, 0);
}
