#include "pipeline/image/jpeg/tile_walker.h"

#include "pipeline/image/jpeg/jpeg_markers.h"
#include "pipeline/image/jpeg/marker_scan.h"

namespace penstock::image {
namespace {

// Returns the marker that follows tile `tile`.
uint8_t MarkerBehind(const TileGrid& grid, int64_t tile) {
  return static_cast<uint8_t>(tile == grid.tiles() - 1 ? jpeg_marker::kEndOfImage
                                                       : jpeg_marker::kFirstRestart + tile % 8);
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
  const uint8_t* const data = reinterpret_cast<const uint8_t*>(jpeg_.data());
  // A marker has two bytes. TileTable::Read checked that the lengths end inside the file.
  const uint8_t* const end = data + jpeg_.size() - 1;
  for (const uint8_t* at = data + at_; at < end; at += 2) {
    at = FindMarker(at, end);
    const size_t due = begin_ + table_->length(tile_);
    if (at == end || static_cast<size_t>(at - data) != due || at[1] != MarkerBehind(grid, tile_)) break;
    const size_t begin = begin_;
    begin_ = at_ = due + 2;
    if (tile_++ == tile) return begin;
  }
  return std::nullopt;
}

bool MarkersMatch(std::string_view jpeg, const TileTable& table, int64_t last) {
  TileWalker walker;
  walker.Start(jpeg, &table);
  return walker.GoTo(last).has_value();
}

}  // namespace penstock::image
