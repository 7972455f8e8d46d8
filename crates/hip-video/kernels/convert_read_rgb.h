// Readers of R'G'B' sources: components as floats in source code values, in the order R G B A.
#ifndef HIP_VIDEO_CONVERT_READ_RGB_H
#define HIP_VIDEO_CONVERT_READ_RGB_H

#include "convert_read.h"

namespace {

// N pixels, by component.
template <int N> struct Colours {
    float r[N];
    float g[N];
    float b[N];
    float a[N];
};

// 32-bit pixels at aligned addresses.
struct RgbQuad {
    static constexpr bool YUV = false;

    struct Row {
        const u32* pixels;
    };

    static KERNEL_FN Row row(const ConvertParams& params, i32 index) {
        Row row;
        row.pixels = row_of<u32>(params.src[0], params.src_stride[0], index);
        return row;
    }

    static KERNEL_FN float component(const ConvertParams& params, u32 pixel, i32 which) {
        return sample_value((u8)(pixel >> params.src_shift[which]));
    }

    static KERNEL_FN void at(const ConvertParams& params, const Row& row, i32 index,
                             float* colour) {
        const u32 pixel = KERNEL_READ_ONLY(row.pixels + index);
        KERNEL_UNROLL
        for (i32 c = 0; c < 4; c++)
            colour[c] = component(params, pixel, c);
    }

    template <int N>
    static KERNEL_FN void unpack(const ConvertParams& params, const u32* KERNEL_RESTRICT pixels,
                                 Colours<N>& out, i32 offset, i32 count) {
        KERNEL_UNROLL
        for (i32 i = 0; i < count; i++) {
            out.r[offset + i] = component(params, pixels[i], 0);
            out.g[offset + i] = component(params, pixels[i], 1);
            out.b[offset + i] = component(params, pixels[i], 2);
            out.a[offset + i] = component(params, pixels[i], 3);
        }
    }

    // COUNT pixels from `first` into `out` from `OFFSET`.
    template <int COUNT, int OFFSET, int N>
    static KERNEL_BULK void span(const ConvertParams& params, const Row& row, i32 first, i32 size,
                                 Colours<N>& out) {
        u32 pixels[COUNT];
#if KERNEL_ON_DEVICE
        if (COUNT % 4 == 0 && first >= 0 && first + COUNT <= size &&
            address_of(row.pixels + first) % 16 == 0) {
            KERNEL_UNROLL
            for (i32 i = 0; i < COUNT / 4; i++)
                load_words<4>(row.pixels + first + 4 * i, pixels + 4 * i);
            unpack(params, pixels, out, OFFSET, COUNT);
            return;
        }
        KERNEL_UNROLL
        for (i32 i = 0; i < COUNT; i++)
            pixels[i] = KERNEL_READ_ONLY(row.pixels + clamp_index(first + i, 0, size - 1));
#else
        if (COUNT == 1) {
            const u32 pixel = row.pixels[clamp_index(first, 0, size - 1)];
            unpack(params, &pixel, out, OFFSET, 1);
            return;
        }
        const i32 begin = clamp_index(-first, 0, COUNT);
        const i32 end = clamp_index(size - first, begin, COUNT);
        for (i32 i = 0; i < begin; i++) pixels[i] = row.pixels[0];
        for (i32 i = begin; i < end; i++) pixels[i] = row.pixels[first + i];
        for (i32 i = end; i < COUNT; i++) pixels[i] = row.pixels[size - 1];
#endif
        unpack(params, pixels, out, OFFSET, COUNT);
    }
};

// One byte a component, each with its own base address.
struct RgbBytes {
    static constexpr bool YUV = false;

    struct Row {
        const u8* component[4];
        i32 step;
    };

    static KERNEL_FN Row row(const ConvertParams& params, i32 index) {
        Row row;
        KERNEL_UNROLL
        for (i32 c = 0; c < 4; c++)
            row.component[c] = row_of<u8>(params.src[c], params.src_stride[c], index);
        row.step = params.src_step;
        return row;
    }

