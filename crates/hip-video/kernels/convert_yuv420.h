// Conversion to 4:2:0 destinations.
#ifndef HIP_VIDEO_CONVERT_YUV420_H
#define HIP_VIDEO_CONVERT_YUV420_H

#include "convert_read_rgb.h"
#include "convert_write.h"

namespace {

// What differs with the depth of the destination.
template <class Sample> struct Depth;
template <> struct Depth<u8> {
    static constexpr int SHIFT = 0;
    static KERNEL_FN float limit() { return 255.0f; }
};
template <> struct Depth<u16> {
    static constexpr int SHIFT = 6;
    static KERNEL_FN float limit() { return 1023.0f; }
};

// Luma of one row of the tile, border included.
template <class Sample, int N>
KERNEL_BULK void store_luma(const ConvertParams& params, i32 x, i32 y, i32 limit,
                            const float* luma) {
    const i32 first = x - params.rect_origin[0];
    const i32 line = y - params.rect_origin[1];
    const bool row_inside = line >= 0 && line < params.rect_size[1];
    if (y >= params.dst_size[1]) return;
    u32 values[N];
    KERNEL_UNROLL
    for (i32 i = 0; i < N; i++) {
        const bool inside = row_inside && first + i >= 0 && first + i < params.rect_size[0];
        const u32 value = quantise(luma[i], Depth<Sample>::limit());
        values[i] = (inside ? value : params.border[0]) << Depth<Sample>::SHIFT;
    }
    store_span<Sample, N>(row_of<Sample>(params.dst[0], params.dst_stride[0], y), x, limit, values);
}

// Chroma of the tile: N samples of the row that belongs to luma row `y`, border included.
template <class Sample, int N>
KERNEL_BULK void store_chroma(const ConvertParams& params, i32 x, i32 y, i32 limit,
                              const float* KERNEL_RESTRICT u, const float* KERNEL_RESTRICT v) {
    const i32 first = x - params.rect_origin[0];
    const i32 line = y - params.rect_origin[1];
    const bool row_inside = line >= 0 && line < params.rect_size[1];
    u32 values_u[N], values_v[N];
    KERNEL_UNROLL
    for (i32 i = 0; i < N; i++) {
        const bool inside = row_inside && first + 2 * i >= 0 && first + 2 * i < params.rect_size[0];
        const u32 value_u = quantise(u[i], Depth<Sample>::limit());
        const u32 value_v = quantise(v[i], Depth<Sample>::limit());
        values_u[i] = (inside ? value_u : params.border[1]) << Depth<Sample>::SHIFT;
        values_v[i] = (inside ? value_v : params.border[2]) << Depth<Sample>::SHIFT;
    }
    const i32 column = x / 2, row = y / 2, end = (limit + 1) / 2;
    if (params.dst_step == 2) {
        Sample* pairs = row_of<Sample>(params.dst[1], params.dst_stride[1], row);
        store_pairs<Sample, N>(pairs, column, end, values_u, values_v);
    } else {
        store_span<Sample, N>(row_of<Sample>(params.dst[1], params.dst_stride[1], row), column, end,
                              values_u);
        store_span<Sample, N>(row_of<Sample>(params.dst[2], params.dst_stride[2], row), column, end,
                              values_v);
    }
}

// 4:2:0 source: chroma goes from chroma plane to chroma plane. Grey stays grey in every matrix, so
// the rows for Cb and Cr have no share of luma.
template <class Reader, class Sample, int N, bool UNSCALED>
KERNEL_FN void tile_from_yuv(const ConvertParams& params, i32 x, i32 y, i32 limit) {
    const float* matrix = params.matrix;
    const i32 first = x - params.rect_origin[0];
    const i32 line = y - params.rect_origin[1];
    KERNEL_LOOP
    for (i32 r = 0; r < CONVERT_ROWS_YUV420; r++) {
        float luma[N];
        read_luma<Reader, N, UNSCALED>(params, first, line + r, luma);
        if (params.luma_mixes) {
            float u[N], v[N];
            read_chroma_at_luma<Reader, N, UNSCALED>(params, first, line + r, u, v);
            KERNEL_UNROLL
            for (i32 i = 0; i < N; i++)
                luma[i] = matrix_row(matrix, luma[i], u[i], v[i]);
        } else {
            KERNEL_UNROLL
            for (i32 i = 0; i < N; i++)
                luma[i] = matrix[0] * luma[i] + matrix[3];
        }
        store_luma<Sample, N>(params, x, y + r, limit, luma);
    }
    float u[N / 2], v[N / 2];
    read_chroma_direct<Reader, N / 2, UNSCALED>(params, first / 2, line / 2, u, v);
    KERNEL_UNROLL
    for (i32 i = 0; i < N / 2; i++) {
        const float cb = u[i], cr = v[i];
        u[i] = matrix[5] * cb + (matrix[6] * cr + matrix[7]);
        v[i] = matrix[9] * cb + (matrix[10] * cr + matrix[11]);
    }
    store_chroma<Sample, N / 2>(params, x, y, limit, u, v);
}

// R'G'B' source: chroma is the weighted average of the 4:4:4 pixels round the chroma sample. The
// average is taken before the matrix, which is the same because the weights sum to one.
template <class Reader, class Sample, int N, bool UNSCALED>
KERNEL_FN void tile_from_rgb(const ConvertParams& params, i32 x, i32 y, i32 limit) {
    const float* matrix = params.matrix;
    const i32 first = x - params.rect_origin[0];
    const i32 line = y - params.rect_origin[1];
    const float left = params.box_x[0], centre = params.box_x[1], right = params.box_x[2];
    float r[N / 2], g[N / 2], b[N / 2];
    KERNEL_UNROLL
    for (i32 i = 0; i < N / 2; i++)
        r[i] = g[i] = b[i] = 0.0f;
    KERNEL_LOOP
    for (i32 row = -1; row <= CONVERT_ROWS_YUV420; row++) {
        const float weight = params.box_y[row + 1];
        const bool stored = row >= 0 && row < CONVERT_ROWS_YUV420;
        if (!stored && weight == 0.0f) continue;
        Colours<N + 1> in;
        const i32 source_line = clamp_index(line + row, 0, params.rect_size[1] - 1);
        read_rgb<Reader, N + 1, 1, UNSCALED>(params, first - 1, source_line, in);
        if (stored) {
            float luma[N];
            KERNEL_UNROLL
            for (i32 i = 0; i < N; i++)
                luma[i] = matrix_row(matrix, in.r[i + 1], in.g[i + 1], in.b[i + 1]);
            store_luma<Sample, N>(params, x, y + row, limit, luma);
        }
        KERNEL_UNROLL
        for (i32 i = 0; i < N / 2; i++) {
            const i32 at = 2 * i;
            r[i] += weight * (left * in.r[at] + (centre * in.r[at + 1] + right * in.r[at + 2]));
            g[i] += weight * (left * in.g[at] + (centre * in.g[at + 1] + right * in.g[at + 2]));
            b[i] += weight * (left * in.b[at] + (centre * in.b[at + 1] + right * in.b[at + 2]));
        }
    }
    KERNEL_UNROLL
    for (i32 i = 0; i < N / 2; i++) {
        const float red = r[i], green = g[i], blue = b[i];
        r[i] = matrix_row(matrix + 4, red, green, blue);
        g[i] = matrix_row(matrix + 8, red, green, blue);
    }
    store_chroma<Sample, N / 2>(params, x, y, limit, r, g);
}

// A tile that lies wholly in the border.
template <class Sample, int N>
KERNEL_FN void tile_of_border(const ConvertParams& params, i32 x, i32 y, i32 limit) {
    float zero[N];
    KERNEL_UNROLL
    for (i32 i = 0; i < N; i++)
        zero[i] = 0.0f;
    KERNEL_LOOP
    for (i32 r = 0; r < CONVERT_ROWS_YUV420; r++)
        store_luma<Sample, N>(params, x, y + r, limit, zero);
    store_chroma<Sample, N / 2>(params, x, y, limit, zero, zero);
}

template <class Reader, class Sample, bool UNSCALED> struct Yuv420Tile {
    static KERNEL_FN void run(const ConvertParams& params, i32 x, i32 y, i32 limit) {
        constexpr int N =
            KERNEL_TILE_WIDTH(UNSCALED ? CONVERT_TILE_UNSCALED : CONVERT_TILE_SCALED_YUV420);
        if (x >= limit || y >= params.dst_size[1]) return;
        const i32 first = x - params.rect_origin[0];
        const i32 line = y - params.rect_origin[1];
        if (first + N <= 0 || first >= params.rect_size[0] || line < 0 ||
            line >= params.rect_size[1]) {
            tile_of_border<Sample, N>(params, x, y, limit);
        } else if constexpr (Reader::YUV) {
            tile_from_yuv<Reader, Sample, N, UNSCALED>(params, x, y, limit);
        } else {
            tile_from_rgb<Reader, Sample, N, UNSCALED>(params, x, y, limit);
        }
    }
};

}  // namespace

#endif
