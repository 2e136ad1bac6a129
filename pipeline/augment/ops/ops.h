// The factories of all ops; see op.h.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_OPS_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_OPS_H_

#include "pipeline/augment/op.h"

namespace penstock {

std::unique_ptr<Op> MakeDecodeImage(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeRandomResizedCrop(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeResize(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeCenterCrop(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeRandomHorizontalFlip(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeRandomCrop(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakePad(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeRandomVerticalFlip(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeRotate(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeAffine(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakePerspective(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeZoomOut(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeFiveCrop(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeTenCrop(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeBrightness(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeContrast(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeSaturation(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeHue(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeColorJitter(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeGrayscale(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakePosterize(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeSolarize(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeInvert(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeEqualize(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeAutocontrast(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeSharpness(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeGamma(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakePcaLighting(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeChannelShuffle(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeGaussianBlur(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeGaussianNoise(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeJpegDistortion(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeRandomErasing(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeCutout(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeGridMask(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeCast(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeNormalize(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeScale(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeOneHot(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeAutoAugment(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeRandAugment(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeTrivialAugmentWide(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeAugMix(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeRandomApply(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeOneOf(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeCustom(const OpSetup& setup, ValueType* output);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_OPS_OPS_H_
