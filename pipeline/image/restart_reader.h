// Cuts a small JPEG out of a restart-indexed one: the tiles that a crop needs, and nothing else.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESTART_READER_H_
#define PENSTOCK_PIPELINE_IMAGE_RESTART_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "pipeline/image/image_view.h"
#include "pipeline/image/restart_table.h"

namespace penstock {

// Fancy upsampling looks one chroma sample to each side: at most two pixels. Images and crops narrower than kNarrow
// columns are not cropped horizontally: below three chroma columns libjpeg changes its upsampler.
constexpr int kUpsamplingBorder = 2;
constexpr int kNarrow = 64;

// The columns [left, right) that a decode of `rect`'s columns needs, at least kNarrow of them where there are so many.
struct Columns {
  int left = 0, right = 0;
};
Columns NeededColumns(const Rect& rect, int image_width);

// The tiles that `rect`, inside the image, needs.
struct TileWindow {
  int left = 0, right = 0;  // columns of tiles
  int top = 0, bottom = 0;  // rows of MCUs
};
TileWindow NeededTiles(const TileGrid& grid, const Rect& rect);

// Whether the markers in the scan, from its start to the end of tile `last`, are the restart markers that the table
// says, at their places and with their numbers. Every tile up to there is then what a decoder of the whole file sees.
bool MarkersMatch(std::string_view jpeg, const TileTable& table, int64_t last);

// One small JPEG. One per thread; keeps its memory from image to image.
class TileCutter {
 public:
  // Makes the small file of the tiles that `rect` needs, where it lies inside the image; `inside` is where `rect` lies
  // in that. False when there is nothing to gain (the plain decode of the rectangle reads the same tiles), or when the
  // markers that count are not the table's.
  bool Cut(std::string_view jpeg, const TileTable& table, const Rect& rect, Rect* inside);

  // Of the last Cut; valid until the next.
  std::string_view small_file() const { return {buffer_.get(), size_}; }
  // At most the length of the longest file seen since the last Trim.
  size_t held_bytes() const { return capacity_; }
  // Gives the memory back when it is more than `keep` bytes.
  void Trim(size_t keep);

 private:
  void Append(std::string_view bytes);

  std::unique_ptr<char[]> buffer_;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_RESTART_READER_H_
