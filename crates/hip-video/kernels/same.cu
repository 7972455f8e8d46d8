// Conversions without scaling whose frames allow the widest accesses, one launch for a whole frame.
// Same results as `convert.cu` to a code value; a converter takes these where sizes and addresses
// allow it. On an H200, 4K, microseconds here and of a kernel that only moves as many bytes: NV12 to
// RGBA 15.6 and 13.2, I420 to RGBP 14.5 and 11.3, P010 to RGBA 18.1 and 16.3, RGBA to NV12 15.0 and
// 14.1; `convert.cu` takes 32.8 for the first. Tried and slower: other tiles (4 and 16 pixels of pairs,
// two rows), neighbours by warp shuffles, streaming stores.
//
// What makes the difference: conversions between integer and float run at a fraction of the rate of
// other arithmetic, so there are none. A sample's bits are put into the mantissa of a float whose
// exponent makes it 32768 + sample ("raised"), and the matrix's offset takes the 32768 away again.
// A result is computed as 0..1, where clamping is free, and times its largest code value plus
// 2^23 has the rounded code value in its low bits. Chroma is interpolated two samples at a time, in
// 16-bit lanes of a word, in sixteenths.
#include "same_params.h"

#if !KERNEL_ON_DEVICE
// Stand-ins for what device compilers have built in, so that tests and the stand-ins of the vendors'
// libraries can run these kernels on the CPU.
namespace {

struct alignas(16) uint4 {
    u32 x, y, z, w;
};

struct alignas(8) uint2 {
    u32 x, y;
};

inline uint4 make_uint4(u32 x, u32 y, u32 z, u32 w) { return {x, y, z, w}; }
inline uint2 make_uint2(u32 x, u32 y) { return {x, y}; }

inline u32 __byte_perm(u32 low, u32 high, u32 selector) {
    const u64 both = (u64)high << 32 | low;
    u32 result = 0;
    for (i32 i = 0; i < 4; i++)
        result |= (u32)(both >> (8 * (selector >> (4 * i) & 7u)) & 0xffu) << (8 * i);
    return result;
}

inline float __uint_as_float(u32 bits) {
    float value;
    __builtin_memcpy(&value, &bits, 4);
    return value;
}

inline u32 __float_as_uint(float value) {
    u32 bits;
    __builtin_memcpy(&bits, &value, 4);
    return bits;
}

inline float __saturatef(float value) {
    value = value > 0.0f ? value : 0.0f;
    return value < 1.0f ? value : 1.0f;
}

}  // namespace
#endif

