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

#include "any_params.h"

#define COMPONENT(field) (u32) __builtin_offsetof(AnyComponent, field)
#define AXIS(field) (u32) __builtin_offsetof(AnyAxis, field)
#define LIGHT(field) (u32) __builtin_offsetof(AnyLight, field)
#define ANY(field) (u32) __builtin_offsetof(AnyPlan, field)
#define CALL(field) (u32) __builtin_offsetof(AnyParams, field)

extern "C" const u32* hip_video_any_layout(u32* count) {
    static const u32 layout[] = {
        (u32)sizeof(AnyComponent),
        COMPONENT(step), COMPONENT(kind),
        COMPONENT(shift), COMPONENT(mask), COMPONENT(chroma),
        (u32)sizeof(AnyAxis),
        AXIS(start), AXIS(weights), AXIS(taps),
        (u32)sizeof(AnyLight),
        LIGHT(to_rgb), LIGHT(from_rgb), LIGHT(primaries), LIGHT(linear), LIGHT(decode),
        LIGHT(encode), LIGHT(decode_gamma), LIGHT(encode_gamma), LIGHT(tone), LIGHT(source_peak),
        LIGHT(destination_peak), LIGHT(encode_limit), LIGHT(divide), LIGHT(multiply),
        (u32)sizeof(AnyParams),
        CALL(plan),
        CALL(src),
        CALL(dst),
        (u32)sizeof(AnyPlan),
        ANY(src), ANY(dst), ANY(axes), ANY(dst_size), ANY(rect_low), ANY(rect_high),
        ANY(chroma_low), ANY(chroma_rows), ANY(row_first), ANY(row_step), ANY(subsampling), ANY(unit), ANY(group), ANY(transpose), ANY(luma_mixes),
        ANY(chroma_mixes), ANY(alpha_mode), ANY(dither), ANY(alpha_value), ANY(alpha_in),
        ANY(alpha_out), ANY(border), ANY(matrix), ANY(pixel_box), ANY(light),
        ANY_ABSENT, ANY_U8, ANY_U16, ANY_U32, ANY_V210, ANY_F16, ANY_F32,
        ANY_ALPHA_COPY, ANY_ALPHA_SET, ANY_ALPHA_MULTIPLY,
        ANY_TONE_NONE, ANY_TONE_BT2390, ANY_TONE_REINHARD,
        ANY_TRANSFER_POWER, ANY_TRANSFER_SRGB, ANY_TRANSFER_PQ, ANY_TRANSFER_HLG,
    };
    *count = sizeof(layout) / sizeof(layout[0]);
    return layout;
}

#include "same_params.h"

#define SAME(field) (u32) __builtin_offsetof(SameParams, field)

extern "C" const u32* hip_video_same_layout(u32* count) {
    static const u32 layout[] = {
        (u32)sizeof(SameParams),
        SAME(src), SAME(dst), SAME(src_stride), SAME(dst_stride), SAME(size), SAME(order),
        SAME(even), SAME(odd), SAME(matrix), SAME(box_x),
        SAME_TILE_PAIRS, SAME_TILE_PLANES, SAME_TILE_QUADS,
    };
    *count = sizeof(layout) / sizeof(layout[0]);
    return layout;
}
