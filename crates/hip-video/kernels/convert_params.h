// The argument of every conversion kernel, passed by value. `src/params.rs` mirrors it, and a test
// compares size and offsets. Sizes are in samples, strides in bytes, positions in 32.32 fixed point
// relative to the source rectangle. Pointers already include the source rectangle's origin.
#ifndef HIP_VIDEO_CONVERT_PARAMS_H
#define HIP_VIDEO_CONVERT_PARAMS_H

#include "prelude.cuh"

// How the source's bytes lie.
#define CONVERT_READ_YUV8_PAIR 0   // Y; CbCr pairs at even addresses
#define CONVERT_READ_YUV8_SPLIT 1  // Y; Cb; Cr, chroma samples `src_step` bytes apart
#define CONVERT_READ_YUV16 2       // Y; CbCr pairs, 10 bit in the high bits of 16, even addresses
#define CONVERT_READ_QUAD 3        // 32-bit pixels at addresses divisible by four
#define CONVERT_READ_BYTES 4       // R; G; B; A, samples `src_step` bytes apart

// Pixels one GPU thread writes in a row, and rows: for unscaled conversions as many as make wide
// accesses, for scaled ones as few as the format allows, since reads are scattered anyway.
#define CONVERT_TILE_UNSCALED 4
#define CONVERT_TILE_SCALED_YUV420 2
#define CONVERT_TILE_SCALED_RGB 1
#define CONVERT_ROWS_YUV420 2
#define CONVERT_ROWS_RGB 1

struct ConvertParams {
    const u8* src[4];      // by component: Y Cb Cr, or R G B A; QUAD uses the first only
    u8* dst[4];            // by plane
    i64 origin[2];         // source position of the rectangle's first pixel: x, y
    i64 step[2];           // from one destination pixel to the next
    i64 chroma_origin[2];  // the same for 4:2:0 to 4:2:0, in chroma samples
    i64 chroma_step[2];
    i64 src_site[2];    // chroma site of the source in luma pixels: right, down
    i32 src_stride[4];  // by component
    i32 dst_stride[4];  // by plane
    i32 src_size[2];    // source rectangle in luma samples: width, height
    i32 src_chroma_size[2];
    i32 dst_size[2];     // whole destination frame
    i32 rect_origin[2];  // destination rectangle
    i32 rect_size[2];
    i32 reader;        // CONVERT_READ_*
    i32 src_step;      // YUV8_SPLIT, BYTES: bytes from one sample to the next
    i32 src_shift[4];  // QUAD: where R, G, B, A lie in the 32-bit word, in bits
    i32 src_alpha;     // 1 when the source has alpha
    i32 dst_step;  // packed: 3 or 4 bytes a pixel; 4:2:0: 2 when Cb and Cr are interleaved, else 1
    i32 dst_shift[4];  // packed: as src_shift
    i32 nearest;       // 1 for nearest, 0 for bilinear
    i32 luma_mixes;    // 4:2:0 to 4:2:0: 1 when the matrices differ, so luma depends on chroma
    u32 border[4];     // code values outside the rectangle: Y Cb Cr, or R G B A
    float matrix[12];  // three rows of (three factors, offset): source to destination code values
    float box_x[3];    // RGB to 4:2:0: weights of the columns 2i-1, 2i, 2i+1
    float box_y[4];    // weights of the rows 2j-1, 2j, 2j+1, 2j+2
};

#endif
