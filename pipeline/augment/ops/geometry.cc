#include "pipeline/augment/ops/geometry.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/portable_math.h"
#include "base/status_macros.h"
#include "pipeline/augment/ops/pixel_op.h"

namespace penstock {
namespace {

// Python's round(): to nearest, ties to even (the default mode of nearbyint).
double RoundEven(double x) { return std::nearbyint(x); }

// round(n / 2), ties to even, for n >= 0.
int HalfRoundedEven(int n) { return n / 2 + (n % 4 == 3 ? 1 : 0); }

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

FillColor ChooseFill(const OpSetup& setup, const google::protobuf::RepeatedField<uint32_t>& fill) {
  FillColor color;
  const int channels = setup.input.IsImage() ? static_cast<int>(setup.input.shape[2]) : 3;
  if (fill.size() > 1 && fill.size() != channels) {
    setup.Error("fill", absl::StrCat("has ", fill.size(), " values; it needs one, or one for each of the ", channels,
                                     " channels"));
    return color;
  }
  for (int c = 0; c < 3 && !fill.empty(); ++c) {
    const uint32_t value = fill.size() == 1 ? fill[0] : fill[std::min(c, fill.size() - 1)];
    if (value > 255) {
      setup.Error("fill", absl::StrCat("must be from 0 to 255, not ", value));
      break;
    }
    color.values[c] = static_cast<uint8_t>(value);
  }
  return color;
}

WarpSampling ChooseSampling(const OpSetup& setup, v1::Filter filter) {
  if (filter != v1::BILINEAR && filter != v1::NEAREST) {
    setup.Error("filter", "must be BILINEAR or NEAREST, which are how warps sample");
  }
  return filter == v1::NEAREST ? WarpSampling::kNearest : WarpSampling::kBilinear;
}

PadMode ChoosePadMode(const OpSetup& setup, v1::PadMode mode) {
  switch (mode) {
    case v1::CONSTANT:
      return PadMode::kConstant;
    case v1::EDGE:
      return PadMode::kEdge;
    case v1::REFLECT:
      return PadMode::kReflect;
    case v1::SYMMETRIC:
      return PadMode::kSymmetric;
    default:
      setup.Error("mode", "must be CONSTANT, EDGE, REFLECT or SYMMETRIC");
      return PadMode::kConstant;
  }
}

double ChooseProbability(const OpSetup& setup, bool said, float probability, double otherwise) {
  const double value = said ? static_cast<double>(probability) : otherwise;
  if (!(value >= 0 && value <= 1)) setup.Error("probability", "must be from 0 to 1");
  return value;
}

void CheckImageInput(const OpSetup& setup) {
  if (!setup.input.IsImage()) setup.WrongInput("a uint8 image; put decode_image before it");
}

bool DrawChance(double probability, SampleRandom* random) {
  if (probability <= 0 || probability >= 1) return probability >= 1;
  return random->Chance(probability);
}

double DrawUniform(double low, double high, SampleRandom* random) {
  return low < high ? random->Uniform(low, high) : low;
}

int DrawInteger(int low, int high, SampleRandom* random) {
  return low < high ? low + static_cast<int>(random->Below(static_cast<uint32_t>(high - low) + 1)) : low;
}

void CropImage(OpContext* context, LazyImage* image, const Rect& rect) {
  if (context->dry()) return;
  image->Crop(rect);
  context->Moved(ImageMove::Window(rect));
}

absl::Status WindowImage(OpContext* context, LazyImage* image, const Rect& window, PadMode mode,
                         const FillColor& fill) {
  if (window.Inside(image->width(), image->height()) && !context->dry()) {
    CropImage(context, image, window);
    return absl::OkStatus();
  }
  PS_RETURN_IF_ERROR(
      ReplacePixels(context, image, window.width, window.height, 0,
                    [&](const ImageView& in, ImageTarget out) { CopyWindow(in, window, mode, fill.values, out); }));
  context->Moved(ImageMove::Window(window, mode));
  return absl::OkStatus();
}

void MirrorImage(OpContext* context, LazyImage* image) {
  image->Flip();
  context->Moved(ImageMove::Mirror(image->width(), image->height()));
}

absl::Status WarpImage(OpContext* context, LazyImage* image, const WarpMap& map, WarpSampling sampling,
                       const FillColor& fill, int width, int height) {
  // Beside the pixels: a table of columns.
  const size_t scratch = 4 * static_cast<size_t>(width);
  PS_RETURN_IF_ERROR(ReplacePixels(context, image, width, height, scratch, [&](const ImageView& in, ImageTarget out) {
    Warp(in, map, sampling, fill.values, width, height, out);
  }));
  context->Moved(ImageMove::Warp(map, width, height));
  return absl::OkStatus();
}

absl::Status ResizeImage(OpContext* context, LazyImage* image, int width, int height, const ResizeChoice& choice) {
  if (!image->CanResize()) PS_RETURN_IF_ERROR(context->Realize(image));
  const ImageMove move = ImageMove::Resize(image->width(), image->height(), width, height);
  image->Resize(width, height, choice.method, choice.filter);
  context->Moved(move);
  return absl::OkStatus();
}

Rect CenterRect(int width, int height, int crop_width, int crop_height) {
  return {HalfRoundedEven(width - crop_width), HalfRoundedEven(height - crop_height), crop_width, crop_height};
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
