#include "pipeline/image/jpeg/restart_table.h"

#include <algorithm>
#include <functional>

#include "pipeline/image/byte_reader.h"
#include "pipeline/image/jpeg/jpeg_markers.h"

namespace penstock::image {
namespace {

constexpr int kTableMarker = jpeg_marker::kApp0 + 9;
constexpr char kMagic[] = "PSTILES";  // includes its terminating zero
constexpr uint8_t kVersion = 1;

void Append(std::string* out, size_t value, size_t bytes) {
  while (bytes-- > 0) out->push_back(static_cast<char>(value >> (8 * bytes) & 0xFF));
}

size_t Number(std::string_view bytes, size_t offset, size_t count) {
  return static_cast<size_t>(std::max<int64_t>(0, ReadBigEndian(bytes, offset, count)));
}

// ITU-T T.81, B.2.2. Reads the frame header into `grid`. Returns false if the file is unsupported.
bool TakeFrame(std::string_view payload, TileGrid* grid) {
  const size_t components = Number(payload, 5, 1);
  if (grid->width != 0 || Number(payload, 0, 1) != 8 || (components != 1 && components != 3) ||
      payload.size() != 6 + 3 * components) {
    return false;
  }
  grid->height = static_cast<int>(Number(payload, 1, 2));
  grid->width = static_cast<int>(Number(payload, 3, 2));
  grid->components = static_cast<int>(components);
  if (grid->height == 0 || grid->width == 0) return false;
  int horizontal[3] = {1, 1, 1}, vertical[3] = {1, 1, 1};
  for (size_t c = 0; c < components; ++c) {
    const int factors = static_cast<uint8_t>(payload[6 + 3 * c + 1]);
    horizontal[c] = factors >> 4;
    vertical[c] = factors & 15;
  }
  const int most_h = *std::max_element(horizontal, horizontal + 3), most_v = *std::max_element(vertical, vertical + 3);
  for (size_t c = 0; c < components; ++c) {
    if (horizontal[c] < 1 || vertical[c] < 1 || most_h > 4 || most_v > 4) return false;
    // libjpeg does not decode other factors to pixels.
    if (most_h % horizontal[c] != 0 || most_v % vertical[c] != 0) return false;
  }
  // A single component is not interleaved: its MCU is one block, whatever its factors (A.2.2).
  grid->mcu_width = 8 * (components == 1 ? 1 : most_h);
  grid->mcu_height = 8 * (components == 1 ? 1 : most_v);
  return true;
}

// ITU-T T.81, B.2.3: returns whether the scan has all components, with all frequencies and bits.
bool IsWholeScan(std::string_view payload, const TileGrid& grid) {
  const size_t components = static_cast<size_t>(grid.components);
  const size_t rest = 1 + 2 * components;
  return grid.width != 0 && payload.size() == rest + 3 && Number(payload, 0, 1) == components && payload[rest] == 0 &&
         payload[rest + 1] == 63 && payload[rest + 2] == 0;
}

// Reads the header into `grid`. Passes each segment of the table to `take`, which may reject it. Returns false if the
// file is unsupported or a segment is rejected.
template <typename Take>
bool ReadHeader(std::string_view jpeg, TileGrid* grid, const Take& take) {
  if (Slice(jpeg, 0, 2) != "\xFF\xD8") return false;
  bool have_interval = false;
  for (size_t at = 2;;) {
    const auto segment = ReadJpegSegment(jpeg, at);
    if (!segment) return false;
    at = segment->end();
    const std::string_view payload = segment->payload;
    switch (segment->marker) {
      case jpeg_marker::kBaseline:
      case jpeg_marker::kExtended:
        if (!TakeFrame(payload, grid)) return false;
        break;
      case jpeg_marker::kRestartInterval:
        if (have_interval || payload.size() != 2) return false;
        have_interval = true;
        grid->interval = static_cast<int>(Number(payload, 0, 2));
        break;
      case jpeg_marker::kStartOfScan: {
        if (!IsWholeScan(payload, *grid)) return false;
        grid->scan_at = at;
        grid->rows = (grid->height + grid->mcu_height - 1) / grid->mcu_height;
        if (grid->interval == 0) return true;
        const int across = grid->mcus_per_row();
        grid->columns = across % grid->interval == 0 ? across / grid->interval : 0;
        return true;
      }
      case jpeg_marker::kQuantTables:
      case jpeg_marker::kHuffmanTables:
      case jpeg_marker::kComment:
        break;
      default:
        if (segment->marker < jpeg_marker::kApp0 || segment->marker > jpeg_marker::kApp15) return false;
        if (IsTileTableSegment(*segment) && !take(payload)) return false;
    }
  }
}

}  // namespace

std::optional<JpegSegment> ReadJpegSegment(std::string_view jpeg, size_t at) {
  const int64_t marker = ReadBigEndian(jpeg, at, 2), length = ReadBigEndian(jpeg, at + 2, 2);
  // Markers from SOF0 to COM have a length, except RSTn, SOI and EOI.
  if (marker < 0xFFC0 || marker == 0xFFFF || (marker >= 0xFFD0 && marker <= 0xFF00 + jpeg_marker::kEndOfImage))
    return std::nullopt;
  if (length < 2 || static_cast<size_t>(length) > jpeg.size() - at - 2) return std::nullopt;
  return JpegSegment{.marker = static_cast<int>(marker & 0xFF),
                     .begin = at,
                     .payload = jpeg.substr(at + 4, static_cast<size_t>(length) - 2)};
}

bool IsTileTableSegment(const JpegSegment& segment) {
  return segment.marker == kTableMarker && Slice(segment.payload, 0, 8) == std::string_view(kMagic, 8);
}

bool TileTable::TakeSegment(std::string_view payload) {
  if (payload.size() < kTableHeaderBytes || static_cast<uint8_t>(payload[8]) != kVersion ||
      Number(payload, 9, 1) != segments_) {
    return false;
  }
  const size_t count = Number(payload, 10, 1), interval = Number(payload, 11, 2), tiles = Number(payload, 13, 4);
  if (segments_ == 0) {
    expected_segments_ = count;
    interval_ = interval;
    tiles_ = tiles;
    if (tiles == 0 || interval == 0 || count != (tiles + kTilesPerSegment - 1) / kTilesPerSegment) return false;
  }
  if (count != expected_segments_ || interval != interval_ || tiles != tiles_ || segments_ >= count) return false;
  const size_t here = std::min(kTilesPerSegment, tiles - segments_ * kTilesPerSegment);
  if (payload.size() != kTableHeaderBytes + 2 * here) return false;
  parts_[segments_++] = payload.data() + kTableHeaderBytes;
  return true;
}

bool TileTable::TotalFits(std::string_view jpeg) const {
  // At most 255 * 32758 lengths below 2^16, so the sum cannot overflow 64 bits.
  uint64_t end = grid_.scan_at + 2 * (tiles_ - 1);
  const int64_t tiles = grid_.tiles();
  for (int64_t i = 0; i < tiles; ++i) end += length(i);
  return ReadBigEndian(jpeg, end, 2) == 0xFF00 + jpeg_marker::kEndOfImage;
}

std::optional<TileTable> TileTable::Read(std::string_view jpeg) {
  TileTable table;
  const auto take = [&table](std::string_view payload) { return table.TakeSegment(payload); };
  if (!ReadHeader(jpeg, &table.grid_, take)) return std::nullopt;
  const TileGrid& grid = table.grid_;
  if (table.segments_ == 0 || table.segments_ != table.expected_segments_ || grid.columns == 0 ||
      static_cast<size_t>(grid.interval) != table.interval_ || static_cast<size_t>(grid.tiles()) != table.tiles_ ||
      !table.TotalFits(jpeg)) {
    return std::nullopt;
  }
  return table;
}

std::optional<TileGrid> ReadTileGrid(std::string_view jpeg) {
  TileGrid grid;
  if (!ReadHeader(jpeg, &grid, [](std::string_view) { return true; })) return std::nullopt;
  return grid;
}

std::string WriteTileTable(int interval, const std::vector<uint16_t>& lengths) {
  const size_t count = (lengths.size() + kTilesPerSegment - 1) / kTilesPerSegment;
  std::string out;
  if (count > kMaxTableSegments) return out;
  for (size_t segment = 0; segment < count; ++segment) {
    const size_t first = segment * kTilesPerSegment, here = std::min(kTilesPerSegment, lengths.size() - first);
    Append(&out, 0xFF00 + static_cast<size_t>(kTableMarker), 2);
    Append(&out, 2 + kTableHeaderBytes + 2 * here, 2);
    out.append(kMagic, 8);
    Append(&out, kVersion, 1);
    Append(&out, segment, 1);
    Append(&out, count, 1);
    Append(&out, static_cast<size_t>(interval), 2);
    Append(&out, lengths.size(), 4);
    for (size_t i = first; i < first + here; ++i) Append(&out, lengths[i], 2);
  }
  return out;
}

}  // namespace penstock::image
