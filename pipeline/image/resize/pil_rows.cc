#include "pipeline/image/resize/pil_rows.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "pipeline/image/copy_rows.h"

namespace penstock::image {
namespace {

// Rows that are filtered at a time: a multiple of the rows that the loop of the horizontal pass filters at once, and
// few enough for the CPU's cache.
constexpr int kStripRows = 16;
constexpr size_t kRowsAhead = 8;

// Returns whether the vertical pass runs first. The order decides the last bit, because the intermediate image has 8
// bits. Follows Pillow 13 (its ImagingResampleInner): the vertical pass runs first if the height shrinks by more
// than twice as many pixels as the width. Before version 13, Pillow always runs the horizontal pass first.
bool RowsFirst(const ResizePlan& plan) {
  const int64_t shorter = int64_t{plan.box_height} - plan.out_height;
  const int64_t narrower = int64_t{plan.box_width} - plan.out_width;
  return shorter > 0 && shorter > 2 * narrower;
}

void Grow(std::vector<uint8_t>* bytes, size_t size) {
  if (bytes->size() < size) bytes->resize(size);
}

}  // namespace

size_t PilRows::Bytes(const ResizePlan& plan, int channels) {
  const size_t column_taps = static_cast<size_t>(FilterTaps(plan.filter, plan.box_width, plan.out_width));
  const size_t row_taps = static_cast<size_t>(FilterTaps(plan.filter, plan.box_height, plan.out_height));
  const size_t tables =
      2 * (FilterTableBytes(plan.filter, plan.box_width, plan.out_width, plan.window.width) +
           FilterTableBytes(plan.filter, plan.box_height, plan.out_height, plan.window.height)) +
      static_cast<size_t>(plan.window.width + plan.window.height) * 64 +
      QuadTableBytes(static_cast<size_t>(plan.window.width), column_taps, static_cast<size_t>(channels)) +
      QuadTableBytes(static_cast<size_t>(plan.window.height), row_taps, 0);
  const size_t row =
      static_cast<size_t>(std::max(plan.box_width, plan.window.width)) * static_cast<size_t>(channels) + 512;
  // Kept rows, outputs of the vertical pass, padded rows. Vectors may hold up to twice the requested size.
  return 2 * (tables + row * (row_taps + 3 * kStripRows + 4));
}

size_t PilRows::held_bytes() const {
  return columns_.held_bytes() + rows_.held_bytes() + column_quads_.held_bytes() + row_quads_.held_bytes() +
         gathers_.held_bytes() + column_pairs_.held_bytes() + row_pairs_.held_bytes() + padded_.capacity() +
         kept_.capacity() + half_.capacity();
}

void PilRows::StartColumns() {
  const Rect& window = plan_.window;
  BuildFilterTable(plan_.filter, plan_.box_width, plan_.out_width, window.x, window.x + window.width, plan_.flip,
                   &columns_);
  for (int32_t& first : columns_.first) first -= needed_.x;
  quad_columns_ = quads_ && BuildQuadTable(columns_, &column_quads_) &&
                  BuildQuadColumns(columns_, column_quads_, channels_, needed_row_, &gathers_);
  if (!quad_columns_) BuildPairTable(columns_, HorizontalGroup(channels_), &column_pairs_);
}

void PilRows::StartRows() {
  const Rect& window = plan_.window;
  BuildFilterTable(plan_.filter, plan_.box_height, plan_.out_height, window.y, window.y + window.height, false, &rows_);
  for (int32_t& first : rows_.first) first -= needed_.y;
  kept_width_ = rows_first_ ? needed_.width : window.width;
  kept_row_ = static_cast<size_t>(kept_width_) * static_cast<size_t>(channels_);
  quad_rows_ = quads_ && kept_row_ >= kQuadRowBytes && BuildQuadTable(rows_, &row_quads_);
  if (!quad_rows_) BuildPairTable(rows_, 1, &row_pairs_);
  // Room for the rows that one output needs and for two strips, so that MakeRoom() moves the kept rows to the front
  // only for every second strip.
  capacity_ = std::min(rows_.taps, needed_.height) + 2 * kStripRows;
  Grow(&kept_, static_cast<size_t>(capacity_) * kept_row_);
  if (rows_first_) Grow(&half_, kStripRows * kept_row_);
}

void PilRows::Start(const ResizePlan& plan, int channels, uint8_t* out, size_t stride) {
  PS_CHECK(TakesRows(plan));
  plan_ = plan;
  needed_ = SourceNeeded(plan);
  channels_ = channels;
  needed_row_ = static_cast<size_t>(needed_.width) * static_cast<size_t>(channels);
  out_ = out;
  stride_ = stride;
  filter_columns_ = plan.box_width != plan.out_width;
  filter_rows_ = plan.box_height != plan.out_height;
  rows_first_ = filter_columns_ && filter_rows_ && RowsFirst(plan);
  if (filter_columns_) StartColumns();
  if (filter_rows_) StartRows();
  Restart();
}

void PilRows::Restart() { next_ = first_ = count_ = 0; }

void PilRows::FilterColumns(const ImageView& source, uint8_t* out, size_t stride) {
  if (quad_columns_) {
    HorizontalQuads(gathers_, source, ahead_, out, stride);
  } else {
    HorizontalPass(columns_, column_pairs_, source, out, stride, &padded_);
  }
}

void PilRows::FilterRows(OutputRange range, const ImageView& source, int first, uint8_t* out, size_t stride) {
  if (quad_rows_) {
    VerticalQuads(rows_, row_quads_, range, source, first, out, stride);
  } else {
    VerticalPass(rows_, row_pairs_, range, source, first, out, stride);
  }
}

void PilRows::Rows(const ImageView& rows) {
  PS_CHECK(rows.width == needed_.width && rows.channels == channels_);
  if (rows_first_ && first_ + count_ == 0 && rows.height == needed_.height) {
    ahead_ = 0;
    FinishRows(rows, 0);  // all rows are available: none need be kept
    return;
  }
  // More rows than a decoder passes at once come from an image in memory. The CPU prefetches its next bytes, but not
  // its next rows.
  ahead_ = rows.height > kStripRows ? kRowsAhead * rows.stride : 0;
  for (int y = 0; y < rows.height; y += kStripRows) {
    TakeStrip(rows.Crop({0, y, rows.width, std::min(kStripRows, rows.height - y)}));
  }
}

void PilRows::TakeStrip(const ImageView& strip) {
  if (!filter_rows_) {
    PS_CHECK(next_ + strip.height <= plan_.window.height);
    if (filter_columns_) {
      FilterColumns(strip, OutputRow(next_), stride_);
    } else {
      CopyRows(strip, plan_.flip, OutputRow(next_), stride_);
    }
    next_ += strip.height;
    return;
  }
  PS_CHECK(first_ + count_ + strip.height <= needed_.height);
  uint8_t* const to = MakeRoom(strip.height);
  if (filter_columns_ && !rows_first_) {
    FilterColumns(strip, to, kept_row_);
  } else {
    CopyRows(strip, plan_.flip && !filter_columns_, to, kept_row_);
  }
  count_ += strip.height;
  FinishRows({kept_.data(), kept_width_, count_, channels_, kept_row_}, first_);
}

uint8_t* PilRows::MakeRoom(int count) {
  if (count_ + count > capacity_) {
    const int wanted = Done() ? first_ + count_ : rows_.first[static_cast<size_t>(next_)];
    const int dropped = std::clamp(wanted - first_, 0, count_);
    first_ += dropped;
    count_ -= dropped;
    std::memmove(kept_.data(), kept_.data() + static_cast<size_t>(dropped) * kept_row_,
                 static_cast<size_t>(count_) * kept_row_);
    PS_CHECK(count_ + count <= capacity_);
  }
  return kept_.data() + static_cast<size_t>(count_) * kept_row_;
}

void PilRows::FinishRows(const ImageView& source, int first) {
  const auto ready = [this, &source, first](int y) {
    const size_t i = static_cast<size_t>(y);
    return y < plan_.window.height && rows_.first[i] + rows_.count[i] <= first + source.height;
  };
  while (ready(next_)) {
    int end = next_ + 1;
    while (end < next_ + kStripRows && ready(end)) ++end;
    const OutputRange range{next_, end};
    if (rows_first_) {
      FilterRows(range, source, first, half_.data(), kept_row_);
      FilterColumns({half_.data(), kept_width_, end - next_, channels_, kept_row_}, OutputRow(next_), stride_);
    } else {
      FilterRows(range, source, first, OutputRow(next_), stride_);
    }
    next_ = end;
  }
}

}  // namespace penstock::image
