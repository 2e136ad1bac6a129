#include "pipeline/image/png/png_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "pipeline/image/png/exact_buffer.h"
#include "pipeline/image/png/png_filter.h"
#include "pipeline/image/png/png_store.h"

namespace penstock::image {
namespace {

// The rows that a resize takes at once.
constexpr int kStripRows = 16;

size_t StripBytes(int width, int height, int channels) {
  return static_cast<size_t>(width) * static_cast<size_t>(std::min(height, kStripRows) * channels);
}

}  // namespace

size_t PngReader::Bytes(const ImageHeader& header) {
  // The maximum for any depth: four values of 16 bits.
  const size_t row = static_cast<size_t>(header.width) * 8 + 1;
  return sizeof(PngReader) + Inflater::Bytes(2 * row) + 3 * (row + kPngFilterMargin) +
         StripBytes(header.width, kStripRows, 3);
}

bool PngReader::Read(std::string_view png, const ImageHeader& header, const Rect& rect, int channels, ImageSink* sink,
                     bool classes) {
  const std::optional<PngLayout> layout = ReadPngLayout(png);
  if (!layout || layout->interlaced || layout->width != header.width || layout->height != header.height) return false;
  const size_t row = 1 + layout->RowBytes(static_cast<size_t>(layout->width));
  const int end = rect.y + rect.height;
  PngData data(png);
  if (inflater_ == nullptr) inflater_ = std::make_unique<Inflater>();
  inflater_->Start(&data, 2 * row, row * static_cast<size_t>(end), end == layout->height);
  return ReadRows(*layout, rect, channels, classes, sink) && (end < layout->height || inflater_->Finish());
}

bool PngReader::ReadRows(const PngLayout& layout, const Rect& rect, int channels, bool classes, ImageSink* sink) {
  const size_t stored = 1 + layout.RowBytes(static_cast<size_t>(layout.width));
  // No pixel depends on pixels to its right.
  const size_t needed = layout.RowBytes(static_cast<size_t>(rect.x + rect.width)), step = layout.FilterStep();
  const size_t row_bytes = needed + kPngFilterMargin;
  ResizeExactly(&rows_, 3 * row_bytes);
  uint8_t *above = rows_.data(), *row = above + row_bytes, *below = row + row_bytes;
  std::memset(above, 0, needed);
  ResizeExactly(&strip_, StripBytes(rect.width, rect.height, channels));
  const size_t out_bytes = static_cast<size_t>(rect.width) * static_cast<size_t>(channels);
  const int end = rect.y + rect.height;
  int in_strip = 0;
  for (int y = 0; y < end;) {
    const int rows = std::min(2, end - y);
    const uint8_t* const upper = inflater_->Take(static_cast<size_t>(rows) * stored);
    if (upper == nullptr || *upper >= kPngFilters) return false;
    if (rows == 2) {
      const uint8_t* const lower = upper + stored;
      if (*lower >= kPngFilters) return false;
      UndoPngFilters(step, upper, lower, above, needed, row, below);
    } else {
      UndoPngFilter(*upper, step, upper + 1, above, needed, row);
    }
    for (const uint8_t* done : {row, below}) {
      if (y == end) break;
      if (y++ < rect.y) continue;
      uint8_t* const out = strip_.data() + static_cast<size_t>(in_strip) * out_bytes;
      StorePngPixels(layout, done, rect.x, rect.width, channels, classes, 1, out);
      if (++in_strip < kStripRows && y < end) continue;
      sink->Rows({strip_.data(), rect.width, in_strip, channels, out_bytes});
      in_strip = 0;
    }
    std::swap(above, below);
  }
  return true;
}

}  // namespace penstock::image
