#include "pipeline/image/resize/pil_rows.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "pipeline/image/copy_rows.h"

namespace penstock {
namespace {

// Rows that go through a pass at once: a multiple of what the horizontal pass takes, few enough for the cache.
constexpr int kStripRows = 16;

// Which pass comes first decides the last bit, because the image between them has 8 bits. As Pillow 13 (its
// ImagingResampleInner): the rows, when the height shrinks by more than twice what the width does. Pillow before
// 13 always took the columns first.
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
  const size_t tables = 2 * (FilterTableBytes(plan.filter, plan.box_width, plan.out_width, plan.window.width) +
                             FilterTableBytes(plan.filter, plan.box_height, plan.out_height, plan.window.height)) +
                        static_cast<size_t>(plan.window.width + plan.window.height) * 64;
  const size_t row =
      static_cast<size_t>(std::max(plan.box_width, plan.window.width)) * static_cast<size_t>(channels) + 512;
  const size_t taps = static_cast<size_t>(FilterTaps(plan.filter, plan.box_height, plan.out_height));
  // Kept rows, outputs of the vertical pass, padded rows. Vectors may hold up to twice what was asked for.
  return 2 * (tables + row * (taps + 3 * kStripRows + 4));
}

size_t PilRows::held_bytes() const {
  return columns_.held_bytes() + rows_.held_bytes() + column_pairs_.held_bytes() + row_pairs_.held_bytes() +
         padded_.capacity() + kept_.capacity() + half_.capacity();
}

void PilRows::Start(const ResizePlan& plan, int channels, uint8_t* out, size_t stride) {
  PS_CHECK(TakesRows(plan));
  plan_ = plan;
  needed_ = SourceNeeded(plan);
  channels_ = channels;
  out_ = out;
  stride_ = stride;
  const Rect& window = plan.window;
  filter_columns_ = plan.box_width != plan.out_width;
  filter_rows_ = plan.box_height != plan.out_height;
  rows_first_ = filter_columns_ && filter_rows_ && RowsFirst(plan);
  if (filter_columns_) {
    BuildFilterTable(plan.filter, plan.box_width, plan.out_width, window.x, window.x + window.width, plan.flip,
                     &columns_);
    for (int32_t& first : columns_.first) first -= needed_.x;
    BuildPairTable(columns_, HorizontalGroup(channels), &column_pairs_);
  }
  if (filter_rows_) {
    BuildFilterTable(plan.filter, plan.box_height, plan.out_height, window.y, window.y + window.height, false, &rows_);
    for (int32_t& first : rows_.first) first -= needed_.y;
    BuildPairTable(rows_, 1, &row_pairs_);
    kept_width_ = rows_first_ ? needed_.width : window.width;
    kept_row_ = static_cast<size_t>(kept_width_) * static_cast<size_t>(channels);
    // What an output waits for, and two strips: rows are moved up once in two strips.
    capacity_ = std::min(rows_.taps, needed_.height) + 2 * kStripRows;
    Grow(&kept_, static_cast<size_t>(capacity_) * kept_row_);
    if (rows_first_) Grow(&half_, kStripRows * kept_row_);
  }
  Restart();
}

void PilRows::Restart() { next_ = first_ = count_ = 0; }

void PilRows::Rows(const ImageView& rows) {
  PS_CHECK(rows.width == needed_.width && rows.channels == channels_);
  for (int y = 0; y < rows.height; y += kStripRows) {
    TakeStrip(rows.Crop({0, y, rows.width, std::min(kStripRows, rows.height - y)}));
  }
}

void PilRows::TakeStrip(const ImageView& strip) {
  if (!filter_rows_) {
    PS_CHECK(next_ + strip.height <= plan_.window.height);
    if (filter_columns_) {
      HorizontalPass(columns_, column_pairs_, strip, OutputRow(next_), stride_, &padded_);
    } else {
      CopyRows(strip, plan_.flip, OutputRow(next_), stride_);
    }
    next_ += strip.height;
    return;
  }
  PS_CHECK(first_ + count_ + strip.height <= needed_.height);
  uint8_t* const to = MakeRoom(strip.height);
  if (filter_columns_ && !rows_first_) {
    HorizontalPass(columns_, column_pairs_, strip, to, kept_row_, &padded_);
  } else {
    CopyRows(strip, plan_.flip && !filter_columns_, to, kept_row_);
  }
  count_ += strip.height;
  FinishRows();
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

void PilRows::FinishRows() {
  const auto ready = [this](int y) {
    const size_t i = static_cast<size_t>(y);
    return y < plan_.window.height && rows_.first[i] + rows_.count[i] <= first_ + count_;
  };
  const ImageView kept{kept_.data(), kept_width_, count_, channels_, kept_row_};
  while (ready(next_)) {
    int end = next_ + 1;
    while (end < next_ + kStripRows && ready(end)) ++end;
    const OutputRange range{next_, end};
    if (rows_first_) {
      VerticalPass(rows_, row_pairs_, range, kept, first_, half_.data(), kept_row_);
      const ImageView half{half_.data(), kept_width_, end - next_, channels_, kept_row_};
      HorizontalPass(columns_, column_pairs_, half, OutputRow(next_), stride_, &padded_);
    } else {
      VerticalPass(rows_, row_pairs_, range, kept, first_, OutputRow(next_), stride_);
    }
    next_ = end;
  }
}

}  // namespace penstock
