#include "pipeline/image/restart_reader.h"

#include <algorithm>
#include <cstring>

#include "pipeline/base/check.h"
#include "pipeline/image/byte_reader.h"

namespace penstock {
namespace {

constexpr uint8_t kFirstRestart = 0xD0, kEndOfImage = 0xD9;

// The marker behind tile `tile`.
uint8_t MarkerBehind(const TileGrid& grid, int64_t tile) {
  return tile == grid.tiles() - 1 ? kEndOfImage : static_cast<uint8_t>(kFirstRestart + tile % 8);
}

void PutNumber(char* at, int value) {
  at[0] = static_cast<char>(value >> 8);
  at[1] = static_cast<char>(value & 0xFF);
}

}  // namespace

Columns NeededColumns(const Rect& rect, int image_width) {
  Columns columns{std::max(0, rect.x - kUpsamplingBorder),
                  std::min(image_width, rect.x + rect.width + kUpsamplingBorder)};
  columns.right = std::min(image_width, std::max(columns.right, columns.left + kNarrow));
  columns.left = std::max(0, std::min(columns.left, columns.right - kNarrow));
  return columns;
}

TileWindow NeededTiles(const TileGrid& grid, const Rect& rect) {
  const Columns columns = NeededColumns(rect, grid.width);
  const int tile_width = grid.mcu_width * grid.interval;
  const int top = std::max(0, rect.y - kUpsamplingBorder);
  const int bottom = std::min(grid.height, rect.y + rect.height + kUpsamplingBorder);
  return {.left = columns.left / tile_width,
          .right = (columns.right + tile_width - 1) / tile_width,
          .top = top / grid.mcu_height,
          .bottom = (bottom + grid.mcu_height - 1) / grid.mcu_height};
}

bool MarkersMatch(std::string_view jpeg, const TileTable& table, int64_t last) {
  const TileGrid& grid = table.grid();
  int64_t tile = 0;
  size_t due = grid.scan_at + table.length(0);
  // The lengths add up inside the file, and so do their first ones: `due` + 1 is inside it.
  const char* at = jpeg.data() + grid.scan_at;
  const char* const end = jpeg.data() + jpeg.size() - 1;  // a marker has two bytes
  while (at < end) {
    at = static_cast<const char*>(std::memchr(at, 0xFF, static_cast<size_t>(end - at)));
    if (at == nullptr) return false;
    const uint8_t code = static_cast<uint8_t>(at[1]);
    if (code == 0) {  // a byte 0xFF of the data, stuffed (ITU-T T.81, F.1.2.3)
      at += 2;
      continue;
    }
    if (static_cast<size_t>(at - jpeg.data()) != due || code != MarkerBehind(grid, tile)) return false;
    if (tile == last) return true;
    ++tile;
    due += 2 + table.length(tile);
    at += 2;
  }
  return false;
}

void TileCutter::Trim(size_t keep) {
  if (capacity_ <= keep) return;
  buffer_.reset();
  size_ = capacity_ = 0;
}

void TileCutter::Append(std::string_view bytes) {
  PS_CHECK(bytes.size() <= capacity_ - size_);
  std::memcpy(buffer_.get() + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
}

bool TileCutter::Cut(std::string_view jpeg, const TileTable& table, const Rect& rect, Rect* inside) {
  const TileGrid& grid = table.grid();
  const TileWindow window = NeededTiles(grid, rect);
  // A plain decode stops at the rectangle's last row by itself.
  if (window.left == 0 && window.right == grid.columns && window.top == 0) return false;
  const int64_t last = static_cast<int64_t>(window.bottom - 1) * grid.columns + window.right - 1;
  if (!MarkersMatch(jpeg, table, last)) return false;

  // What is copied is less than the file: each piece once, and a marker behind each tile.
  if (capacity_ < jpeg.size()) {
    buffer_.reset();
    buffer_ = std::make_unique_for_overwrite<char[]>(jpeg.size());
    capacity_ = jpeg.size();
  }
  size_ = 0;
  Append(jpeg.substr(0, 2));
  for (size_t at = 2; at < grid.scan_at;) {
    const auto segment = ReadJpegSegment(jpeg, at);
    PS_CHECK(segment.has_value());  // TileTable::Read saw it
    if (!IsMetadataSegment(*segment)) {
      Append(jpeg.substr(at, segment->end() - at));
      if (grid.frame_at > at && grid.frame_at < segment->end()) {
        char* const frame = buffer_.get() + size_ - (segment->end() - grid.frame_at);
        const int tile_width = grid.mcu_width * grid.interval;
        const int bottom = std::min(grid.height, window.bottom * grid.mcu_height);
        const int right = std::min(grid.width, window.right * tile_width);
        PutNumber(frame, bottom - window.top * grid.mcu_height);
        PutNumber(frame + 2, right - window.left * tile_width);
        *inside = {rect.x - window.left * tile_width, rect.y - window.top * grid.mcu_height, rect.width, rect.height};
      }
    }
    at = segment->end();
  }

  size_t from = grid.scan_at;
  int64_t tile = 0;
  const auto go_to = [&](int64_t wanted) {
    for (; tile < wanted; ++tile) from += table.length(tile) + 2;
  };
  int64_t number = 0;  // of the marker behind the next tile
  for (int row = window.top; row < window.bottom; ++row) {
    // The tiles of a row lie side by side: one copy, and the markers renumbered in it.
    const int64_t first = static_cast<int64_t>(row) * grid.columns + window.left;
    const int64_t behind = first + window.right - window.left;
    go_to(first);
    const size_t begin = from;
    go_to(behind);
    char* marker = buffer_.get() + size_;
    Append(jpeg.substr(begin, from - begin));
    for (int64_t t = first; t < behind; ++t, ++number) {
      marker += table.length(t);
      marker[1] = static_cast<char>(kFirstRestart + number % 8);
      marker += 2;
    }
  }
  buffer_[size_ - 1] = static_cast<char>(kEndOfImage);
  return true;
}

}  // namespace penstock
