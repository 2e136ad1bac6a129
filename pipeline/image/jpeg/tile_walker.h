// Finds the tiles of a restart-indexed JPEG. Trusts its table only as far as the markers of the file confirm it.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_TILE_WALKER_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_TILE_WALKER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pipeline/image/jpeg/restart_table.h"

namespace penstock::image {

class TileWalker {
 public:
  // Starts a walk. `table` is the file's (TileTable::Read). Both arguments must outlive the walk.
  void Start(std::string_view jpeg, const TileTable* table);

  // Returns the offset of the tile's first byte. The tiles of successive calls must ascend. Returns nullopt if they do
  // not, or if a marker from the start of the scan to the tile's end differs from the table in its position or number.
  // Only if all match does a decoder of the whole file see the same tiles.
  std::optional<size_t> GoTo(int64_t tile);

 private:
  std::string_view jpeg_;
  const TileTable* table_ = nullptr;
  size_t at_ = 0;     // the bytes before this offset were scanned
  int64_t tile_ = 0;  // the first tile whose end was not reached
  size_t begin_ = 0;  // its first byte
};

// Returns whether GoTo finds every tile up to `last`.
bool MarkersMatch(std::string_view jpeg, const TileTable& table, int64_t last);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_TILE_WALKER_H_
