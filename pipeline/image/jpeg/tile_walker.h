// Finds the tiles of a restart-indexed JPEG, and believes its table only as far as the file's markers bear it out.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_TILE_WALKER_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_TILE_WALKER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pipeline/image/jpeg/restart_table.h"

namespace penstock {

class TileWalker {
 public:
  // Both outlive the walk. The table is the file's (TileTable::Read).
  void Start(std::string_view jpeg, const TileTable* table);

  // Offset of the tile's first byte. Tiles are asked for in rising order. Nothing when, between the start of the scan
  // and the tile's end, there is a marker that is not the one that the table says, at its place and with its number:
  // only then is every tile up to there what a decoder of the whole file sees.
  std::optional<size_t> GoTo(int64_t tile);

 private:
  std::string_view jpeg_;
  const TileTable* table_ = nullptr;
  size_t at_ = 0;     // looked at up to here
  int64_t tile_ = 0;  // the first tile whose end was not seen
  size_t begin_ = 0;  // where it begins
};

// Whether GoTo finds every tile up to `last`.
bool MarkersMatch(std::string_view jpeg, const TileTable& table, int64_t last);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_TILE_WALKER_H_
