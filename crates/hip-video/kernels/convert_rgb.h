// Conversion to R'G'B' destinations, packed and planar.
#ifndef HIP_VIDEO_CONVERT_RGB_H
#define HIP_VIDEO_CONVERT_RGB_H

#include "convert_read_rgb.h"
#include "convert_write.h"

namespace {

// N destination pixels from `first` (relative to the rectangle) in row `line`, as code values.
template <class Reader, int N, bool UNSCALED>
KERNEL_FN void convert_to_rgb(const ConvertParams& params, i32 first, i32 line, u32 (*out)[N]) {
    const float* matrix = params.matrix;
    if constexpr (Reader::YUV) {
        float y[N], u[N], v[N];
        read_luma<Reader, N, UNSCALED>(params, first, line, y);
        read_chroma_at_luma<Reader, N, UNSCALED>(params, first, line, u, v);
        KERNEL_UNROLL
        for (i32 i = 0; i < N; i++) {
            out[0][i] = quantise(matrix_row(matrix, y[i], u[i], v[i]), 255.0f);
            out[1][i] = quantise(matrix_row(matrix + 4, y[i], u[i], v[i]), 255.0f);
            out[2][i] = quantise(matrix_row(matrix + 8, y[i], u[i], v[i]), 255.0f);
            out[3][i] = 255;
        }
    } else {
        Colours<N> in;
        read_rgb<Reader, N, 0, UNSCALED>(params, first, line, in);
        KERNEL_UNROLL
        for (i32 i = 0; i < N; i++) {
            out[0][i] = quantise(matrix_row(matrix, in.r[i], in.g[i], in.b[i]), 255.0f);
            out[1][i] = quantise(matrix_row(matrix + 4, in.r[i], in.g[i], in.b[i]), 255.0f);
            out[2][i] = quantise(matrix_row(matrix + 8, in.r[i], in.g[i], in.b[i]), 255.0f);
            out[3][i] = quantise(in.a[i], 255.0f);
        }
    }
}

// The same for frame pixels from `x` in row `y`, with the border outside the rectangle.
template <class Reader, int N, bool UNSCALED>
KERNEL_FN void frame_to_rgb(const ConvertParams& params, i32 x, i32 y, u32 (*out)[N]) {
    const i32 first = x - params.rect_origin[0];
    const i32 line = y - params.rect_origin[1];
    const i32 width = params.rect_size[0];
    const bool row_inside = line >= 0 && line < params.rect_size[1];
    if (row_inside && first + N > 0 && first < width) {
        convert_to_rgb<Reader, N, UNSCALED>(params, first, line, out);
        if (first >= 0 && first + N <= width) return;
        KERNEL_UNROLL
        for (i32 i = 0; i < N; i++) {
            const bool inside = first + i >= 0 && first + i < width;
            KERNEL_UNROLL
            for (i32 c = 0; c < 4; c++)
                out[c][i] = inside ? out[c][i] : params.border[c];
        }
        return;
    }
    KERNEL_UNROLL
    for (i32 i = 0; i < N; i++) {
        KERNEL_UNROLL
        for (i32 c = 0; c < 4; c++)
            out[c][i] = params.border[c];
    }
}

// Three or four bytes a pixel.
template <class Reader, bool UNSCALED> struct PackedTile {
    static KERNEL_FN void run(const ConvertParams& params, i32 x, i32 y, i32 limit) {
        constexpr int N =
            KERNEL_TILE_WIDTH(UNSCALED ? CONVERT_TILE_UNSCALED : CONVERT_TILE_SCALED_RGB);
        if (x >= limit || y >= params.dst_size[1]) return;
        u32 colours[4][N];
        frame_to_rgb<Reader, N, UNSCALED>(params, x, y, colours);
        u32 pixels[N];
        KERNEL_UNROLL
        for (i32 i = 0; i < N; i++) {
            pixels[i] = colours[0][i] << params.dst_shift[0] |
                        colours[1][i] << params.dst_shift[1] |
                        colours[2][i] << params.dst_shift[2] | colours[3][i] << params.dst_shift[3];
        }
        u8* row = row_of<u8>(params.dst[0], params.dst_stride[0], y);
        store_packed<N>(row, x, limit, params.dst_step, pixels);
    }
};

// One plane a component.
template <class Reader, bool UNSCALED> struct PlanarTile {
    static KERNEL_FN void run(const ConvertParams& params, i32 x, i32 y, i32 limit) {
        constexpr int N =
            KERNEL_TILE_WIDTH(UNSCALED ? CONVERT_TILE_UNSCALED : CONVERT_TILE_SCALED_RGB);
        if (x >= limit || y >= params.dst_size[1]) return;
        u32 colours[4][N];
        frame_to_rgb<Reader, N, UNSCALED>(params, x, y, colours);
        KERNEL_UNROLL
        for (i32 c = 0; c < 3; c++) {
            u8* row = row_of<u8>(params.dst[c], params.dst_stride[c], y);
            store_span<u8, N>(row, x, limit, colours[c]);
        }
    }
};

}  // namespace

#endif
