#include "pipeline/augment/ops/ops.h"

namespace penstock {
namespace {

// By the field's name in the Op message.
constexpr struct {
  std::string_view name;
  OpFactory factory;
} kOps[] = {
    {"random_crop", MakeRandomCrop},
    {"pad", MakePad},
    {"random_vertical_flip", MakeRandomVerticalFlip},
    {"rotate", MakeRotate},
    {"affine", MakeAffine},
    {"perspective", MakePerspective},
    {"zoom_out", MakeZoomOut},
    {"five_crop", MakeFiveCrop},
    {"ten_crop", MakeTenCrop},
    {"brightness", MakeBrightness},
    {"contrast", MakeContrast},
    {"saturation", MakeSaturation},
    {"hue", MakeHue},
    {"color_jitter", MakeColorJitter},
    {"grayscale", MakeGrayscale},
    {"posterize", MakePosterize},
    {"solarize", MakeSolarize},
    {"invert", MakeInvert},
    {"equalize", MakeEqualize},
    {"autocontrast", MakeAutocontrast},
    {"sharpness", MakeSharpness},
    {"gamma", MakeGamma},
    {"pca_lighting", MakePcaLighting},
    {"channel_shuffle", MakeChannelShuffle},
    {"gaussian_blur", MakeGaussianBlur},
    {"gaussian_noise", MakeGaussianNoise},
    {"jpeg_distortion", MakeJpegDistortion},
    {"random_erasing", MakeRandomErasing},
    {"cutout", MakeCutout},
    {"grid_mask", MakeGridMask},
    {"decode_image", MakeDecodeImage},
    {"random_resized_crop", MakeRandomResizedCrop},
    {"resize", MakeResize},
    {"center_crop", MakeCenterCrop},
    {"random_horizontal_flip", MakeRandomHorizontalFlip},
    {"cast", MakeCast},
    {"normalize", MakeNormalize},
    {"auto_augment", MakeAutoAugment},
    {"rand_augment", MakeRandAugment},
    {"trivial_augment_wide", MakeTrivialAugmentWide},
    {"augmix", MakeAugMix},
    {"random_apply", MakeRandomApply},
    {"one_of", MakeOneOf},
    {"custom", MakeCustom},
    {"scale", MakeScale},
    {"one_hot", MakeOneHot},
};

}  // namespace

OpFactory FindOp(std::string_view name) {
  for (const auto& op : kOps) {
    if (op.name == name) return op.factory;
  }
  return nullptr;
}

}  // namespace penstock
