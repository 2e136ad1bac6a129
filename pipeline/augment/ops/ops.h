// The factories of all ops; see op.h.
#ifndef PENSTOCK_PIPELINE_AUGMENT_OPS_OPS_H_
#define PENSTOCK_PIPELINE_AUGMENT_OPS_OPS_H_

#include "pipeline/augment/op.h"

namespace penstock {

std::unique_ptr<Op> MakeDecodeImage(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeRandomResizedCrop(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeResize(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeCentreCrop(const OpSetup& setup, ValueType* output);
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
std::unique_ptr<Op> MakeCast(const OpSetup& setup, ValueType* output);
std::unique_ptr<Op> MakeNormalise(const OpSetup& setup, ValueType* output);
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
