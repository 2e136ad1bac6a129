// The tile table of a restart-indexed JPEG: the position of each run of MCUs between two restart markers, so that a
// crop finds its tiles without decoding the others. Pure; does not use libjpeg. For the format, byte by byte, and its
// reasons see docs/dev/restart-indexed-jpeg.md.
//
// The table is in its own APP9 segments in the header. All numbers are big-endian, like everywhere in JPEG:
//
//   offset  bytes
//     0       8    "PSTILES\0"
//     8       1    version, 1
//     9       1    number of this segment, from 0
//    10       1    number of segments
//    11       2    MCUs per tile (equal to DRI)
//    13       4    number of tiles
//    17      2n    lengths of the tiles in bytes, without the markers between them
//
// Every segment except the last holds kTilesPerSegment lengths.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_RESTART_TABLE_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_RESTART_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::image {

constexpr size_t kTableHeaderBytes = 17;
constexpr size_t kTilesPerSegment = (65533 - kTableHeaderBytes) / 2;
constexpr size_t kMaxTableSegments = 255;
// A tile's length is stored in 16 bits.
constexpr size_t kMaxTileBytes = 65535;

// One header segment of a JPEG file.
struct JpegSegment {
  int marker = 0;            // the byte after 0xFF
  size_t begin = 0;          // offset of its 0xFF
  std::string_view payload;  // the bytes after the length
  size_t end() const { return begin + 4 + payload.size(); }
};

// Returns the segment that starts exactly at `at`, or nullopt. Garbage and fill bytes between segments are not allowed.
std::optional<JpegSegment> ReadJpegSegment(std::string_view jpeg, size_t at);

// Returns whether the segment is part of a tile table, of any version, valid or not.
bool IsTileTableSegment(const JpegSegment& segment);

// The grid of a baseline or extended sequential Huffman JPEG of 8 bits with one scan. A tile is one restart interval,
// which divides the row of MCUs.
struct TileGrid {
  int width = 0, height = 0;          // the image, in pixels
  int components = 0;                 // 1 or 3
  int mcu_width = 0, mcu_height = 0;  // pixels
  int interval = 0;                   // MCUs per tile; 0: no restart markers
  int columns = 0, rows = 0;          // tiles per row of MCUs, 0 without an interval that divides it; rows of MCUs
  size_t scan_at = 0;                 // offset of the first entropy-coded byte

  int mcus_per_row() const { return (width + mcu_width - 1) / mcu_width; }
  int64_t tiles() const { return static_cast<int64_t>(columns) * rows; }
};

// The grid and the tile table of a restart-indexed JPEG. Holds views; neither copies nor allocates.
class TileTable {
 public:
  // Reads only the header, and checks that the lengths end exactly at the end-of-image marker. Returns nullopt if the
  // file is of another kind, has no table, or its table deviates in any way from the format above.
  static std::optional<TileTable> Read(std::string_view jpeg);

  const TileGrid& grid() const { return grid_; }
  size_t length(int64_t tile) const {
    const size_t i = static_cast<size_t>(tile);
    const char* at = parts_[i / kTilesPerSegment] + 2 * (i % kTilesPerSegment);
    return static_cast<size_t>(static_cast<uint8_t>(at[0])) << 8 | static_cast<uint8_t>(at[1]);
  }

 private:
  bool TakeSegment(std::string_view payload);
  bool TotalFits(std::string_view jpeg) const;

  TileGrid grid_;
  size_t segments_ = 0, expected_segments_ = 0;
  size_t interval_ = 0, tiles_ = 0;  // as stated in the table
  std::array<const char*, kMaxTableSegments> parts_;
};

// Returns the grid of a JPEG of the kind that TileGrid describes, with any restart interval and with or without a
// table. Returns nullopt for other files.
std::optional<TileGrid> ReadTileGrid(std::string_view jpeg);

// Returns the segments of a table with their markers, or "" if 255 segments cannot hold all tiles.
std::string WriteTileTable(int interval, const std::vector<uint16_t>& lengths);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_RESTART_TABLE_H_
