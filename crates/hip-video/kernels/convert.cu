// Scaling and colour conversion, one launch for a whole destination frame (docs/conversion.md).
//
// One entry point for each family of destinations and for each way to read: `_scaled` for any
// geometry, `_unscaled` for equal sizes and an even destination rectangle. The source's layout is
// chosen at run time: all threads of a launch take the same branch.
#include "convert_rgb.h"
#include "convert_yuv420.h"

namespace {

template <class Reader, bool UNSCALED> using Yuv420Tile8 = Yuv420Tile<Reader, u8, UNSCALED>;
template <class Reader, bool UNSCALED> using Yuv420Tile16 = Yuv420Tile<Reader, u16, UNSCALED>;

template <template <class, bool> class Tile, bool UNSCALED>
KERNEL_FN void convert_tile(const ConvertParams& params, i32 x, i32 y, i32 limit) {
    switch (params.reader) {
    case CONVERT_READ_YUV8_PAIR: Tile<Yuv8Pair, UNSCALED>::run(params, x, y, limit); break;
    case CONVERT_READ_YUV8_SPLIT: Tile<Yuv8Split, UNSCALED>::run(params, x, y, limit); break;
    case CONVERT_READ_YUV16: Tile<Yuv16, UNSCALED>::run(params, x, y, limit); break;
    case CONVERT_READ_QUAD: Tile<RgbQuad, UNSCALED>::run(params, x, y, limit); break;
    case CONVERT_READ_BYTES: Tile<RgbBytes, UNSCALED>::run(params, x, y, limit); break;
    }
}

}  // namespace

#define CONVERT_SCALED(name, width, rows, Tile)                             \
    KERNEL_TILE_ENTRY(name, ConvertParams, width, rows, params.dst_size[0], \
                      convert_tile<Tile, false>)
#define CONVERT_UNSCALED(name, rows, Tile)                                                  \
    KERNEL_TILE_ENTRY(name, ConvertParams, CONVERT_TILE_UNSCALED, rows, params.dst_size[0], \
                      convert_tile<Tile, true>)

// Device code is built one entry point at a time, with CONVERT_UNIT as its number: a driver that
// has to translate it at load then translates a tenth of a megabyte and not a whole one.
#ifdef CONVERT_UNIT
#define CONVERT_WANTS(unit) (CONVERT_UNIT == (unit))
#else
#define CONVERT_WANTS(unit) 1
#endif

#if CONVERT_WANTS(0)
CONVERT_SCALED(convert_yuv420_8_scaled, CONVERT_TILE_SCALED_YUV420, CONVERT_ROWS_YUV420,
               Yuv420Tile8)
#endif
#if CONVERT_WANTS(1)
CONVERT_UNSCALED(convert_yuv420_8_unscaled, CONVERT_ROWS_YUV420, Yuv420Tile8)
#endif
#if CONVERT_WANTS(2)
CONVERT_SCALED(convert_yuv420_16_scaled, CONVERT_TILE_SCALED_YUV420, CONVERT_ROWS_YUV420,
               Yuv420Tile16)
#endif
#if CONVERT_WANTS(3)
CONVERT_UNSCALED(convert_yuv420_16_unscaled, CONVERT_ROWS_YUV420, Yuv420Tile16)
#endif
#if CONVERT_WANTS(4)
CONVERT_SCALED(convert_packed_8_scaled, CONVERT_TILE_SCALED_RGB, CONVERT_ROWS_RGB, PackedTile)
#endif
#if CONVERT_WANTS(5)
CONVERT_UNSCALED(convert_packed_8_unscaled, CONVERT_ROWS_RGB, PackedTile)
#endif
#if CONVERT_WANTS(6)
CONVERT_SCALED(convert_planar_8_scaled, CONVERT_TILE_SCALED_RGB, CONVERT_ROWS_RGB, PlanarTile)
#endif
#if CONVERT_WANTS(7)
CONVERT_UNSCALED(convert_planar_8_unscaled, CONVERT_ROWS_RGB, PlanarTile)
#endif
