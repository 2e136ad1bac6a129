// Imports types and functions of other packages into namespace penstock for user-defined ops (docs/own-ops.md). An op
// then names one namespace.
#ifndef PENSTOCK_PIPELINE_AUGMENT_VALUE_OWN_OP_NAMES_H_
#define PENSTOCK_PIPELINE_AUGMENT_VALUE_OWN_OP_NAMES_H_

#include "pipeline/batch/dtype.h"
#include "pipeline/image/adjust.h"
#include "pipeline/image/image_header.h"
#include "pipeline/image/image_sink.h"
#include "pipeline/image/image_view.h"
#include "pipeline/image/pad.h"
#include "pipeline/image/resize/resize_filter.h"
#include "pipeline/image/resize/resize_plan.h"
#include "pipeline/image/warp.h"
namespace penstock {

using batch::DType;
using batch::DTypeName;
using batch::DTypeSize;
using image::ImageHeader;
using image::ImageLimits;
using image::ImageSink;
using image::ImageTarget;
using image::ImageView;
using image::PadMode;
using image::Rect;
using image::ResizeFilter;
using image::ResizeMethod;
using image::WarpMap;
using image::WarpSampling;
}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_VALUE_OWN_OP_NAMES_H_
