// Global memory, LDS, scratch and atomics.
#include "proof.h"

typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x3 __attribute__((ext_vector_type(3)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
// Three words without the padding of a vector.
struct Three { u32 word[3]; };
typedef u16 u16_odd __attribute__((aligned(1)));
typedef u32 u32_odd __attribute__((aligned(1)));
typedef u64 u64_odd __attribute__((aligned(1)));
#define WORDS 131
#define BYTES 203
#define WIDE 71
#define SCOPE __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE
#define BLOCKWIDE __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP

// Loads to one half of a register, whose other half stays. (Where memory of registers corrects
// errors it does not, and the compiler has no such loads: the ninth generation.)
#if GENERATION == 12
#define LOAD(name, word, at)                                                                    \
    __asm__ volatile(name " %0, %1, off\n\ts_wait_loadcnt 0x0" : "+v"(word) : "v"(at) : "memory")
#else
#define LOAD(name, word, at)                                                                    \
    __asm__ volatile(name " %0, %1, off\n\ts_waitcnt vmcnt(0)" : "+v"(word) : "v"(at) : "memory")
#endif
#if GENERATION >= 11
#define LOAD_HIGH(word, at) LOAD("global_load_d16_hi_b16", word, at)
#define LOAD_LOW(word, at) LOAD("global_load_d16_i8", word, at)
#elif GENERATION == 10
#define LOAD_HIGH(word, at) LOAD("global_load_short_d16_hi", word, at)
#define LOAD_LOW(word, at) LOAD("global_load_sbyte_d16", word, at)
#else
#define LOAD_HIGH(word, at) word = (word & 0xffff) | (u32) * (VX_GLOBAL u16 *)(at) << 16
#define LOAD_LOW(word, at) word = (word & 0xffff0000) | (u16)(i16)(i8) * (at)
#endif

// Each thread copies pieces of all sizes from its 64 bytes of the input to its 128 of the output.
VX_KERNEL(widths, BLOCK, Args) {
    u32 i = GLOBAL_ID();
    if (i >= args.n) return;
    VX_GLOBAL u8 *in = vx_at<u8>(args.in[0]) + i * 64, *out = vx_at<u8>(args.out) + i * 128;
    *(VX_GLOBAL u32x4 *)out = *(VX_GLOBAL u32x4 *)in;
    *(VX_GLOBAL Three *)(out + 16) = *(VX_GLOBAL Three *)(in + 16);
    *(VX_GLOBAL u32 *)(out + 28) = *(VX_GLOBAL u32 *)(in + 28);
    *(VX_GLOBAL u32x2 *)(out + 32) = *(VX_GLOBAL u32x2 *)(in + 32);
    *(VX_GLOBAL u16 *)(out + 40) = *(VX_GLOBAL u16 *)(in + 40);
    out[42] = in[42];
    out[43] = in[46];
    *(VX_GLOBAL i32 *)(out + 44) = (i8)in[43];
    *(VX_GLOBAL i32 *)(out + 48) = *(VX_GLOBAL i16 *)(in + 44);
    *(VX_GLOBAL u32 *)(out + 52) = in[47];
    *(VX_GLOBAL u32 *)(out + 56) = *(VX_GLOBAL u16 *)(in + 48);
    // Two halves in one register.
    *(VX_GLOBAL u32 *)(out + 60) =
        *(VX_GLOBAL u16 *)(in + 50) | (u32) * (VX_GLOBAL u16 *)(in + 54) << 16;
    *(VX_GLOBAL u16 *)(out + 64) = (u16)(*(VX_GLOBAL u32 *)(in + 56) >> 16);
    out[66] = (u8)(*(VX_GLOBAL u32 *)(in + 56) >> 16);
    out[67] = (u8)(*(VX_GLOBAL u32 *)(in + 56) >> 24);
    // At odd addresses.
    *(VX_GLOBAL u32_odd *)(out + 69) = *(VX_GLOBAL u32_odd *)(in + 1);
    *(VX_GLOBAL u64_odd *)(out + 75) = *(VX_GLOBAL u64_odd *)(in + 7);
    *(VX_GLOBAL u16_odd *)(out + 85) = *(VX_GLOBAL u16_odd *)(in + 33);
    // Behind the last constant that fits into an instruction.
    *(VX_GLOBAL u32 *)(out + 88) = vx_at<u32>(args.in[1])[i + 5000];
    *(VX_GLOBAL u32 *)(out + 92) = vx_at<u32>(args.in[1])[(i32)args.extra - (i32)i];
    u32 high = *(VX_GLOBAL u32 *)(in + 8), low = high;
    LOAD_HIGH(high, in + 52);
    LOAD_LOW(low, in + 61);
    *(VX_GLOBAL u32 *)(out + 104) = high;
    *(VX_GLOBAL u32 *)(out + 108) = low;
    // The same for every thread.
    *(VX_GLOBAL u64 *)(out + 96) = vx_at<u64>(args.in[2])[args.extra];
    *(VX_GLOBAL u32x4 *)(out + 112) = vx_at<u32x4>(args.in[2])[vx_block_x() + 1];
}

// Tables of each thread, filled and read in an order that the data give: too large for registers.
VX_KERNEL(scratch, BLOCK, Args) {
    u32 i = GLOBAL_ID();
    if (i >= args.n) return;
    u32 a = vx_at<u32>(args.in[0])[i], b = vx_at<u32>(args.in[1])[i];
    u32 words[WORDS];
    u8 bytes[BYTES];
    u64 wide[WIDE];
#pragma clang loop unroll(disable)
    for (u32 k = 0; k < WORDS; k++) words[k] = k * 0x01010101u;
#pragma clang loop unroll(disable)
    for (u32 k = 0; k < BYTES; k++) bytes[k] = (u8)(k ^ a);
#pragma clang loop unroll(disable)
    for (u32 k = 0; k < WIDE; k++) wide[k] = (u64)b * (k + 1);
    u32 x = a;
#pragma clang loop unroll(disable)
    for (u32 k = 0; k < 50; k++) {
        u32 at = x % WORDS;
        words[at] += x ^ b;
        bytes[(x >> 3) % BYTES] = (u8)(bytes[(x >> 8) % BYTES] + k);
        wide[x % WIDE] ^= (u64)x << (k & 31);
        x = x * 1664525u + words[(at + k) % WORDS] + bytes[k];
    }
    u64 sum = x;
#pragma clang loop unroll(disable)
    for (u32 k = 0; k < WORDS; k++) sum = sum * 31 + words[k];
#pragma clang loop unroll(disable)
    for (u32 k = 0; k < BYTES; k++) sum = sum * 33 + (u64)(i64)(i8)bytes[k];
#pragma clang loop unroll(disable)
    for (u32 k = 0; k < WIDE; k++) sum ^= wide[k] + k;
    vx_at<u64>(args.out)[i] = sum;
}

// What one thread writes to LDS another one reads, in pieces of all sizes.
VX_KERNEL(shared_widths, BLOCK, Args) {
    VX_SHARED u8 bytes[BLOCK * 2];
    VX_SHARED u16 shorts[BLOCK * 2];
    VX_SHARED u32 words[BLOCK * 5];
    VX_SHARED u64 wide[BLOCK * 3];
    VX_SHARED u64 pairs[BLOCK];
    VX_SHARED u32x4 fours[BLOCK * 2];
    VX_SHARED Three threes[BLOCK];
    u32 t = vx_thread(), i = GLOBAL_ID(), other = (t * 29 + 11) % BLOCK;
    u32 a = vx_at<u32>(args.in[0])[i], b = vx_at<u32>(args.in[1])[i];
    bytes[t] = (u8)a;
    bytes[t + BLOCK] = (u8)(b >> 16);
    shorts[t] = (u16)b;
    shorts[t + BLOCK] = (u16)(a >> 16);
    words[t] = a + b;
    words[t + BLOCK] = a ^ b;
    words[t + 4 * BLOCK] = a & b;
    wide[t] = (u64)a << 32 | b;
    wide[t + 2 * BLOCK] = (u64)b << 32 | a;
    if (t % 2 == 0) {
        pairs[t] = (u64)a << 32 | b;
        pairs[t + 1] = (u64)b << 32 | a;
    }
    fours[t] = u32x4{a, b, ~a, ~b};
    threes[t] = Three{{a, b, a - b}};
    vx_barrier();
    VX_GLOBAL u32 *out = vx_at<u32>(args.out);
    u32 slot = 0;
    PUT(byte, bytes[other]);
    PUT(byte_signed, (u32)(i32)(i8)bytes[other + BLOCK]);
    PUT(halves, shorts[other] | (u32)shorts[(other + 1) % BLOCK + BLOCK] << 16);
    PUT(half_signed, (u32)(i32)(i16)shorts[other]);
    PUT(two_words, words[other] * 3 + words[other + BLOCK]);
    PUT(far_word, words[other + 4 * BLOCK]);
    u64 low = wide[other], high = wide[other + 2 * BLOCK];
    PUT(wide, (u32)(low >> 32) - (u32)low);
    PUT(wide_pair, (u32)(high >> 32) ^ (u32)(low >> 13));
    u64 even = pairs[other / 2 * 2], odd = pairs[other / 2 * 2 + 1];
    PUT(pair, (u32)(even >> 32) * 3 + (u32)even * 5 + (u32)(odd >> 32) * 7 + (u32)odd);
    u32x4 four = fours[other];
    PUT(four, four.x ^ four.y * 3 ^ four.z * 5 ^ four.w * 7);
    Three three = threes[other];
    PUT(three, three.word[0] ^ three.word[1] * 3 ^ three.word[2] * 5);
    // Two words at an address that is a multiple of 4 only.
    typedef u64 u64_half __attribute__((aligned(4)));
    u64 across = *(VX_LOCAL u64_half *)(words + 2 * (other / 2) + 1);
    PUT(across, (u32)(across >> 32) + (u32)across * 9);
}

// Integer operations on memory, in LDS and in global memory. All threads meet at the first words;
// the words after them are a thread's own, of which the value before is a result too.
#define OPERATIONS(T, ST, at, own, order, before)                                               \
    do {                                                                                        \
        __scoped_atomic_fetch_add((at) + 0, a, order);                                          \
        __scoped_atomic_fetch_sub((at) + 1, b, order);                                          \
        __scoped_atomic_fetch_and((at) + 2, a | ~(T)0xffffff, order);                           \
        __scoped_atomic_fetch_or((at) + 3, a & b, order);                                       \
        __scoped_atomic_fetch_xor((at) + 4, a, order);                                          \
        __scoped_atomic_fetch_min((at) + 5, a, order);                                          \
        __scoped_atomic_fetch_max((at) + 6, b, order);                                          \
        __scoped_atomic_fetch_min((ST)((at) + 7), sa, order);                                   \
        __scoped_atomic_fetch_max((ST)((at) + 8), sb, order);                                   \
        before = before * 3 + __scoped_atomic_fetch_add(own, b, order);                         \
        before = before * 3 + __scoped_atomic_fetch_sub(own, a, order);                         \
        before = before * 3 + __scoped_atomic_fetch_and(own, a ^ b, order);                     \
        before = before * 3 + __scoped_atomic_fetch_or(own, a, order);                          \
        before = before * 3 + __scoped_atomic_fetch_xor(own, b + 5, order);                     \
        before = before * 3 + __scoped_atomic_fetch_min(own, b, order);                         \
        before = before * 3 + __scoped_atomic_fetch_max(own, a, order);                         \
        before = before * 3 + (T)__scoped_atomic_fetch_min((ST)(own), sb, order);               \
        before = before * 3 + (T)__scoped_atomic_fetch_max((ST)(own), sa, order);               \
        before = before * 3 + __scoped_atomic_exchange_n(own, a + b, order);                    \
        T seen = a + b + (b & 1);                                                               \
        __scoped_atomic_compare_exchange_n(own, &seen, a * 5, false, __ATOMIC_RELAXED, order);  \
        before = before * 3 + seen;                                                             \
    } while (0)

#define ATOMICS(name, T, S)                                                                     \
    VX_KERNEL(global_atomics_##name, BLOCK, Args) {                                             \
        u32 i = GLOBAL_ID();                                                                    \
        if (i >= args.n) return;                                                                \
        T a = vx_at<T>(args.in[0])[i], b = vx_at<T>(args.in[1])[i];                             \
        S sa = (S)a, sb = (S)b;                                                                 \
        VX_GLOBAL T *out = vx_at<T>(args.out), *own = out + 9 + i;                              \
        T before = 0;                                                                           \
        OPERATIONS(T, VX_GLOBAL S *, out, own, SCOPE, before);                                  \
        out[9 + args.n + i] = before;                                                           \
    }                                                                                           \
    VX_KERNEL(shared_atomics_##name, BLOCK, Args) {                                             \
        VX_SHARED T words[9 + BLOCK];                                                           \
        u32 t = vx_thread(), i = GLOBAL_ID();                                                   \
        T a = vx_at<T>(args.in[0])[i], b = vx_at<T>(args.in[1])[i];                             \
        S sa = (S)a, sb = (S)b;                                                                 \
        VX_GLOBAL T *out = vx_at<T>(args.out);                                                  \
        if (t < 9) words[t] = out[t];                                                           \
        words[9 + t] = out[9 + i];                                                              \
        vx_barrier();                                                                           \
        T before = 0;                                                                           \
        OPERATIONS(T, VX_LOCAL S *, words, words + 9 + t, BLOCKWIDE, before);                   \
        vx_barrier();                                                                           \
        if (t < 9) out[9 + 2 * args.n + 9 * vx_block_x() + t] = words[t];                       \
        out[9 + i] = words[9 + t];                                                              \
        out[9 + args.n + i] = before;                                                           \
    }
ATOMICS(32, u32, i32)
ATOMICS(64, u64, i64)

// Each thread takes a number that no other one has: the order is free, the set is not.
VX_KERNEL(tickets, BLOCK, Args) {
    u32 i = GLOBAL_ID();
    if (i >= args.n) return;
    VX_GLOBAL u32 *out = vx_at<u32>(args.out);
    u32 mine = __scoped_atomic_fetch_add(out, 1u, SCOPE);
    if (mine < args.n) out[1 + mine] = i;
    // A maximum without locks: tries until nobody was faster. A plain load would meet the others.
    VX_GLOBAL u32 *most = out + 1 + args.n;
    u32 value = vx_at<u32>(args.in[0])[i], seen = 0;
    while (seen < value && !__scoped_atomic_compare_exchange_n(most, &seen, value, false,
                                                               __ATOMIC_RELAXED, SCOPE)) {}
}