namespace {

// The bits of 32768.0f.
constexpr u32 RAISE = 0x47000000u;

KERNEL_FN i32 same_clamp(i32 value, i32 high) {
    value = value > 0 ? value : 0;
    return value < high ? value : high;
}

// COUNT aligned words, in accesses of up to four.
template <int COUNT> KERNEL_FN void same_load(const u8* from, u32* words) {
    if constexpr (COUNT >= 4) {
        KERNEL_UNROLL
        for (i32 i = 0; i < COUNT / 4; i++) {
            const uint4 value = KERNEL_READ_ONLY(reinterpret_cast<const uint4*>(from) + i);
            words[4 * i] = value.x;
            words[4 * i + 1] = value.y;
            words[4 * i + 2] = value.z;
            words[4 * i + 3] = value.w;
        }
    } else {
        static_assert(COUNT == 2, "two words, or a multiple of four");
        const uint2 value = KERNEL_READ_ONLY(reinterpret_cast<const uint2*>(from));
        words[0] = value.x;
        words[1] = value.y;
    }
}

template <int COUNT> KERNEL_FN void same_store(u8* to, const u32* words) {
    if constexpr (COUNT >= 4) {
        KERNEL_UNROLL
        for (i32 i = 0; i < COUNT / 4; i++)
            reinterpret_cast<uint4*>(to)[i] = make_uint4(
                words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
    } else {
        static_assert(COUNT == 2, "two words, or a multiple of four");
        *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
    }
}

// Byte `index` of a word, raised. `index` is a constant once the loops are unrolled.
KERNEL_FN float raised_byte(u32 word, i32 index) {
    return __uint_as_float(__byte_perm(word, RAISE, 0x7404u | (u32)index << 4));
}

// 16-bit lane `index` of a word, raised; it is below 32768.
KERNEL_FN float raised_lane(u32 word, i32 index) {
    return __uint_as_float(__byte_perm(word, RAISE, index ? 0x7324u : 0x7104u));
}

// A value of 0..1 as a code value of 8 bits in the low byte.
KERNEL_FN u32 coded(float value) { return __float_as_uint(value * 255.0f + 8388608.0f); }

// Puts the low byte of `code` into byte `index` of `word`; byte 0 comes first.
KERNEL_FN u32 with_byte(u32 word, u32 code, i32 index) {
    if (index == 0) return code;
    return __byte_perm(word, code, index == 1 ? 0x3240u : index == 2 ? 0x3410u : 0x4210u);
}

// The high ten bits of each half.
KERNEL_FN u32 high_ten(u32 word) { return word >> 6 & 0x03ff03ffu; }

// COUNT chroma samples of a row in 16-bit lanes, two a word, with the one before and the one after.
template <int COUNT> struct ChromaLanes {
    u32 u[COUNT / 2];
    u32 v[COUNT / 2];
    u32 u_before, v_before, u_after, v_after;
};

// Y; CbCr pairs of bytes.
struct BytePairs {
    static constexpr i32 TILE = SAME_TILE_PAIRS;
    static constexpr i32 LUMA_WORDS = TILE / 4;
    static constexpr i32 COUNT = TILE / 2;

    static KERNEL_FN const u8* luma(const SameParams& params, i32 x, i32 y) {
        return params.src[0] + (i64)params.src_stride[0] * y + x;
    }

    static KERNEL_FN float raised(const u32* words, i32 pixel) {
        return raised_byte(words[pixel / 4], pixel % 4);
    }

    static KERNEL_FN void chroma(const SameParams& params, i32 first, i32 row,
                                 ChromaLanes<COUNT>& lanes) {
        const u8* base = params.src[1] + (i64)params.src_stride[1] * row;
        const u16* pairs = reinterpret_cast<const u16*>(base);
        u32 words[COUNT / 2];
        same_load<COUNT / 2>(base + 2 * first, words);
        KERNEL_UNROLL
        for (i32 i = 0; i < COUNT / 2; i++) {
            lanes.u[i] = words[i] & 0x00ff00ffu;
            lanes.v[i] = words[i] >> 8 & 0x00ff00ffu;
        }
        u32 before = 0;
        if (params.even[0]) before = KERNEL_READ_ONLY(pairs + (first > 0 ? first - 1 : 0));
        const u32 after = KERNEL_READ_ONLY(
            pairs + same_clamp(first + COUNT, params.size[0] / 2 - 1));
        lanes.u_before = before & 0xffu;
        lanes.v_before = before >> 8;
        lanes.u_after = after & 0xffu;
        lanes.v_after = after >> 8;
    }
};

// Y; CbCr pairs of 16-bit samples with ten bits in the high ones.
struct WordPairs {
    static constexpr i32 TILE = SAME_TILE_PAIRS;
    static constexpr i32 LUMA_WORDS = TILE / 2;
    static constexpr i32 COUNT = TILE / 2;

    static KERNEL_FN const u8* luma(const SameParams& params, i32 x, i32 y) {
        return params.src[0] + (i64)params.src_stride[0] * y + 2 * x;
    }

    static KERNEL_FN float raised(const u32* words, i32 pixel) {
        return raised_lane(high_ten(words[pixel / 2]), pixel % 2);
    }

    static KERNEL_FN void chroma(const SameParams& params, i32 first, i32 row,
                                 ChromaLanes<COUNT>& lanes) {
        const u8* base = params.src[1] + (i64)params.src_stride[1] * row;
        const u32* pairs = reinterpret_cast<const u32*>(base);
        u32 words[COUNT];
        same_load<COUNT>(base + 4 * first, words);
        KERNEL_UNROLL
        for (i32 i = 0; i < COUNT / 2; i++) {
            const u32 left = high_ten(words[2 * i]), right = high_ten(words[2 * i + 1]);
            lanes.u[i] = __byte_perm(left, right, 0x5410u);
            lanes.v[i] = __byte_perm(left, right, 0x7632u);
        }
        u32 before = 0;
        if (params.even[0])
            before = high_ten(KERNEL_READ_ONLY(pairs + (first > 0 ? first - 1 : 0)));
        const u32 after = high_ten(KERNEL_READ_ONLY(
            pairs + same_clamp(first + COUNT, params.size[0] / 2 - 1)));
        lanes.u_before = before & 0xffffu;
        lanes.v_before = before >> 16;
        lanes.u_after = after & 0xffffu;
        lanes.v_after = after >> 16;
    }
};

// Y; Cb; Cr, bytes.
struct BytePlanes {
    static constexpr i32 TILE = SAME_TILE_PLANES;
    static constexpr i32 LUMA_WORDS = TILE / 4;
    static constexpr i32 COUNT = TILE / 2;

    static KERNEL_FN const u8* luma(const SameParams& params, i32 x, i32 y) {
        return params.src[0] + (i64)params.src_stride[0] * y + x;
    }

    static KERNEL_FN float raised(const u32* words, i32 pixel) {
        return raised_byte(words[pixel / 4], pixel % 4);
    }

    static KERNEL_FN void lanes_of(const u8* row, i32 first, u32* lanes) {
        u32 words[COUNT / 4];
        same_load<COUNT / 4>(row + first, words);
        KERNEL_UNROLL
        for (i32 i = 0; i < COUNT / 2; i++)
            lanes[i] = __byte_perm(words[i / 2], 0u, i % 2 ? 0x4342u : 0x4140u);
    }

    static KERNEL_FN void chroma(const SameParams& params, i32 first, i32 row,
                                 ChromaLanes<COUNT>& lanes) {
        const u8* u = params.src[1] + (i64)params.src_stride[1] * row;
        const u8* v = params.src[2] + (i64)params.src_stride[2] * row;
        lanes_of(u, first, lanes.u);
        lanes_of(v, first, lanes.v);
        lanes.u_before = lanes.v_before = 0;
        if (params.even[0]) {
            const i32 before = first > 0 ? first - 1 : 0;
            lanes.u_before = KERNEL_READ_ONLY(u + before);
            lanes.v_before = KERNEL_READ_ONLY(v + before);
        }
        const i32 after = same_clamp(first + COUNT, params.size[0] / 2 - 1);
        lanes.u_after = KERNEL_READ_ONLY(u + after);
        lanes.v_after = KERNEL_READ_ONLY(v + after);
    }
};

// Chroma of a luma row: a weighted sum of two chroma rows, in quarters.
template <class Source>
KERNEL_FN void chroma_between_rows(const SameParams& params, i32 x, i32 y,
                                   ChromaLanes<Source::COUNT>& lanes) {
    const i32 row = y / 2, last = (params.size[1] + 1) / 2 - 1;
    const u32 share = y & 1 ? params.odd[1] : params.even[1];
    Source::chroma(params, x / 2, row, lanes);
    const u32 rest = 4u - share;
    ChromaLanes<Source::COUNT> other;
    Source::chroma(params, x / 2, same_clamp(y & 1 ? row + 1 : row - 1, last), other);
    KERNEL_UNROLL
    for (i32 i = 0; i < Source::COUNT / 2; i++) {
        lanes.u[i] = lanes.u[i] * rest + other.u[i] * share;
        lanes.v[i] = lanes.v[i] * rest + other.v[i] * share;
    }
    lanes.u_before = lanes.u_before * rest + other.u_before * share;
    lanes.v_before = lanes.v_before * rest + other.v_before * share;
    lanes.u_after = lanes.u_after * rest + other.u_after * share;
    lanes.v_after = lanes.v_after * rest + other.v_after * share;
}

// The samples of two lanes at the even and the odd pixels, in sixteenths.
KERNEL_FN void between_columns(const SameParams& params, u32 before, u32 here, u32 after,
                               u32& even, u32& odd) {
    // Lanes moved by one sample.
    const u32 previous = __byte_perm(before, here, 0x5432u);
    const u32 next = __byte_perm(here, after, 0x5432u);
    even = here * (4u - params.even[0]) + previous * params.even[0];
    odd = here * (4u - params.odd[0]) + next * params.odd[0];
}

KERNEL_FN void to_rgb(const SameParams& params, float y, float u, float v, u32* code) {
    const float* m = params.matrix;
    // Red has no share of Cb, and blue none of Cr.
    code[0] = coded(__saturatef(m[0] * y + (m[2] * v + m[3])));
    code[1] = coded(__saturatef(m[4] * y + (m[5] * u + (m[6] * v + m[7]))));
    code[2] = coded(__saturatef(m[8] * y + (m[9] * u + m[11])));
}

// Y'CbCr 4:2:0 to R'G'B': 32-bit pixels with alpha last (PACKED), or three planes.
template <class Source, bool PACKED>
KERNEL_FN void same_to_rgb(const SameParams& params, i32 x, i32 y) {
    constexpr i32 TILE = Source::TILE;
    u32 luma[Source::LUMA_WORDS];
    same_load<Source::LUMA_WORDS>(Source::luma(params, x, y), luma);
    ChromaLanes<Source::COUNT> lanes;
    chroma_between_rows<Source>(params, x, y, lanes);
    u32 words[3][TILE / 4], pixels[PACKED ? TILE : 1];
    KERNEL_UNROLL
    for (i32 group = 0; group < TILE / 4; group++) {
        const bool first = group == 0, last = group == TILE / 4 - 1;
        u32 u[2], v[2];
        between_columns(params, first ? lanes.u_before << 16 : lanes.u[first ? 0 : group - 1],
                        lanes.u[group], last ? lanes.u_after : lanes.u[last ? 0 : group + 1], u[0],
                        u[1]);
        between_columns(params, first ? lanes.v_before << 16 : lanes.v[first ? 0 : group - 1],
                        lanes.v[group], last ? lanes.v_after : lanes.v[last ? 0 : group + 1], v[0],
                        v[1]);
        KERNEL_UNROLL
        for (i32 i = 0; i < 4; i++) {
            u32 code[3];
            to_rgb(params, Source::raised(luma, 4 * group + i), raised_lane(u[i % 2], i / 2),
                   raised_lane(v[i % 2], i / 2), code);
            if constexpr (PACKED) {
                const u32 low = __byte_perm(code[0], code[1], 0x0040u);
                const u32 high = __byte_perm(code[2], 0xffu, 0x0040u);
                const u32 pixel = __byte_perm(low, high, 0x5410u);
                pixels[4 * group + i] = __byte_perm(pixel, 0u, params.order);
            } else {
                KERNEL_UNROLL
                for (i32 k = 0; k < 3; k++)
                    words[k][group] = with_byte(i ? words[k][group] : 0u, code[k], i);
            }
        }
    }
    if constexpr (PACKED) {
        same_store<TILE>(params.dst[0] + (i64)params.dst_stride[0] * y + 4 * x, pixels);
    } else {
        KERNEL_UNROLL
        for (i32 k = 0; k < 3; k++)
            same_store<TILE / 4>(params.dst[k] + (i64)params.dst_stride[k] * y + x, words[k]);
    }
}

// 32-bit pixels to Y'CbCr 4:2:0 whose chroma lies between two rows: Cb and Cr in turn (PAIRS), or
// planes.
template <bool PAIRS> KERNEL_FN void same_from_quads(const SameParams& params, i32 x, i32 y) {
    constexpr i32 TILE = SAME_TILE_QUADS;
    const float* m = params.matrix;
    // Sums over the two rows, of the pixel before and the tile's.
    float sum[TILE + 1][3] = {};
    KERNEL_UNROLL
    for (i32 row = 0; row < 2; row++) {
        // An odd height's last row stands for the one below it.
        const i32 line = same_clamp(y + row, params.size[1] - 1);
        const u8* from = params.src[0] + (i64)params.src_stride[0] * line;
        u32 pixels[TILE], luma[TILE / 4];
        same_load<TILE>(from + 4 * x, pixels);
        const u32 before = __byte_perm(
            KERNEL_READ_ONLY(reinterpret_cast<const u32*>(from) + (x > 0 ? x - 1 : 0)), 0u,
            params.order);
        KERNEL_UNROLL
        for (i32 k = 0; k < 3; k++) sum[0][k] += raised_byte(before, k);
        KERNEL_UNROLL
        for (i32 i = 0; i < TILE; i++) {
            const u32 pixel = __byte_perm(pixels[i], 0u, params.order);
            float value[3];
            KERNEL_UNROLL
            for (i32 k = 0; k < 3; k++) {
                value[k] = raised_byte(pixel, k);
                sum[i + 1][k] += value[k];
            }
            const float grey =
                __saturatef(m[0] * value[0] + (m[1] * value[1] + (m[2] * value[2] + m[3])));
            luma[i / 4] = with_byte(i % 4 ? luma[i / 4] : 0u, coded(grey), i % 4);
        }
        if (y + row < params.size[1])
            same_store<TILE / 4>(params.dst[0] + (i64)params.dst_stride[0] * line + x, luma);
    }
    u32 codes[2][TILE / 2];
    KERNEL_UNROLL
    for (i32 i = 0; i < TILE / 2; i++) {
        float value[3];
        KERNEL_UNROLL
        for (i32 k = 0; k < 3; k++)
            value[k] = params.box_x[0] * sum[2 * i][k] +
                       (params.box_x[1] * sum[2 * i + 1][k] + params.box_x[2] * sum[2 * i + 2][k]);
        KERNEL_UNROLL
        for (i32 c = 0; c < 2; c++) {
            const float* row = m + 4 + 4 * c;
            codes[c][i] = coded(__saturatef(
                row[0] * value[0] + (row[1] * value[1] + (row[2] * value[2] + row[3]))));
        }
    }
    u8* const base = params.dst[1] + (i64)params.dst_stride[1] * (y / 2);
    if constexpr (PAIRS) {
        u32 words[2];
        KERNEL_UNROLL
        for (i32 i = 0; i < TILE / 2; i++) {
            const u32 pair = __byte_perm(codes[0][i], codes[1][i], 0x0040u);
            words[i / 2] = i % 2 ? __byte_perm(words[i / 2], pair, 0x5410u) : pair;
        }
        same_store<2>(base + x, words);
    } else {
        u8* const planes[2] = {base, params.dst[2] + (i64)params.dst_stride[2] * (y / 2)};
        KERNEL_UNROLL
        for (i32 c = 0; c < 2; c++) {
            u32 word = 0;
            KERNEL_UNROLL
            for (i32 i = 0; i < TILE / 2; i++) word = with_byte(word, codes[c][i], i);
            *reinterpret_cast<u32*>(planes[c] + x / 2) = word;
        }
    }
}

}  // namespace


#define SAME_TO_RGB(name, Source, packed)                                                        \
    namespace {                                                                                  \
    KERNEL_FN void name##_thread(const SameParams& params, i32 column, i32 y) {                  \
        const i32 x = column * Source::TILE;                                                     \
        if (x < params.size[0] && y < params.size[1]) same_to_rgb<Source, packed>(params, x, y); \
    }                                                                                            \
    }                                                                                            \
    KERNEL_THREAD_ENTRY(name, SameParams, name##_thread)
#define SAME_FROM_QUADS(name, pairs)                                                              \
    namespace {                                                                                   \
    KERNEL_FN void name##_thread(const SameParams& params, i32 column, i32 row) {                 \
        const i32 x = column * SAME_TILE_QUADS, y = row * 2;                                      \
        if (x < params.size[0] && y < params.size[1]) same_from_quads<pairs>(params, x, y);       \
    }                                                                                             \
    }                                                                                             \
    KERNEL_THREAD_ENTRY(name, SameParams, name##_thread)

#ifdef SAME_UNIT
#define SAME_WANTS(unit) (SAME_UNIT == (unit))
#else
#define SAME_WANTS(unit) 1
#endif

#if SAME_WANTS(0)
SAME_TO_RGB(same_pairs8_packed, BytePairs, true)
#endif
#if SAME_WANTS(1)
SAME_TO_RGB(same_planes8_packed, BytePlanes, true)
#endif
#if SAME_WANTS(2)
SAME_TO_RGB(same_pairs16_packed, WordPairs, true)
#endif
#if SAME_WANTS(3)
SAME_TO_RGB(same_pairs8_planar, BytePairs, false)
#endif
#if SAME_WANTS(4)
SAME_TO_RGB(same_planes8_planar, BytePlanes, false)
#endif
#if SAME_WANTS(5)
SAME_TO_RGB(same_pairs16_planar, WordPairs, false)
#endif
#if SAME_WANTS(6)
SAME_FROM_QUADS(same_quads_pairs, true)
#endif
#if SAME_WANTS(7)
SAME_FROM_QUADS(same_quads_planes, false)
#endif
