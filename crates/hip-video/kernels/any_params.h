// What the kernels that convert any format to any other (docs/conversion.md) are told. `src/any/params.rs`
// mirrors it, and a test compares sizes and offsets. What is looked up for each sample (source positions
// and filter weights) comes from tables, so one text serves every method, rectangle and orientation.
//
// What does not change from frame to frame lies in device memory with the tables, so that functions
// that are called, not inlined, can take its address: of an argument that would have every thread
// copy it. The frames' addresses are the argument.
#ifndef HIP_VIDEO_ANY_PARAMS_H
#define HIP_VIDEO_ANY_PARAMS_H

#include "prelude.cuh"

// How a component's samples lie in memory.
#define ANY_ABSENT 0  // nowhere: `mask` is the code value it reads as
#define ANY_U8 1
#define ANY_U16 2
#define ANY_U32 3   // bits of a word that other components share
#define ANY_V210 4  // 12 samples in four words; `shift` says which: 0 Cb, 1 Y, 2 Cr
#define ANY_F16 5
#define ANY_F32 6

// `transfer` numbers; the powers and the linear one are told by `gamma`.
#define ANY_TRANSFER_POWER 0
#define ANY_TRANSFER_SRGB 1
#define ANY_TRANSFER_PQ 2
#define ANY_TRANSFER_HLG 3

#define ANY_TONE_NONE 0
#define ANY_TONE_BT2390 1
#define ANY_TONE_REINHARD 2

#define ANY_ALPHA_COPY 0
#define ANY_ALPHA_SET 1
#define ANY_ALPHA_MULTIPLY 2

struct AnyComponent {
    i32 step;    // bytes from one sample to the next of the component
    i32 kind;    // ANY_*
    i32 shift;   // bits right of the sample
    u32 mask;    // the largest code value
    i32 chroma;  // 1 if it lies on the chroma lattice
    i32 unused;
};

// Where the components of a frame begin, and bytes from row to row.
struct AnyFrame {
    u8* base[4];
    i32 stride[4];
};

// Filter of one axis: for destination sample k the source samples start[k] .. start[k]+taps-1 with
// weights[k*taps ..].
struct AnyAxis {
    const i32* start;
    const float* weights;
    i32 taps;
    i32 unused;
};

// Light: what happens between R'G'B' and R'G'B'.
struct AnyLight {
    float to_rgb[12];    // source code values to R'G'B'
    float from_rgb[12];  // R'G'B' to destination code values
    float primaries[9];
    i32 linear;  // 1: transfer functions, primaries and tone mapping apply
    i32 decode;  // ANY_TRANSFER_*
    i32 encode;
    float decode_gamma;
    float encode_gamma;
    i32 tone;
    float source_peak;       // in units of reference white, 203 cd/m2
    float destination_peak;  // also what the destination's transfer can carry
    float encode_limit;
    i32 divide;    // the source is premultiplied
    i32 multiply;  // the destination is
};

struct AnyPlan {
    AnyComponent src[4];  // Y Cb Cr A, or R G B A
    AnyComponent dst[4];
    AnyAxis axes[2][2][2];  // [destination lattice][source lattice][destination axis]; 1 is chroma
    i32 dst_size[2];
    i32 rect_low[2];     // first pixel of the destination rectangle
    i32 rect_high[2];    // first pixel behind it
    i32 chroma_low[2];   // first chroma sample of it
    i32 chroma_rows;     // rows of subsampled chroma: a field may have one less than its lines ask for
    i32 row_first;       // the frame's row that row 0 is, and rows of the frame to one: 0 and 1, or
    i32 row_step;        // a field and 2
    i32 subsampling[2];  // of the destination: 1 or 2
    i32 unit[2];         // pixels one thread writes
    i32 group;           // pixels that share a group of bytes, in a row
    i32 transpose;       // 1: the source's x axis belongs to the destination's y axis
    i32 luma_mixes;      // 1: component 0 of the destination depends on components 1 and 2
    i32 chroma_mixes;    // 1: components 1 and 2 depend on component 0
    i32 alpha_mode;
    i32 dither;
    float alpha_value;  // 0..1
    float alpha_in;     // analogue alpha of one code value
    float alpha_out;    // code values of analogue alpha 1
    float border[4];    // code values of the destination
    float matrix[12];   // source code values to destination code values
    float pixel_box[2][4];    // light: weights of pixels s*I-1 .. s*I+2 in chroma sample I, for x and y
    AnyLight light;
};

// The kernels' argument.
struct AnyParams {
    const AnyPlan* plan;
    AnyFrame src;
    AnyFrame dst;
};

#endif
