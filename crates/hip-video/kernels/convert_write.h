// Writers: code values to rows of the destination. Nothing at or right of `limit` is touched.
#ifndef HIP_VIDEO_CONVERT_WRITE_H
#define HIP_VIDEO_CONVERT_WRITE_H

#include "convert_math.h"

namespace {

// N neighbouring samples of one plane. `values` hold stored values (10 bit already shifted).
template <class Sample, int N>
KERNEL_BULK void store_span(Sample* row, i32 first, i32 limit, const u32* KERNEL_RESTRICT values) {
#if KERNEL_ON_DEVICE
    constexpr int BYTES = N * (int)sizeof(Sample);
    if constexpr (BYTES == 4 || BYTES == 8 || BYTES == 16) {
        constexpr int PER_WORD = 4 / (int)sizeof(Sample);
        constexpr int BITS = 8 * (int)sizeof(Sample);
        u32 words[BYTES / 4];
        KERNEL_UNROLL
        for (i32 word = 0; word < BYTES / 4; word++) {
            words[word] = 0;
            KERNEL_UNROLL
            for (i32 i = 0; i < PER_WORD; i++)
                words[word] |= values[word * PER_WORD + i] << (i * BITS);
        }
        if (first + N <= limit && address_of(row + first) % BYTES == 0) {
            store_words<BYTES / 4>(row + first, words);
            return;
        }
        KERNEL_UNROLL
        for (i32 word = 0; word < BYTES / 4; word++) {
            KERNEL_LOOP
            for (i32 i = 0; i < PER_WORD; i++) {
                const i32 index = first + word * PER_WORD + i;
                if (index < limit) row[index] = (Sample)(words[word] >> (i * BITS));
            }
        }
    } else {
        KERNEL_UNROLL
        for (i32 i = 0; i < N; i++)
            if (first + i < limit) row[first + i] = (Sample)values[i];
    }
#else
    if (first + N <= limit) {
        for (i32 i = 0; i < N; i++) row[first + i] = (Sample)values[i];
    } else {
        for (i32 i = 0; i < limit - first; i++) row[first + i] = (Sample)values[i];
    }
#endif
}

// N neighbouring Cb and Cr samples of one row of an interleaved plane.
template <class Sample, int N>
KERNEL_BULK void store_pairs(Sample* row, i32 first, i32 limit, const u32* KERNEL_RESTRICT u,
                             const u32* KERNEL_RESTRICT v) {
    u32 pairs[2 * N];
    KERNEL_UNROLL
    for (i32 i = 0; i < N; i++) {
        pairs[2 * i] = u[i];
        pairs[2 * i + 1] = v[i];
    }
    store_span<Sample, 2 * N>(row, 2 * first, 2 * limit, pairs);
}

#if KERNEL_ON_DEVICE
template <int N> KERNEL_FN void store_quad(u8* to, const u32* pixels) {
    const u32 words[4] = {pixels[0], pixels[1 % N], pixels[2 % N], pixels[3 % N]};
    store_words<4>(to, words);
}
#endif

// N packed pixels of `dst_step` bytes (3 or 4), each in the low bytes of its word; of
// three bytes the fourth is ignored.
template <int N>
KERNEL_BULK void store_packed(u8* row, i32 first, i32 limit, i32 step,
                              const u32* KERNEL_RESTRICT pixels) {
    u8* to = row + first * step;
#if KERNEL_ON_DEVICE
    if (N == 1 && step == 4 && address_of(to) % 4 == 0) {
        store_words<1>(to, pixels);
        return;
    }
    if (N == 4 && first + N <= limit) {
        if (step == 4 && address_of(to) % 16 == 0) {
            store_quad<N>(to, pixels);
            return;
        }
        if (step == 3 && address_of(to) % 4 == 0) {
            u32 low[4];
            KERNEL_UNROLL
            for (i32 i = 0; i < 4; i++) low[i] = pixels[i % N] & 0xffffff;
            const u32 words[3] = {low[0] | low[1] << 24, low[1] >> 8 | low[2] << 16,
                                  low[2] >> 16 | low[3] << 8};
            KERNEL_UNROLL
            for (i32 i = 0; i < 3; i++)
                store_words<1>(to + 4 * i, words + i);
            return;
        }
    }
#else
    if (step == 4) {
        const i32 whole = clamp_index(limit - first, 0, N);
        for (i32 i = 0; i < whole; i++) {
            to[4 * i] = (u8)pixels[i];
            to[4 * i + 1] = (u8)(pixels[i] >> 8);
            to[4 * i + 2] = (u8)(pixels[i] >> 16);
            to[4 * i + 3] = (u8)(pixels[i] >> 24);
        }
        return;
    }
#endif
    KERNEL_UNROLL
    for (i32 i = 0; i < N; i++) {
        if (first + i < limit) {
            to[step * i] = (u8)pixels[i];
            to[step * i + 1] = (u8)(pixels[i] >> 8);
            to[step * i + 2] = (u8)(pixels[i] >> 16);
            if (step == 4) to[step * i + 3] = (u8)(pixels[i] >> 24);
        }
    }
}

}  // namespace

#endif