    static KERNEL_FN void at(const ConvertParams& params, const Row& row, i32 index,
                             float* colour) {
        KERNEL_UNROLL
        for (i32 c = 0; c < 3; c++)
            colour[c] = sample_at(row.component[c], index * row.step);
        colour[3] = params.src_alpha ? sample_at(row.component[3], index * row.step) : 255.0f;
    }

    template <int COUNT, int OFFSET, int N>
    static KERNEL_BULK void span(const ConvertParams& params, const Row& row, i32 first, i32 size,
                                 Colours<N>& out) {
#if KERNEL_ON_DEVICE
        if constexpr (COUNT == 4) {
            // Four pixels of three bytes are three words.
            const u8* from = row.component[0] + first * 3;
            if (row.step == 3 && first >= 0 && first + 4 <= size && address_of(from) % 4 == 0) {
                u32 words[3];
                KERNEL_UNROLL
                for (i32 i = 0; i < 3; i++)
                    load_words<1>(from + 4 * i, words + i);
                KERNEL_UNROLL
                for (i32 i = 0; i < 4; i++) {
                    out.r[OFFSET + i] = sample_in<u8>(words, 3 * i);
                    out.g[OFFSET + i] = sample_in<u8>(words, 3 * i + 1);
                    out.b[OFFSET + i] = sample_in<u8>(words, 3 * i + 2);
                    out.a[OFFSET + i] = 255.0f;
                }
                return;
            }
        }
#endif
        load_span<u8, COUNT>(row.component[0], row.step, first, size, out.r + OFFSET);
        load_span<u8, COUNT>(row.component[1], row.step, first, size, out.g + OFFSET);
        load_span<u8, COUNT>(row.component[2], row.step, first, size, out.b + OFFSET);
        if (params.src_alpha) {
            load_span<u8, COUNT>(row.component[3], row.step, first, size, out.a + OFFSET);
        } else {
            KERNEL_UNROLL
            for (i32 i = 0; i < COUNT; i++)
                out.a[OFFSET + i] = 255.0f;
        }
    }
};

// N destination pixels from `first` in row `line`; the first LEAD of them lie outside the aligned
// part of the tile and are read apart.
template <class Reader, int N, int LEAD, bool UNSCALED>
KERNEL_BULK void read_rgb(const ConvertParams& params, i32 first, i32 line, Colours<N>& out) {
    if constexpr (UNSCALED) {
        const i32 size = params.src_size[0];
        const typename Reader::Row row =
            Reader::row(params, clamp_index(line, 0, params.src_size[1] - 1));
        if constexpr (LEAD != 0) Reader::template span<LEAD, 0>(params, row, first, size, out);
        Reader::template span<N - LEAD, LEAD>(params, row, first + LEAD, size, out);
    } else {
        const Tap y = tap_at(luma_position(params, 1, line), params.src_size[1]);
        const typename Reader::Row upper = Reader::row(params, y.index);
        const typename Reader::Row lower = Reader::row(params, y.next);
        Taps<N> x;
        luma_taps(params, first, x);
        KERNEL_UNROLL
        for (i32 i = 0; i < N; i++) {
            float c00[4], c01[4], c10[4], c11[4];
            Reader::at(params, upper, x.index[i], c00);
            if (!params.nearest) {
                Reader::at(params, upper, x.next[i], c01);
                Reader::at(params, lower, x.index[i], c10);
                Reader::at(params, lower, x.next[i], c11);
                KERNEL_UNROLL
                for (i32 c = 0; c < 4; c++)
                    c00[c] = mix(mix(c00[c], c01[c], x.weight[i]), mix(c10[c], c11[c], x.weight[i]),
                                 y.weight);
            }
            out.r[i] = c00[0];
            out.g[i] = c00[1];
            out.b[i] = c00[2];
            out.a[i] = c00[3];
        }
    }
}

}  // namespace

#endif
