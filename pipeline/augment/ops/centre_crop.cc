// centre_crop: torchvision's center_crop. Offsets are round((side - crop) / 2), ties to even; a side smaller than the
// crop is padded with 0, (crop - side) / 2 pixels (rounded down) on the left or top.
#include <algorithm>
#include <cstring>

#include "pipeline/augment/ops/geometry.h"
#include "pipeline/augment/ops/ops.h"
#include "pipeline/base/status_macros.h"

namespace penstock {
namespace {

// round(n / 2), ties to even, for n >= 0.
int HalfRoundedEven(int n) { return n / 2 + (n % 4 == 3 ? 1 : 0); }

class CentreCropOp final : public Op {
 public:
  CentreCropOp(int width, int height) : width_(width), height_(height) {}

  absl::Status Apply(OpContext* context, Value* value) const override {
    LazyImage& image = value->image;
    const int width = std::min(width_, image.width()), height = std::min(height_, image.height());
    image.Crop({HalfRoundedEven(image.width() - width), HalfRoundedEven(image.height() - height), width, height});
    if (width == width_ && height == height_) return absl::OkStatus();
    return Pad(context, &image);
  }

 private:
  absl::Status Pad(OpContext* context, LazyImage* image) const {
    PS_RETURN_IF_ERROR(context->Realise(image));
    const int channels = image->channels();
    const size_t row = static_cast<size_t>(width_) * static_cast<size_t>(channels);
    uint8_t* canvas = context->Output(row * static_cast<size_t>(height_));
    if (!context->dry()) {
      const ImageView& view = image->view();
      const int left = (width_ - view.width) / 2, top = (height_ - view.height) / 2;
      std::memset(canvas, 0, row * static_cast<size_t>(height_));
      for (int y = 0; y < view.height; ++y) {
        std::memcpy(
            canvas + static_cast<size_t>(top + y) * row + static_cast<size_t>(left) * static_cast<size_t>(channels),
            view.row(y), view.row_bytes());
      }
    }
    *image = LazyImage::InMemory({canvas, width_, height_, channels, row});
    return absl::OkStatus();
  }

  const int width_, height_;
};

}  // namespace

std::unique_ptr<Op> MakeCentreCrop(const OpSetup& setup, ValueType* output) {
  const size_t before = setup.errors->size();
  if (!setup.input.IsImage()) setup.WrongInput("a uint8 image; put decode_image before it");
  const v1::CentreCrop& spec = setup.spec->centre_crop();
  CheckSide(setup, "height", spec.height());
  CheckSide(setup, "width", spec.width());
  if (setup.errors->size() != before) return nullptr;
  *output = {.dtype = DType::kUint8, .shape = {spec.height(), spec.width(), setup.input.shape[2]}};
  return std::make_unique<CentreCropOp>(static_cast<int>(spec.width()), static_cast<int>(spec.height()));
}

}  // namespace penstock
