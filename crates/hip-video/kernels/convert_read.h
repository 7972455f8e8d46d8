// Readers: source samples as floats in source code values.
//
// `UNSCALED` functions serve equal source and destination sizes with an even rectangle:
// neighbouring destination pixels are neighbouring samples, read in wide accesses. The others
// gather.
#ifndef HIP_VIDEO_CONVERT_READ_H
#define HIP_VIDEO_CONVERT_READ_H

#include "convert_math.h"

namespace {

KERNEL_FN float sample_value(u8 sample) { return (float)(i32)sample; }
KERNEL_FN float sample_value(u16 sample) { return (float)(i32)(sample >> 6); }

template <class Sample> KERNEL_FN float sample_at(const Sample* row, i32 index) {
    return sample_value((Sample)KERNEL_READ_ONLY(row + index));
}

#if KERNEL_ON_DEVICE

// Sample `index` of `words`; `index` is a constant once the caller's loop is unrolled.
template <class Sample> KERNEL_FN float sample_in(const u32* words, i32 index) {
    const i32 per_word = 4 / (i32)sizeof(Sample);
    return sample_value(
        (Sample)(words[index / per_word] >> (index % per_word * 8 * (i32)sizeof(Sample))));
}

// WORDS * 4 bytes of neighbouring elements, `step` elements apart, from `first`; outside 0..size
// the nearest inside. One wide access where the address allows it, else a loop: few instructions,
// because only edges and odd strides come there.
template <class Element, int WORDS>
KERNEL_FN void load_elements(const Element* row, i32 step, i32 first, i32 size, u32* words) {
    constexpr i32 PER_WORD = 4 / (i32)sizeof(Element);
    constexpr i32 COUNT = PER_WORD * WORDS;
    const Element* from = row + first * step;
    if (step == 1 && first >= 0 && first + COUNT <= size && address_of(from) % (4 * WORDS) == 0) {
        load_words<WORDS>(from, words);
        return;
    }
    KERNEL_UNROLL
    for (i32 word = 0; word < WORDS; word++) {
        u32 value = 0;
        KERNEL_LOOP
        for (i32 i = 0; i < PER_WORD; i++) {
            const i32 index = clamp_index(first + word * PER_WORD + i, 0, size - 1);
            value |= (u32)KERNEL_READ_ONLY(row + index * step) << (i * 8 * (i32)sizeof(Element));
        }
        words[word] = value;
    }
}

#endif

// N neighbouring samples, `step` samples apart, from `first`; outside 0..size the nearest inside.
template <class Sample, int N>
KERNEL_BULK void load_span(const Sample* row, i32 step, i32 first, i32 size,
                           float* KERNEL_RESTRICT out) {
#if KERNEL_ON_DEVICE
    constexpr int BYTES = N * (int)sizeof(Sample);
    if constexpr (BYTES == 4 || BYTES == 8 || BYTES == 16) {
        u32 words[BYTES / 4];
        load_elements<Sample, BYTES / 4>(row, step, first, size, words);
        KERNEL_UNROLL
        for (i32 i = 0; i < N; i++)
            out[i] = sample_in<Sample>(words, i);
    } else {
        KERNEL_UNROLL
        for (i32 i = 0; i < N; i++)
            out[i] = sample_at(row, clamp_index(first + i, 0, size - 1) * step);
    }
#else
    const i32 begin = clamp_index(-first, 0, N);
    const i32 end = clamp_index(size - first, begin, N);
    for (i32 i = 0; i < begin; i++) out[i] = sample_value(row[0]);
    if (step == 1) {
        for (i32 i = begin; i < end; i++) out[i] = sample_value(row[first + i]);
    } else {
        for (i32 i = begin; i < end; i++) out[i] = sample_value(row[(first + i) * step]);
    }
    for (i32 i = end; i < N; i++) out[i] = sample_value(row[(size - 1) * step]);
#endif
}

// Pairs: `row` has Cb at even and Cr at odd places.
template <class Sample, int N>
KERNEL_BULK void load_pair_span(const Sample* row, i32 first, i32 size, float* KERNEL_RESTRICT u,
                                float* KERNEL_RESTRICT v) {
#if KERNEL_ON_DEVICE
    if constexpr (sizeof(Sample) == 1 && N % 2 == 0) {
        u32 words[N / 2];
        load_elements<u16, N / 2>(reinterpret_cast<const u16*>(row), 1, first, size, words);
        KERNEL_UNROLL
        for (i32 i = 0; i < N; i++) {
            u[i] = sample_in<u8>(words, 2 * i);
            v[i] = sample_in<u8>(words, 2 * i + 1);
        }
    } else {
        KERNEL_UNROLL
        for (i32 i = 0; i < N; i++) {
            const i32 index = clamp_index(first + i, 0, size - 1);
            u[i] = sample_at(row, 2 * index);
            v[i] = sample_at(row, 2 * index + 1);
        }
    }
#else
    const i32 begin = clamp_index(-first, 0, N);
    const i32 end = clamp_index(size - first, begin, N);
    for (i32 i = 0; i < N; i++) {
        const bool after = i >= end;
        u[i] = sample_value(row[after ? 2 * size - 2 : 0]);
        v[i] = sample_value(row[after ? 2 * size - 1 : 1]);
    }
    for (i32 i = begin; i < end; i++) {
        u[i] = sample_value(row[2 * (first + i)]);
        v[i] = sample_value(row[2 * (first + i) + 1]);
    }
#endif
}

// How chroma lies: two planes.
struct Yuv8Split {
    typedef u8 Sample;
    static constexpr bool YUV = true;

