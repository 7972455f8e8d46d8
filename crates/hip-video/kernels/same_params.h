// The argument of the kernels for equal sizes (`same.cu`), passed by value. `src/same/params.rs`
// mirrors it, and a test compares size and offsets. Widths are multiples of the tile's, addresses and
// strides of 16.
#ifndef HIP_VIDEO_SAME_PARAMS_H
#define HIP_VIDEO_SAME_PARAMS_H

#include "prelude.cuh"

// Pixels of a row that one thread writes, by what it reads, and rows.
#define SAME_TILE_PAIRS 8    // Y; CbCr in turn
#define SAME_TILE_PLANES 16  // Y; Cb; Cr
#define SAME_TILE_QUADS 8    // 32-bit pixels, of which Cb and Cr are made: two rows

struct SameParams {
    const u8* src[3];   // Y Cb Cr; pairs: Y and the pairs; quads: the first only
    u8* dst[3];         // by plane
    i32 src_stride[3];  // in bytes
    i32 dst_stride[3];
    i32 size[2];
    // Selector of bytes: from R, G, B, A to where they lie in a pixel, or the other way for reading.
    u32 order;
    // Quarters that a neighbouring chroma sample weighs at even and odd pixels across, and rows
    // down: the one before for even ones, the one after for odd ones.
    u32 even[2];
    u32 odd[2];
    // Three rows of (three factors, offset) to 0..1, for samples as the kernels hold them: what
    // `same.cu` calls raised, chroma in sixteenths.
    float matrix[12];
    float box_x[3];  // quads: weights of the columns 2i-1, 2i, 2i+1, halved for the two rows
};

#endif
