// The tile table of a restart-indexed JPEG: where each run of MCUs between two restart markers lies, so that a crop
// finds its own without reading the others. Pure bytes, no libjpeg. The format, byte by byte, with the reasons:
// docs/restart-indexed-jpeg.md.
//
// The table lies in APP9 segments of its own in the header. All numbers are big-endian, as everywhere in JPEG:
//
//   offset  bytes
//     0       8    "PSTILES\0"
//     8       1    version, 1
//     9       1    number of this segment, from 0
//    10       1    number of segments
//    11       2    MCUs in a tile (what DRI says)
//    13       4    number of tiles
//    17      2n    lengths of the tiles' bytes, without the markers between them
//
// Every segment but the last holds kTilesPerSegment lengths.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_RESTART_TABLE_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_RESTART_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

constexpr size_t kTableHeaderBytes = 17;
constexpr size_t kTilesPerSegment = (65533 - kTableHeaderBytes) / 2;
constexpr size_t kMaxTableSegments = 255;
// A tile's length is a u16.
constexpr size_t kMaxTileBytes = 65535;

// One header segment of a JPEG file.
struct JpegSegment {
  int marker = 0;            // the byte behind 0xFF
  size_t begin = 0;          // of its 0xFF
  std::string_view payload;  // behind the length
  size_t end() const { return begin + 4 + payload.size(); }
};

// The segment that starts exactly at `at`, or nothing: no garbage and no fill bytes between segments.
std::optional<JpegSegment> ReadJpegSegment(std::string_view jpeg, size_t at);

// Whether it is a part of a tile table, of any version, sound or not.
bool IsTileTableSegment(const JpegSegment& segment);

// A baseline or extended sequential Huffman JPEG with one scan and a restart interval that divides the MCU row. A tile
// is one restart interval.
struct TileGrid {
  int width = 0, height = 0;          // of the image, pixels
  int components = 0;                 // 1 or 3
  int mcu_width = 0, mcu_height = 0;  // pixels
  int interval = 0;                   // MCUs in a tile; 0: no restart markers (then columns is 0)
  int columns = 0, rows = 0;          // tiles in a row of MCUs; rows of MCUs
  size_t scan_at = 0;                 // offset of the first entropy-coded byte

  int mcus_per_row() const { return (width + mcu_width - 1) / mcu_width; }
  int64_t tiles() const { return static_cast<int64_t>(columns) * rows; }
};

// Such a file's grid and, where it has one, its table. Views: nothing is copied, nothing allocated.
class TileTable {
 public:
  // Reads the header alone, and checks that the lengths end exactly at the end-of-image marker. Nothing when the file
  // is not of that kind, or has no table, or one that is in any way not as written here.
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
  size_t interval_ = 0, tiles_ = 0;  // as the table says
  std::array<const char*, kMaxTableSegments> parts_;
};

// The grid of such a file, with or without restart markers and table, and nothing of any other kind.
std::optional<TileGrid> ReadTileGrid(std::string_view jpeg);

// The segments of a table, with their markers, or "" when there are more tiles than 255 segments hold.
std::string WriteTileTable(int interval, const std::vector<uint16_t>& lengths);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_RESTART_TABLE_H_
