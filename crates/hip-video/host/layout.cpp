// Size and offsets of ConvertParams as the kernels see it, for the test that compares them with
// Rust.
#include "convert_params.h"

#define OFFSET(field) (u32) __builtin_offsetof(ConvertParams, field)

extern "C" const u32* hip_video_convert_layout(u32* count) {
    static const u32 layout[] = {
        (u32)sizeof(ConvertParams),
        OFFSET(src),
        OFFSET(dst),
        OFFSET(origin),
        OFFSET(step),
        OFFSET(chroma_origin),
        OFFSET(chroma_step),
        OFFSET(src_site),
        OFFSET(src_stride),
        OFFSET(dst_stride),
        OFFSET(src_size),
        OFFSET(src_chroma_size),
        OFFSET(dst_size),
        OFFSET(rect_origin),
        OFFSET(rect_size),
        OFFSET(reader),
        OFFSET(src_step),
        OFFSET(src_shift),
        OFFSET(src_alpha),
        OFFSET(dst_step),
        OFFSET(dst_shift),
        OFFSET(nearest),
        OFFSET(luma_mixes),
        OFFSET(border),
        OFFSET(matrix),
        OFFSET(box_x),
        OFFSET(box_y),
        CONVERT_READ_YUV8_PAIR,
        CONVERT_READ_YUV8_SPLIT,
        CONVERT_READ_YUV16,
        CONVERT_READ_QUAD,
        CONVERT_READ_BYTES,
        CONVERT_TILE_UNSCALED,
        CONVERT_TILE_SCALED_YUV420,
        CONVERT_TILE_SCALED_RGB,
        CONVERT_ROWS_YUV420,
        CONVERT_ROWS_RGB,
    };
    *count = sizeof(layout) / sizeof(layout[0]);
    return layout;
}
