#include "pipeline/augment/ops/geometry.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "pipeline/base/portable_math.h"
#include "pipeline/base/status_macros.h"

namespace penstock {
namespace {

// Python's round(): to nearest, ties to even (the default mode of nearbyint).
double RoundEven(double x) { return std::nearbyint(x); }

}  // namespace

ResizeChoice ChooseResize(const OpSetup& setup, v1::ResizeMethod method, v1::Filter filter, bool no_antialias) {
  ResizeChoice choice;
  switch (method) {
    case v1::PIL:
      choice.method = ResizeMethod::kPil;
      break;
    case v1::OPENCV_LINEAR:
      choice.method = ResizeMethod::kOpencvLinear;
      break;
    case v1::OPENCV_AREA:
      choice.method = ResizeMethod::kOpencvArea;
      break;
    case v1::TF_BILINEAR:
      choice.method = no_antialias ? ResizeMethod::kTfBilinear : ResizeMethod::kTfBilinearAntialias;
      break;
    default:
      setup.Error("resize", "must be PIL, OPENCV_LINEAR, OPENCV_AREA or TF_BILINEAR");
  }
  switch (filter) {
    case v1::BILINEAR:
      choice.filter = ResizeFilter::kBilinear;
      break;
    case v1::BICUBIC:
      choice.filter = ResizeFilter::kBicubic;
      break;
    case v1::LANCZOS:
      choice.filter = ResizeFilter::kLanczos;
      break;
    case v1::BOX:
      choice.filter = ResizeFilter::kBox;
      break;
    case v1::HAMMING:
      choice.filter = ResizeFilter::kHamming;
      break;
    case v1::NEAREST:
      choice.filter = ResizeFilter::kNearest;
      break;
    default:
      setup.Error("filter", "must be BILINEAR, BICUBIC, LANCZOS, BOX, HAMMING or NEAREST");
  }
  if (method != v1::PIL && filter != v1::BILINEAR) {
    setup.Error("filter", "belongs to resize: PIL; leave it out with the other methods");
  }
  if (no_antialias && method != v1::TF_BILINEAR) {
    setup.Error("no_antialias", "belongs to resize: TF_BILINEAR; leave it out with the other methods");
  }
  return choice;
}

void CheckSide(const OpSetup& setup, std::string_view field, uint32_t value) {
  if (value == 0 || value > kMaxOutputSide) {
    setup.Error(field, absl::StrCat("must be from 1 to ", kMaxOutputSide, ", not ", value));
  }
}

absl::Status ResizeImage(OpContext* context, LazyImage* image, int width, int height, const ResizeChoice& choice) {
  if (!image->CanResize()) PS_RETURN_IF_ERROR(context->Realise(image));
  image->Resize(width, height, choice.method, choice.filter);
  return absl::OkStatus();
}

Rect DrawResizedCrop(const CropDraw& draw, int width, int height, SampleRandom* random) {
  const double area = static_cast<double>(width) * height;
  const double log_min = PortableLog(draw.ratio_min), log_max = PortableLog(draw.ratio_max);
  for (int i = 0; i < 10; ++i) {
    const double target = area * random->Uniform(draw.scale_min, draw.scale_max);
    const double aspect = PortableExp(random->Uniform(log_min, log_max));
    const double w = RoundEven(std::sqrt(target * aspect));
    const double h = RoundEven(std::sqrt(target / aspect));
    if (w > 0 && w <= width && h > 0 && h <= height) {
      Rect rect{0, 0, static_cast<int>(w), static_cast<int>(h)};
      rect.y = static_cast<int>(random->Below(static_cast<uint32_t>(height - rect.height + 1)));
      rect.x = static_cast<int>(random->Below(static_cast<uint32_t>(width - rect.width + 1)));
      return rect;
    }
  }
  Rect rect{0, 0, width, height};
  const double aspect = static_cast<double>(width) / height;
  if (aspect < draw.ratio_min) {
    rect.height = static_cast<int>(std::clamp(RoundEven(width / draw.ratio_min), 1.0, 1.0 * height));
  } else if (aspect > draw.ratio_max) {
    rect.width = static_cast<int>(std::clamp(RoundEven(height * draw.ratio_max), 1.0, 1.0 * width));
  }
  rect.y = (height - rect.height) / 2;
  rect.x = (width - rect.width) / 2;
  return rect;
}

}  // namespace penstock
