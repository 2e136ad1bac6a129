#include "pipeline/image/resize/resize_plan.h"

#include "pipeline/image/resize/tf_resize.h"

namespace penstock::image {
namespace {

struct Span {
  int begin, end;
};

// Returns the inputs that outputs [begin, begin + length) of one axis need.
Span InputsNeeded(const ResizePlan& plan, int in_size, int out_size, int begin, int length) {
  int32_t first = 0, count = 0, last = 0;
  if (IsTf(plan)) {
    TfReach(TfAntialias(plan), in_size, out_size, begin + length - 1, &first, &last);
    const int end = last + 1;
    TfReach(TfAntialias(plan), in_size, out_size, begin, &first, &last);
    return {first, end};
  }
  if (in_size == out_size) return {begin, begin + length};
  FilterReach(plan.filter, in_size, out_size, begin, &first, &count);
  FilterReach(plan.filter, in_size, out_size, begin + length - 1, &last, &count);
  return {first, last + count};
}

}  // namespace

bool TakesRows(const ResizePlan& plan) {
  return plan.method == ResizeMethod::kPil && plan.filter != ResizeFilter::kNearest;
}

Rect SourceNeeded(const ResizePlan& plan) {
  const Rect& window = plan.window;
  if (!IsTf(plan) && !TakesRows(plan)) return {0, 0, plan.box_width, plan.box_height};
  const Span x = InputsNeeded(plan, plan.box_width, plan.out_width, window.x, window.width);
  const Span y = InputsNeeded(plan, plan.box_height, plan.out_height, window.y, window.height);
  return {x.begin, y.begin, x.end - x.begin, y.end - y.begin};
}

}  // namespace penstock::image
