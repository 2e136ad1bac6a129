// Pillow's antialiased resize for a source that arrives row by row. It filters each strip of rows on arrival. For the
// vertical pass it keeps the input rows that pending outputs need, and at most two more strips.
#ifndef PENSTOCK_PIPELINE_IMAGE_RESIZE_PIL_ROWS_H_
#define PENSTOCK_PIPELINE_IMAGE_RESIZE_PIL_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/image/image_sink.h"
#include "pipeline/image/image_view.h"
#include "pipeline/image/resize/quad_passes.h"
#include "pipeline/image/resize/quad_table.h"
#include "pipeline/image/resize/resize_filter.h"
#include "pipeline/image/resize/resize_passes.h"
#include "pipeline/image/resize/resize_plan.h"

namespace penstock::image {

// Reuses the memory of its tables and rows for the next image. Not thread-safe.
class PilRows final : public ImageSink {
 public:
  // If `quads` is true, uses the passes that filter four taps at a time (quad_passes.h) where they apply. Only tests
  // set `quads`.
  explicit PilRows(bool quads = HasQuadPasses()) : quads_(quads) {}

  // Returns an upper bound of held_bytes() after images with the sizes of `plan`. The position of the window in the
  // result does not matter.
  static size_t Bytes(const ResizePlan& plan, int channels);

  // Starts an image. The caller then passes the rows of SourceNeeded(plan) to Rows(), each with the width of
  // SourceNeeded(plan). Rows() writes plan.window to `out`, whose rows are `stride` bytes apart, and leaves the bytes
  // between them unchanged. `out` must stay valid until Done(). Requires TakesRows(plan) and 1 or 3 channels.
  void Start(const ResizePlan& plan, int channels, uint8_t* out, size_t stride);

  void Rows(const ImageView& rows) override;
  void Restart() override;

  // Returns whether Rows() has written the whole window.
  bool Done() const { return next_ == plan_.window.height; }

  // Returns the bytes of its tables and rows.
  size_t held_bytes() const;

 private:
  void StartColumns();
  void StartRows();
  void FilterColumns(const ImageView& source, uint8_t* out, size_t stride);
  // Row 0 of `source` is row `first` of the needed rows.
  void FilterRows(OutputRange range, const ImageView& source, int first, uint8_t* out, size_t stride);

  void TakeStrip(const ImageView& strip);
  // Returns the memory for the next `count` rows to keep. Drops rows that no pending output needs.
  uint8_t* MakeRoom(int count);
  // Writes the pending outputs that need no rows after the last row of `source`. Row 0 of `source` is row `first` of
  // the needed rows.
  void FinishRows(const ImageView& source, int first);
  uint8_t* OutputRow(int y) const { return out_ + static_cast<size_t>(y) * stride_; }

  const bool quads_;
  ResizePlan plan_;
  Rect needed_;
  size_t needed_row_ = 0;  // bytes
  int channels_ = 0;
  size_t ahead_ = 0;  // prefetch distance in bytes from the filtered rows
  uint8_t* out_ = nullptr;
  size_t stride_ = 0;
  // An axis needs no pass if box and result have the same size. `rows_first_`: the vertical pass runs first.
  bool filter_columns_ = false, filter_rows_ = false, rows_first_ = false;
  FilterTable columns_, rows_;
  // Tables of the passes in use: quads (four taps at a time) where `quad_columns_` and `quad_rows_` are true, otherwise
  // pairs (two taps).
  bool quad_columns_ = false, quad_rows_ = false;
  QuadTable column_quads_, row_quads_;
  QuadColumns gathers_;
  PairTable column_pairs_, row_pairs_;
  std::vector<uint8_t> padded_;

  int next_ = 0;  // next row of the window
  // Input rows of the vertical pass: `count_` rows, beginning with row `first_` of the needed rows. The memory has room
  // for `capacity_` rows.
  std::vector<uint8_t> kept_;
  size_t kept_row_ = 0;  // bytes
  int kept_width_ = 0, first_ = 0, count_ = 0, capacity_ = 0;
  std::vector<uint8_t> half_;  // outputs of the vertical pass, if it runs first
};

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_RESIZE_PIL_ROWS_H_
