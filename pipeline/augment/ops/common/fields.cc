#include "pipeline/augment/ops/common/fields.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "pipeline/augment/op/mask_fill.h"

namespace penstock {

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

FillColor ChooseFill(const OpSetup& setup, const google::protobuf::RepeatedField<uint32_t>& fill,
                     const google::protobuf::RepeatedField<uint32_t>& mask_fill) {
  FillColor color = ChooseFill(setup, fill);
  if (setup.masks == nullptr) return color;
  std::string mistake;
  color.masks = ReadMaskFill(mask_fill, *setup.masks, &mistake);
  if (!mistake.empty()) setup.Error("mask_fill", mistake);
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
  if (!setup.input.IsImage()) setup.WrongInputNoImage();
}

FactorRange CheckRange(const OpSetup& setup, double low, double high, double at_least, double at_most,
                       std::string_view low_field, std::string_view high_field) {
  // The conditions are negated so that NaN is an error.
  if (!(low >= at_least && low <= at_most)) {
    setup.Error(low_field, absl::StrCat("must be from ", at_least, " to ", at_most));
  }
  if (!(high >= low && high <= at_most)) {
    setup.Error(high_field,
                absl::StrCat("must be at least ", std::string(low_field), " (", low, ") and at most ", at_most));
  }
  return {low, high};
}

}  // namespace penstock
