#include "pipeline/augment/ops/geometry/resized_crop.h"

#include <algorithm>
#include <cmath>

#include "base/portable_math.h"

namespace penstock::augment {
namespace {

// Python's round(): to nearest, ties to even (the default mode of nearbyint).
double RoundEven(double x) { return std::nearbyint(x); }

}  // namespace

image::Rect DrawResizedCrop(const CropDraw& draw, int width, int height, SampleRandom* random) {
  const double area = static_cast<double>(width) * height;
  const double log_min = PortableLog(draw.ratio_min), log_max = PortableLog(draw.ratio_max);
  for (int i = 0; i < 10; ++i) {
    const double target = area * random->Uniform(draw.scale_min, draw.scale_max);
    const double aspect = PortableExp(random->Uniform(log_min, log_max));
    const double w = RoundEven(std::sqrt(target * aspect));
    const double h = RoundEven(std::sqrt(target / aspect));
    if (w > 0 && w <= width && h > 0 && h <= height) {
      image::Rect rect{0, 0, static_cast<int>(w), static_cast<int>(h)};
      rect.y = static_cast<int>(random->Below(static_cast<uint32_t>(height - rect.height + 1)));
      rect.x = static_cast<int>(random->Below(static_cast<uint32_t>(width - rect.width + 1)));
      return rect;
    }
  }
  image::Rect rect{0, 0, width, height};
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

}  // namespace penstock::augment
