// Light: transfer functions, primaries, tone mapping, premultiplication (docs/conversion.md).
// Sources: BT.1886, IEC 61966-2-1, BT.2100-2 tables 4 and 5, BT.2390-11 5.4.1, BT.2408.
#ifndef HIP_VIDEO_ANY_LIGHT_H
#define HIP_VIDEO_ANY_LIGHT_H

#include "any_params.h"

namespace {

#if KERNEL_ON_DEVICE
KERNEL_FN float kernel_pow(float base, float exponent) { return powf(base, exponent); }
KERNEL_FN float kernel_exp(float value) { return expf(value); }
KERNEL_FN float kernel_log(float value) { return logf(value); }
KERNEL_FN float kernel_sqrt(float value) { return sqrtf(value); }
#else
KERNEL_FN float kernel_pow(float base, float exponent) { return __builtin_powf(base, exponent); }
KERNEL_FN float kernel_exp(float value) { return __builtin_expf(value); }
KERNEL_FN float kernel_log(float value) { return __builtin_logf(value); }
KERNEL_FN float kernel_sqrt(float value) { return __builtin_sqrtf(value); }
#endif

KERNEL_FN float clamped(float value, float low, float high) {
    value = value > low ? value : low;
    return value < high ? value : high;
}

#define PQ_M1 0.1593017578125f
#define PQ_M2 78.84375f
#define PQ_C1 0.8359375f
#define PQ_C2 18.8515625f
#define PQ_C3 18.6875f
#define HLG_A 0.17883277f
#define HLG_B 0.28466892f
#define HLG_C 0.55991073f
// Of reference white, 203 cd/m2.
#define PQ_PEAK (10000.0f / 203.0f)
#define HLG_PEAK (1000.0f / 203.0f)

// PQ code value (0..1) to light in units of 10000 cd/m2, and back.
KERNEL_FN float pq_decode(float value) {
    const float power = kernel_pow(value, 1.0f / PQ_M2);
    const float above = power - PQ_C1;
    return kernel_pow((above > 0.0f ? above : 0.0f) / (PQ_C2 - PQ_C3 * power), 1.0f / PQ_M1);
}

KERNEL_FN float pq_encode(float light) {
    const float power = kernel_pow(light, PQ_M1);
    return kernel_pow((PQ_C1 + PQ_C2 * power) / (1.0f + PQ_C3 * power), PQ_M2);
}

KERNEL_FN float hlg_decode(float value) {
    if (value <= 0.5f) return value * value * (1.0f / 3.0f);
    return (kernel_exp((value - HLG_C) * (1.0f / HLG_A)) + HLG_B) * (1.0f / 12.0f);
}

KERNEL_FN float hlg_encode(float light) {
    if (light <= 1.0f / 12.0f) return kernel_sqrt(3.0f * light);
    return HLG_A * kernel_log(12.0f * light - HLG_B) + HLG_C;
}

KERNEL_FN float bt2100_luminance(const float* rgb) {
    return 0.2627f * rgb[0] + 0.6780f * rgb[1] + 0.0593f * rgb[2];
}

// R'G'B' in 0..1 to display light in units of reference white.
KERNEL_FN void light_decode(const AnyLight& light, float* rgb) {
    for (i32 k = 0; k < 3; k++) {
        const float value = rgb[k];
        switch (light.decode) {
        case ANY_TRANSFER_SRGB:
            rgb[k] = value <= 0.04045f ? value * (1.0f / 12.92f)
                                       : kernel_pow((value + 0.055f) * (1.0f / 1.055f), 2.4f);
            break;
        case ANY_TRANSFER_PQ: rgb[k] = PQ_PEAK * pq_decode(value); break;
        case ANY_TRANSFER_HLG: rgb[k] = hlg_decode(value); break;
        default: rgb[k] = kernel_pow(value, light.decode_gamma); break;
        }
    }
    if (light.decode == ANY_TRANSFER_HLG) {
        const float luminance = bt2100_luminance(rgb);
        const float gain = luminance > 0.0f ? HLG_PEAK * kernel_pow(luminance, 0.2f) : 0.0f;
        for (i32 k = 0; k < 3; k++) rgb[k] *= gain;
    }
}

KERNEL_FN void light_encode(const AnyLight& light, float* rgb) {
    for (i32 k = 0; k < 3; k++) rgb[k] = clamped(rgb[k], 0.0f, light.encode_limit);
    if (light.encode == ANY_TRANSFER_HLG) {
        for (i32 k = 0; k < 3; k++) rgb[k] *= 1.0f / HLG_PEAK;
        const float luminance = bt2100_luminance(rgb);
        const float gain = luminance > 0.0f ? kernel_pow(luminance, -1.0f / 6.0f) : 0.0f;
        for (i32 k = 0; k < 3; k++) rgb[k] = hlg_encode(rgb[k] * gain);
        return;
    }
    for (i32 k = 0; k < 3; k++) {
        const float value = rgb[k];
        switch (light.encode) {
        case ANY_TRANSFER_SRGB:
            rgb[k] = value <= 0.0031308f ? value * 12.92f
                                         : 1.055f * kernel_pow(value, 1.0f / 2.4f) - 0.055f;
            break;
        case ANY_TRANSFER_PQ: rgb[k] = pq_encode(value * (1.0f / PQ_PEAK)); break;
        default: rgb[k] = kernel_pow(value, 1.0f / light.encode_gamma); break;
        }
    }
}

// BT.2390-11 5.4.1 with black levels 0, for light in units of reference white.
KERNEL_FN float bt2390(float light, float source_peak, float destination_peak) {
    const float top = pq_encode(source_peak * (1.0f / PQ_PEAK));
    const float maximum = pq_encode(destination_peak * (1.0f / PQ_PEAK)) / top;
    const float knee = 1.5f * maximum - 0.5f;
    const float value = clamped(pq_encode(clamped(light, 0.0f, PQ_PEAK) * (1.0f / PQ_PEAK)) / top,
                                0.0f, 1.0f);
    if (value < knee) return light;
    const float t = (value - knee) / (1.0f - knee);
    const float t2 = t * t, t3 = t2 * t;
    const float mapped = (2.0f * t3 - 3.0f * t2 + 1.0f) * knee +
                         (t3 - 2.0f * t2 + t) * (1.0f - knee) +
                         (-2.0f * t3 + 3.0f * t2) * maximum;
    return PQ_PEAK * pq_decode(mapped * top);
}

KERNEL_FN void tone_map(const AnyLight& light, float* rgb) {
    if (light.tone == ANY_TONE_NONE) return;
    float most = rgb[0] > rgb[1] ? rgb[0] : rgb[1];
    most = rgb[2] > most ? rgb[2] : most;
    if (!(most > 0.0f)) return;
    float mapped;
    if (light.tone == ANY_TONE_BT2390) {
        mapped = bt2390(most, light.source_peak, light.destination_peak);
    } else {
        const float m = most / light.destination_peak;
        const float p = light.source_peak / light.destination_peak;
        mapped = light.destination_peak * m * (1.0f + m / (p * p)) / (1.0f + m);
    }
    const float gain = mapped / most;
    for (i32 k = 0; k < 3; k++) rgb[k] *= gain;
}

// R'G'B' and alpha of the source to R'G'B' of the destination.
KERNEL_FN void change_light(const AnyLight& light, float* rgb, float source_alpha,
                            float destination_alpha) {
    if (light.divide) {
        const float factor = source_alpha > 0.0f ? 1.0f / source_alpha : 0.0f;
        for (i32 k = 0; k < 3; k++) {
            const float straight = rgb[k] * factor;
            rgb[k] = straight < 1.0f ? straight : 1.0f;
        }
    }
    if (light.linear) {
        for (i32 k = 0; k < 3; k++) rgb[k] = clamped(rgb[k], 0.0f, 1.0f);
        light_decode(light, rgb);
        float changed[3];
        for (i32 k = 0; k < 3; k++) {
            const float* row = light.primaries + 3 * k;
            const float value = row[0] * rgb[0] + row[1] * rgb[1] + row[2] * rgb[2];
            changed[k] = value > 0.0f ? value : 0.0f;
        }
        tone_map(light, changed);
        light_encode(light, changed);
        for (i32 k = 0; k < 3; k++) rgb[k] = changed[k];
    }
    if (light.multiply)
        for (i32 k = 0; k < 3; k++) rgb[k] *= destination_alpha;
}

}  // namespace

#endif
