// One sample from or to memory, whatever the format.
#ifndef HIP_VIDEO_ANY_SAMPLE_H
#define HIP_VIDEO_ANY_SAMPLE_H

#include "any_params.h"

namespace {

KERNEL_FN float bits_to_float(u32 bits) {
    union {
        u32 bits;
        float value;
    } both;
    both.bits = bits;
    return both.value;
}

KERNEL_FN u32 float_to_bits(float value) {
    union {
        u32 bits;
        float value;
    } both;
    both.value = value;
    return both.bits;
}

// IEEE 754 binary16 and binary32, by integer arithmetic, so that every compiler gives the same.
KERNEL_FN float half_to_float(u32 half) {
    const u32 sign = (half & 0x8000u) << 16;
    const u32 rest = half & 0x7fffu;
    if (rest >= 0x7c00u) return bits_to_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest >= 0x400u) return bits_to_float(sign | ((rest << 13) + 0x38000000u));
    // Subnormal: a multiple of 2^-24.
    const float value = (float)(i32)rest * (1.0f / 16777216.0f);
    return sign ? -value : value;
}

// To the nearest, ties to even.
KERNEL_FN u32 float_to_half(float value) {
    const u32 bits = float_to_bits(value);
    const u32 sign = bits >> 16 & 0x8000u;
    const u32 rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return sign | 0x7e00u;
    if (rest >= 0x477ff000u) return sign | 0x7c00u;
    if (rest < 0x38800000u) {
        // 2^23/2 in float has a unit of 2^-24 of a half's subnormal scale: the addition rounds.
        const float magic = bits_to_float(rest) + 0.5f;
        return sign | (float_to_bits(magic) - 0x3f000000u);
    }
    const u32 odd = rest >> 13 & 1u;
    return sign | (rest - 0x38000000u + 0xfffu + odd) >> 13;
}

// Where sample `index` of a component of v210 lies among the group's 12: Cb at 0, 4, 8, Y at 1, 3, ..
// 11, Cr at 2, 6, 10.
KERNEL_FN i32 v210_place(i32 which, i32 index) {
    return which == 1 ? index % 6 * 2 + 1 : index % 3 * 4 + which;
}

KERNEL_FN float any_load(const AnyComponent& c, const u8* base, i32 stride, i32 x, i32 y) {
    const u8* row = base + (i64)stride * y;
    u32 raw;
    switch (c.kind) {
    case ANY_U8: raw = KERNEL_READ_ONLY(row + x * c.step); break;
    case ANY_U16: raw = KERNEL_READ_ONLY(reinterpret_cast<const u16*>(row + x * c.step)); break;
    case ANY_U32: raw = KERNEL_READ_ONLY(reinterpret_cast<const u32*>(row + x * c.step)); break;
    case ANY_F32:
        return bits_to_float(KERNEL_READ_ONLY(reinterpret_cast<const u32*>(row + x * c.step)));
    case ANY_F16:
        return half_to_float(KERNEL_READ_ONLY(reinterpret_cast<const u16*>(row + x * c.step)));
    default: {
        const i32 group = x / (c.shift == 1 ? 6 : 3);
        const i32 place = v210_place(c.shift, x);
        const u32 word =
            KERNEL_READ_ONLY(reinterpret_cast<const u32*>(row + group * 16) + place / 3);
        return (float)(i32)(word >> (10 * (place % 3)) & 0x3ffu);
    }
    }
    return (float)(i32)(raw >> c.shift & c.mask);
}

// Words that components share, gathered before they are stored.
struct SharedWords {
    u32 words[4];
};

// Stores a code value that is rounded and in range already, or a floating-point one.
KERNEL_FN void any_store(const AnyComponent& c, u8* base, i32 stride, i32 x, i32 y, float value,
                         SharedWords& shared) {
    u8* row = base + (i64)stride * y;
    const u32 code = (u32)(i32)value;
    switch (c.kind) {
    case ANY_U8: row[x * c.step] = (u8)code; break;
    case ANY_U16: *reinterpret_cast<u16*>(row + x * c.step) = (u16)(code << c.shift); break;
    case ANY_U32: shared.words[0] |= code << c.shift; break;
    case ANY_F32: *reinterpret_cast<u32*>(row + x * c.step) = float_to_bits(value); break;
    case ANY_F16:
        *reinterpret_cast<u16*>(row + x * c.step) = (u16)float_to_half(value);
        break;
    case ANY_V210: {
        const i32 place = v210_place(c.shift, x);
        const u32 bits = code << (10 * (place % 3));
        // No computed index: the words stay in registers.
        shared.words[0] |= place / 3 == 0 ? bits : 0u;
        shared.words[1] |= place / 3 == 1 ? bits : 0u;
        shared.words[2] |= place / 3 == 2 ? bits : 0u;
        shared.words[3] |= place / 3 == 3 ? bits : 0u;
        break;
    }
    default: break;
    }
}

// The shared words of the thread's group.
KERNEL_FN void any_store_shared(const AnyComponent& c, u8* base, i32 stride, i32 x, i32 y,
                                const SharedWords& shared) {
    u8* row = base + (i64)stride * y;
    if (c.kind == ANY_U32) {
        *reinterpret_cast<u32*>(row + x * c.step) = shared.words[0];
    } else if (c.kind == ANY_V210) {
        u32* words = reinterpret_cast<u32*>(row + x / 6 * 16);
        words[0] = shared.words[0];
        words[1] = shared.words[1];
        words[2] = shared.words[2];
        words[3] = shared.words[3];
    }
}

// Weighted sum of the component's samples at a destination sample.
KERNEL_CALLED float any_resample(const AnyComponent& c, const u8* base, i32 stride,
                                 const AnyAxis* axes, i32 x, i32 y, i32 transpose) {
    if (c.kind == ANY_ABSENT) return (float)(i32)c.mask;
    const AnyAxis& across = axes[0];
    const AnyAxis& down = axes[1];
    const i32 first_x = KERNEL_READ_ONLY(across.start + x);
    const i32 first_y = KERNEL_READ_ONLY(down.start + y);
    const float* weights_x = across.weights + (i64)x * across.taps;
    const float* weights_y = down.weights + (i64)y * down.taps;
    float sum = 0.0f;
    for (i32 j = 0; j < down.taps; j++) {
        float line = 0.0f;
        for (i32 i = 0; i < across.taps; i++) {
            const i32 at_x = transpose ? first_y + j : first_x + i;
            const i32 at_y = transpose ? first_x + i : first_y + j;
            line += KERNEL_READ_ONLY(weights_x + i) * any_load(c, base, stride, at_x, at_y);
        }
        sum += KERNEL_READ_ONLY(weights_y + j) * line;
    }
    return sum;
}

}  // namespace

#endif
