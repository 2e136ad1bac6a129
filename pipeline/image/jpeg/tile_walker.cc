#include "pipeline/image/jpeg/tile_walker.h"

#include <cstring>

namespace penstock {
namespace {

constexpr uint8_t kFirstRestart = 0xD0, kEndOfImage = 0xD9;

// The marker behind tile `tile`.
uint8_t MarkerBehind(const TileGrid& grid, int64_t tile) {
  return tile == grid.tiles() - 1 ? kEndOfImage : static_cast<uint8_t>(kFirstRestart + tile % 8);
}

}  // namespace

void TileWalker::Start(std::string_view jpeg, const TileTable* table) {
  jpeg_ = jpeg;
  table_ = table;
  at_ = begin_ = table->grid().scan_at;
  tile_ = 0;
}

std::optional<size_t> TileWalker::GoTo(int64_t tile) {
  const TileGrid& grid = table_->grid();
  if (tile < tile_ || tile >= grid.tiles()) return std::nullopt;
  const char* at = jpeg_.data() + at_;
  // A marker has two bytes. The lengths add up inside the file, and so do their first ones.
  const char* const end = jpeg_.data() + jpeg_.size() - 1;
  while (at < end) {
    at = static_cast<const char*>(std::memchr(at, 0xFF, static_cast<size_t>(end - at)));
    if (at == nullptr) return std::nullopt;
    const uint8_t code = static_cast<uint8_t>(at[1]);
    if (code != 0) {  // else a byte 0xFF of the data, stuffed (ITU-T T.81, F.1.2.3)
      const size_t due = begin_ + table_->length(tile_);
      if (static_cast<size_t>(at - jpeg_.data()) != due || code != MarkerBehind(grid, tile_)) return std::nullopt;
      const size_t begin = begin_;
      begin_ = due + 2;
      at_ = due + 2;
      if (tile_++ == tile) return begin;
    }
    at += 2;
  }
  return std::nullopt;
}

bool MarkersMatch(std::string_view jpeg, const TileTable& table, int64_t last) {
  TileWalker walker;
  walker.Start(jpeg, &table);
  return walker.GoTo(last).has_value();
}

}  // namespace penstock
