// Copies of pixel rows.
#ifndef PENSTOCK_PIPELINE_IMAGE_COPY_ROWS_H_
#define PENSTOCK_PIPELINE_IMAGE_COPY_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "pipeline/image/image_sink.h"
#include "pipeline/image/image_view.h"

namespace penstock::image {

// Copies the rows of `image` to `out`, `stride` bytes apart. If `mirror` is set, mirrors each row left to right, which
// requires 1 or 3 channels. The memory must not overlap.
void CopyRows(const ImageView& image, bool mirror, uint8_t* out, size_t stride);

// Copies the rows that it receives to `out`, one below the other, `stride` bytes apart.
class ImageCopier final : public ImageSink {
 public:
  ImageCopier(uint8_t* out, size_t stride) : out_(out), stride_(stride), next_(out) {}

  void Rows(const ImageView& rows) override;
  void Restart() override { next_ = out_; }

 private:
  uint8_t* const out_;
  const size_t stride_;
  uint8_t* next_;
};

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_COPY_ROWS_H_
