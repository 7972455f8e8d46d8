// Arithmetic shared by readers and writers: positions, interpolation, rounding.
#ifndef HIP_VIDEO_CONVERT_MATH_H
#define HIP_VIDEO_CONVERT_MATH_H

#include "convert_params.h"

namespace {

KERNEL_FN i32 clamp_index(i32 value, i32 low, i32 high) {
    value = value < low ? low : value;
    return value > high ? high : value;
}

KERNEL_FN float mix(float from, float to, float weight) { return from + (to - from) * weight; }

// To the nearest integer in 0..limit.
KERNEL_FN u32 quantise(float value, float limit) {
    value = value > 0.0f ? value : 0.0f;
    value = value < limit ? value : limit;
    return (u32)(i32)(value + 0.5f);
}

KERNEL_FN float fraction_of(i64 position) {
    return (float)((u32)position >> 8) * (1.0f / 16777216.0f);
}

// Two neighbouring samples of one axis and the weight of the second. Outside the axis both are the
// nearest sample inside.
struct Tap {
    i32 index;
    i32 next;
    float weight;
};

KERNEL_FN Tap tap_at(i64 position, i32 size) {
    const i32 index = (i32)(position >> 32);
    const float weight = fraction_of(position);
    Tap tap;
    tap.index = clamp_index(index, 0, size - 1);
    tap.next = clamp_index(index + 1, 0, size - 1);
    tap.weight = weight;
    return tap;
}

// The taps of N neighbouring destination pixels.
template <int N> struct Taps {
    i32 index[N];
    i32 next[N];
    float weight[N];
};

// Source position of destination pixel `pixel` (clamped to the rectangle) on `axis` (0: x, 1: y).
KERNEL_FN i64 luma_position(const ConvertParams& params, i32 axis, i32 pixel) {
    pixel = clamp_index(pixel, 0, params.rect_size[axis] - 1);
    const i64 position = params.origin[axis] + params.step[axis] * pixel;
    return params.nearest ? position & ~(i64)0xffffffff : position;
}

// The chroma position that goes with a luma position.
KERNEL_FN i64 chroma_position(const ConvertParams& params, i32 axis, i64 luma) {
    return (luma - params.src_site[axis]) >> 1;
}

// Position of destination chroma sample `sample` in the source's chroma plane (4:2:0 to 4:2:0).
KERNEL_FN i64 chroma_direct_position(const ConvertParams& params, i32 axis, i32 sample) {
    const i64 position = params.chroma_origin[axis] + params.chroma_step[axis] * sample;
    return params.nearest ? position & ~(i64)0xffffffff : position;
}

template <int N> KERNEL_BULK void luma_taps(const ConvertParams& params, i32 first, Taps<N>& taps) {
    KERNEL_UNROLL
    for (i32 i = 0; i < N; i++) {
        const Tap tap = tap_at(luma_position(params, 0, first + i), params.src_size[0]);
        taps.index[i] = tap.index;
        taps.next[i] = tap.next;
        taps.weight[i] = tap.weight;
    }
}

template <int N>
KERNEL_BULK void chroma_taps(const ConvertParams& params, i32 first, Taps<N>& taps) {
    KERNEL_UNROLL
    for (i32 i = 0; i < N; i++) {
        const i64 luma = luma_position(params, 0, first + i);
        const Tap tap = tap_at(chroma_position(params, 0, luma), params.src_chroma_size[0]);
        taps.index[i] = tap.index;
        taps.next[i] = tap.next;
        taps.weight[i] = tap.weight;
    }
}

template <int N>
KERNEL_BULK void chroma_direct_taps(const ConvertParams& params, i32 first, Taps<N>& taps) {
    KERNEL_UNROLL
    for (i32 i = 0; i < N; i++) {
        const Tap tap =
            tap_at(chroma_direct_position(params, 0, first + i), params.src_chroma_size[0]);
        taps.index[i] = tap.index;
        taps.next[i] = tap.next;
        taps.weight[i] = tap.weight;
    }
}

KERNEL_FN float matrix_row(const float* row, float a, float b, float c) {
    return row[0] * a + (row[1] * b + (row[2] * c + row[3]));
}

template <class Sample> KERNEL_FN Sample* row_of(u8* base, i32 stride, i32 row) {
    return reinterpret_cast<Sample*>(base + (i64)stride * row);
}

template <class Sample> KERNEL_FN const Sample* row_of(const u8* base, i32 stride, i32 row) {
    return reinterpret_cast<const Sample*>(base + (i64)stride * row);
}

}  // namespace

#endif