    struct Row {
        const u8* u;
        const u8* v;
        i32 step;
    };

    static KERNEL_FN Row row(const ConvertParams& params, i32 index) {
        Row row;
        row.u = row_of<u8>(params.src[1], params.src_stride[1], index);
        row.v = row_of<u8>(params.src[2], params.src_stride[2], index);
        row.step = params.src_step;
        return row;
    }

    static KERNEL_FN void at(const Row& row, i32 index, float& u, float& v) {
        u = sample_at(row.u, index * row.step);
        v = sample_at(row.v, index * row.step);
    }

    template <int N>
    static KERNEL_BULK void span(const Row& row, i32 first, i32 size, float* KERNEL_RESTRICT u,
                                 float* KERNEL_RESTRICT v) {
        load_span<u8, N>(row.u, row.step, first, size, u);
        load_span<u8, N>(row.v, row.step, first, size, v);
    }
};

// How chroma lies: pairs of `SampleType`.
template <class SampleType> struct YuvPairs {
    typedef SampleType Sample;
    static constexpr bool YUV = true;

    struct Row {
        const Sample* pairs;
    };

    static KERNEL_FN Row row(const ConvertParams& params, i32 index) {
        Row row;
        row.pairs = row_of<Sample>(params.src[1], params.src_stride[1], index);
        return row;
    }

    static KERNEL_FN void at(const Row& row, i32 index, float& u, float& v) {
        if constexpr (sizeof(Sample) == 1) {
            const u32 pair = KERNEL_READ_ONLY(reinterpret_cast<const u16*>(row.pairs) + index);
            u = sample_value((u8)pair);
            v = sample_value((u8)(pair >> 8));
        } else {
            u = sample_at(row.pairs, 2 * index);
            v = sample_at(row.pairs, 2 * index + 1);
        }
    }

    template <int N>
    static KERNEL_BULK void span(const Row& row, i32 first, i32 size, float* KERNEL_RESTRICT u,
                                 float* KERNEL_RESTRICT v) {
        load_pair_span<Sample, N>(row.pairs, first, size, u, v);
    }
};

typedef YuvPairs<u8> Yuv8Pair;
typedef YuvPairs<u16> Yuv16;

// Luma of N destination pixels from `first` in destination row `line`.
template <class Reader, int N, bool UNSCALED>
KERNEL_BULK void read_luma(const ConvertParams& params, i32 first, i32 line,
                           float* KERNEL_RESTRICT out) {
    typedef typename Reader::Sample Sample;
    const u8* base = params.src[0];
    const i32 stride = params.src_stride[0];
    if constexpr (UNSCALED) {
        const i32 row = clamp_index(line, 0, params.src_size[1] - 1);
        load_span<Sample, N>(row_of<Sample>(base, stride, row), 1, first, params.src_size[0], out);
    } else {
        const Tap y = tap_at(luma_position(params, 1, line), params.src_size[1]);
        const Sample* upper = row_of<Sample>(base, stride, y.index);
        const Sample* lower = row_of<Sample>(base, stride, y.next);
        Taps<N> x;
        luma_taps(params, first, x);
        if (params.nearest) {
            KERNEL_UNROLL
            for (i32 i = 0; i < N; i++)
                out[i] = sample_at(upper, x.index[i]);
            return;
        }
        KERNEL_UNROLL
        for (i32 i = 0; i < N; i++) {
            const float top =
                mix(sample_at(upper, x.index[i]), sample_at(upper, x.next[i]), x.weight[i]);
            const float low =
                mix(sample_at(lower, x.index[i]), sample_at(lower, x.next[i]), x.weight[i]);
            out[i] = mix(top, low, y.weight);
        }
    }
}

// Chroma at arbitrary taps.
template <class Reader, int N>
KERNEL_BULK void gather_chroma(const ConvertParams& params, const Taps<N>& x, const Tap& y,
                               float* KERNEL_RESTRICT u, float* KERNEL_RESTRICT v) {
    const typename Reader::Row upper = Reader::row(params, y.index);
    const typename Reader::Row lower = Reader::row(params, y.next);
    KERNEL_UNROLL
    for (i32 i = 0; i < N; i++) {
        float u00, u01, u10, u11, v00, v01, v10, v11;
        Reader::at(upper, x.index[i], u00, v00);
        Reader::at(upper, x.next[i], u01, v01);
        Reader::at(lower, x.index[i], u10, v10);
        Reader::at(lower, x.next[i], u11, v11);
        u[i] = mix(mix(u00, u01, x.weight[i]), mix(u10, u11, x.weight[i]), y.weight);
        v[i] = mix(mix(v00, v01, x.weight[i]), mix(v10, v11, x.weight[i]), y.weight);
    }
}

// Chroma samples first-1 .. first+N (N+2 of them), interpolated between the rows of `y`.
template <class Reader, int N>
KERNEL_BULK void chroma_window(const ConvertParams& params, i32 first, const Tap& y,
                               float* KERNEL_RESTRICT u, float* KERNEL_RESTRICT v) {
    const i32 size = params.src_chroma_size[0];
    const i32 before = clamp_index(first - 1, 0, size - 1);
    const i32 after = clamp_index(first + N, 0, size - 1);
    const typename Reader::Row upper = Reader::row(params, y.index);
    Reader::at(upper, before, u[0], v[0]);
    Reader::template span<N>(upper, first, size, u + 1, v + 1);
    Reader::at(upper, after, u[N + 1], v[N + 1]);
    if (y.weight == 0.0f) return;
    float low_u[N + 2], low_v[N + 2];
    const typename Reader::Row lower = Reader::row(params, y.next);
    Reader::at(lower, before, low_u[0], low_v[0]);
    Reader::template span<N>(lower, first, size, low_u + 1, low_v + 1);
    Reader::at(lower, after, low_u[N + 1], low_v[N + 1]);
    KERNEL_UNROLL
    for (i32 i = 0; i < N + 2; i++) {
        u[i] = mix(u[i], low_u[i], y.weight);
        v[i] = mix(v[i], low_v[i], y.weight);
    }
}

// Chroma reconstructed at N destination pixels from `first` (even when UNSCALED) in row `line`.
template <class Reader, int N, bool UNSCALED>
KERNEL_BULK void read_chroma_at_luma(const ConvertParams& params, i32 first, i32 line,
                                     float* KERNEL_RESTRICT u, float* KERNEL_RESTRICT v) {
    const i64 luma_y = luma_position(params, 1, line);
    const Tap y = tap_at(chroma_position(params, 1, luma_y), params.src_chroma_size[1]);
    if constexpr (UNSCALED) {
        float window_u[N / 2 + 2], window_v[N / 2 + 2];
        chroma_window<Reader, N / 2>(params, first / 2, y, window_u, window_v);
        // Luma 2i lies between samples i-1 and i, luma 2i+1 between i and i+1.
        const float site = (float)(params.src_site[0] >> 30) * 0.125f;
        const float even = 1.0f - site, odd = 0.5f - site;
        KERNEL_UNROLL
        for (i32 i = 0; i < N / 2; i++) {
            u[2 * i] = mix(window_u[i], window_u[i + 1], even);
            v[2 * i] = mix(window_v[i], window_v[i + 1], even);
            u[2 * i + 1] = mix(window_u[i + 1], window_u[i + 2], odd);
            v[2 * i + 1] = mix(window_v[i + 1], window_v[i + 2], odd);
        }
    } else {
        Taps<N> x;
        chroma_taps(params, first, x);
        gather_chroma<Reader, N>(params, x, y, u, v);
    }
}

// Chroma resampled for N destination chroma samples from `first` in destination chroma row `line`.
template <class Reader, int N, bool UNSCALED>
KERNEL_BULK void read_chroma_direct(const ConvertParams& params, i32 first, i32 line,
                                    float* KERNEL_RESTRICT u, float* KERNEL_RESTRICT v) {
    const Tap y = tap_at(chroma_direct_position(params, 1, line), params.src_chroma_size[1]);
    if constexpr (UNSCALED) {
        const i64 shift = chroma_direct_position(params, 0, 0);
        const float weight = fraction_of(shift);
        float window_u[N + 2], window_v[N + 2];
        chroma_window<Reader, N>(params, first, y, window_u, window_v);
        // Sites differ by a quarter chroma sample to either side, so the shift's whole part is -1
        // or 0.
        const bool left = shift < 0;
        KERNEL_UNROLL
        for (i32 i = 0; i < N; i++) {
            const float u0 = left ? window_u[i] : window_u[i + 1];
            const float v0 = left ? window_v[i] : window_v[i + 1];
            const float u1 = left ? window_u[i + 1] : window_u[i + 2];
            const float v1 = left ? window_v[i + 1] : window_v[i + 2];
            u[i] = mix(u0, u1, weight);
            v[i] = mix(v0, v1, weight);
        }
    } else {
        Taps<N> x;
        chroma_direct_taps(params, first, x);
        gather_chroma<Reader, N>(params, x, y, u, v);
    }
}

}  // namespace

#endif
