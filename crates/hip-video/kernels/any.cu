// Any format to any other, with any filter, one launch for a whole destination frame
// (docs/conversion.md). `any_plain` changes matrix and range only; `any_light` also transfer
// functions, primaries, tone and premultiplication.
#include "any_light.h"
#include "any_sample.h"

namespace {

KERNEL_FN float any_row(const float* row, const float* value) {
    return row[0] * value[0] + (row[1] * value[1] + (row[2] * value[2] + row[3]));
}

KERNEL_FN i32 any_clamp(i32 value, i32 low, i32 high) {
    value = value < low ? low : value;
    return value > high ? high : value;
}

// (B(x, y) + 1/2)/64 - 1/2 of the 8x8 Bayer matrix: its bits are those of x^y and y interleaved,
// lowest first.
KERNEL_FN float bayer(i32 x, i32 y) {
    const u32 a = (u32)(x ^ y), b = (u32)y;
    const u32 rank = (a & 1u) << 5 | (b & 1u) << 4 | (a >> 1 & 1u) << 3 | (b >> 1 & 1u) << 2 |
                     (a >> 2 & 1u) << 1 | (b >> 2 & 1u);
    return ((float)(i32)rank + 0.5f) * (1.0f / 64.0f) - 0.5f;
}

// Rounds, clamps and stores a code value of component `k`.
KERNEL_FN void any_put(const AnyPlan& plan, const AnyFrame& dst, i32 k, i32 x, i32 y, float value,
                       bool dither, SharedWords& shared) {
    const AnyComponent& c = plan.dst[k];
    if (c.kind == ANY_ABSENT) return;
    if (c.kind != ANY_F16 && c.kind != ANY_F32) {
        if (dither && plan.dither && k < 3)
            value += bayer(x, plan.row_first + y * plan.row_step);
        const float limit = (float)(i32)c.mask;
        value = value > 0.0f ? value : 0.0f;
        value = value < limit ? value : limit;
        value += 0.5f;
    }
    any_store(c, dst.base[k], dst.stride[k], x, y, value, shared);
}

// Source code values at destination pixel (x, y) of the rectangle.
KERNEL_FN void any_colour(const AnyPlan& plan, const AnyFrame& src, i32 x, i32 y, float* code) {
    const i32 column = x - plan.rect_low[0], row = y - plan.rect_low[1];
    KERNEL_UNROLL
    for (i32 k = 0; k < 3; k++)
        code[k] = any_resample(plan.src[k], src.base[k], src.stride[k],
                               plan.axes[0][plan.src[k].chroma], column, row, plan.transpose);
}

// Analogue alpha of the source at a destination pixel of the rectangle.
KERNEL_FN float any_alpha(const AnyPlan& plan, const AnyFrame& src, i32 x, i32 y) {
    if (plan.src[3].kind == ANY_ABSENT) return 1.0f;
    return plan.alpha_in * any_resample(plan.src[3], src.base[3], src.stride[3], plan.axes[0][0],
                                        x - plan.rect_low[0], y - plan.rect_low[1],
                                        plan.transpose);
}

KERNEL_FN float any_changed_alpha(const AnyPlan& plan, float alpha) {
    if (plan.alpha_mode == ANY_ALPHA_SET) return plan.alpha_value;
    if (plan.alpha_mode == ANY_ALPHA_MULTIPLY) return alpha * plan.alpha_value;
    return alpha;
}

// R'G'B' of the destination at a pixel of the rectangle.
KERNEL_CALLED void any_rgb(const AnyPlan& plan, const AnyFrame src, i32 x, i32 y, float* rgb) {
    float code[3];
    any_colour(plan, src, x, y, code);
    for (i32 k = 0; k < 3; k++) rgb[k] = any_row(plan.light.to_rgb + 4 * k, code);
    const float alpha = plan.light.divide || plan.light.multiply ? any_alpha(plan, src, x, y)
                                                                      : 1.0f;
    change_light(plan.light, rgb, alpha, any_changed_alpha(plan, alpha));
}

KERNEL_FN bool any_inside(const AnyPlan& plan, i32 x, i32 y) {
    return x >= plan.rect_low[0] && x < plan.rect_high[0] && y >= plan.rect_low[1] &&
           y < plan.rect_high[1];
}

// The components that every pixel has.
template <bool LIGHT>
KERNEL_FN void any_pixel(const AnyPlan& plan, const AnyFrame& src, const AnyFrame& dst, i32 x, i32 y,
                         SharedWords& shared) {
    const bool full = !plan.dst[1].chroma;  // Cb and Cr, or G and B, at every pixel
    if (!any_inside(plan, x, y)) {
        any_put(plan, dst, 0, x, y, plan.border[0], false, shared);
        if (full) {
            any_put(plan, dst, 1, x, y, plan.border[1], false, shared);
            any_put(plan, dst, 2, x, y, plan.border[2], false, shared);
        }
        any_put(plan, dst, 3, x, y, plan.border[3], false, shared);
        return;
    }
    float code[3] = {0.0f, 0.0f, 0.0f};
    const float* matrix = plan.matrix;
    if (LIGHT) {
        any_rgb(plan, src, x, y, code);
        matrix = plan.light.from_rgb;
    } else if (full || plan.luma_mixes) {
        any_colour(plan, src, x, y, code);
    } else {
        code[0] = any_resample(plan.src[0], src.base[0], src.stride[0], plan.axes[0][0],
                               x - plan.rect_low[0], y - plan.rect_low[1], plan.transpose);
    }
    any_put(plan, dst, 0, x, y, any_row(matrix, code), true, shared);
    if (full) {
        any_put(plan, dst, 1, x, y, any_row(matrix + 4, code), true, shared);
        any_put(plan, dst, 2, x, y, any_row(matrix + 8, code), true, shared);
    }
    if (plan.dst[3].kind != ANY_ABSENT) {
        const float alpha = any_changed_alpha(plan, any_alpha(plan, src, x, y));
        any_put(plan, dst, 3, x, y, alpha * plan.alpha_out, false, shared);
    }
}

// Cb and Cr of a subsampled destination.
template <bool LIGHT>
KERNEL_FN void any_chroma(const AnyPlan& plan, const AnyFrame& src, const AnyFrame& dst, i32 x, i32 y,
                          SharedWords& shared) {
    const i32 i = x / plan.subsampling[0], j = y / plan.subsampling[1];
    float u = plan.border[1], v = plan.border[2];
    const bool inside = any_inside(plan, x, y);
    if (inside) {
        float code[3] = {0.0f, 0.0f, 0.0f};
        const float* matrix = plan.matrix;
        if (LIGHT) {
            matrix = plan.light.from_rgb;
            for (i32 b = 0; b < 4; b++) {
                if (plan.pixel_box[1][b] == 0.0f) continue;
                const i32 row = any_clamp(y + b - 1, plan.rect_low[1], plan.rect_high[1] - 1);
                for (i32 a = 0; a < 4; a++) {
                    const float weight = plan.pixel_box[0][a] * plan.pixel_box[1][b];
                    if (weight == 0.0f) continue;
                    const i32 column =
                        any_clamp(x + a - 1, plan.rect_low[0], plan.rect_high[0] - 1);
                    float rgb[3];
                    any_rgb(plan, src, column, row, rgb);
                    for (i32 k = 0; k < 3; k++) code[k] += weight * rgb[k];
                }
            }
        } else {
            KERNEL_UNROLL
            for (i32 k = 0; k < 3; k++) {
                if (k == 0 && !plan.chroma_mixes) continue;
                code[k] = any_resample(plan.src[k], src.base[k], src.stride[k],
                                       plan.axes[1][plan.src[k].chroma],
                                       i - plan.chroma_low[0], j - plan.chroma_low[1],
                                       plan.transpose);
            }
        }
        u = any_row(matrix + 4, code);
        v = any_row(matrix + 8, code);
    }
    any_put(plan, dst, 1, i, j, u, inside, shared);
    any_put(plan, dst, 2, i, j, v, inside, shared);
}

// One thread's pixels.
template <bool LIGHT>
KERNEL_FN void any_unit(const AnyPlan& plan, const AnyFrame& src, const AnyFrame& dst, i32 x, i32 y) {
    SharedWords shared = {{0u, 0u, 0u, 0u}};
    const i32 width = plan.dst_size[0], height = plan.dst_size[1];
    KERNEL_LOOP
    for (i32 row = y; row < y + plan.unit[1] && row < height; row++) {
        KERNEL_LOOP
        for (i32 column = x; column < x + plan.unit[0]; column++) {
            const bool there = column < width;
            // The rest of a group: planes of their own have none.
            if (!there && plan.group == 1) break;
            if (there) any_pixel<LIGHT>(plan, src, dst, column, row, shared);
            else any_store(plan.dst[0], dst.base[0], dst.stride[0], column, row, 0.0f, shared);
        }
    }
    if (plan.dst[1].chroma && plan.dst[1].kind != ANY_ABSENT &&
        y / plan.subsampling[1] < plan.chroma_rows) {
        KERNEL_LOOP
        for (i32 column = x; column < x + plan.unit[0] && column < width;
             column += plan.subsampling[0])
            any_chroma<LIGHT>(plan, src, dst, column, y, shared);
    }
    any_store_shared(plan.dst[0], dst.base[0], dst.stride[0], x, y, shared);
}

template <bool LIGHT>
KERNEL_FN void any_tile(const AnyParams& params, i32 x, i32 y, i32 limit) {
    const AnyPlan& plan = *params.plan;
    if (y >= plan.dst_size[1]) return;
#if KERNEL_ON_DEVICE
    if (x < limit) any_unit<LIGHT>(plan, params.src, params.dst, x, y);
#else
    const i32 end = x + KERNEL_HOST_WIDTH < limit ? x + KERNEL_HOST_WIDTH : limit;
    for (; x < end; x += plan.unit[0]) any_unit<LIGHT>(plan, params.src, params.dst, x, y);
#endif
}

}  // namespace

#ifdef ANY_UNIT
#define ANY_WANTS(unit) (ANY_UNIT == (unit))
#else
#define ANY_WANTS(unit) 1
#endif

#if ANY_WANTS(0)
KERNEL_TILE_ENTRY(any_plain, AnyParams, params.plan->unit[0], params.plan->unit[1],
                  params.plan->dst_size[0], any_tile<false>)
#endif
#if ANY_WANTS(1)
KERNEL_TILE_ENTRY(any_light, AnyParams, params.plan->unit[0], params.plan->unit[1],
                  params.plan->dst_size[0], any_tile<true>)
#endif
