#include "pipeline/image/resize/bilinear_table.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/image/resize/bilinear_table.cc"
#include "hwy/foreach_target.h"
// Must follow foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace penstock::image {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// HWY_API makes these helpers static. The files of this folder share this namespace, so the linker could otherwise
// merge a helper that is not inlined with another file's function of the same name. Without optimization nothing is
// inlined.

using DBilinear = hn::ScalableTag<double>;
using DBilinearInt = hn::Rebind<int32_t, DBilinear>;
using VBilinear = hn::Vec<DBilinear>;
using VBilinearInt = hn::Vec<DBilinearInt>;

// Returns the weights of `input` before normalization.
HWY_API VBilinear Triangle(VBilinearInt input, VBilinear center, VBilinear inverse) {
  const DBilinear d;
  const VBilinear x = hn::Mul(hn::Add(hn::Sub(hn::PromoteTo(d, input), center), hn::Set(d, 0.5)), inverse);
  return hn::Max(hn::Sub(hn::Set(d, 1.0), hn::Abs(x)), hn::Zero(d));
}

void FillBilinear(int in_size, int out_size, int begin, bool mirror, FilterTable* table) {
  const DBilinear d;
  const DBilinearInt di;
  constexpr size_t kMost = hn::MaxLanes(d);
  const size_t lanes = hn::Lanes(d), outputs = table->first.size(), taps = static_cast<size_t>(table->taps);
  const double scale = static_cast<double>(in_size) / out_size, filter_scale = std::max(scale, 1.0);
  const VBilinear support = hn::Set(d, filter_scale), inverse = hn::Set(d, 1.0 / filter_scale);
  const VBilinear half = hn::Set(d, 0.5), one = hn::Set(d, 1.0), unit = hn::Set(d, 1 << kWeightBits);
  int32_t* const weight = table->weight.data();
  for (size_t o = 0; o < outputs; o += lanes) {
    const double nearest = mirror ? begin + static_cast<double>(outputs - 1 - o) : begin + static_cast<double>(o);
    const VBilinear steps = hn::Iota(d, 0.0);
    const VBilinear i = mirror ? hn::Sub(hn::Set(d, nearest), steps) : hn::Add(hn::Set(d, nearest), steps);
    const VBilinear center = hn::Mul(hn::Add(i, half), hn::Set(d, scale));
    const VBilinearInt first = hn::Max(hn::DemoteTo(di, hn::Add(hn::Sub(center, support), half)), hn::Zero(di));
    const VBilinearInt end = hn::Min(hn::DemoteTo(di, hn::Add(hn::Add(center, support), half)), hn::Set(di, in_size));
    const size_t used = std::min(lanes, outputs - o);
    HWY_ALIGN int32_t firsts[kMost], ends[kMost], weights[kMost];
    hn::Store(first, di, firsts);
    hn::Store(end, di, ends);
    int32_t most = 0;
    for (size_t k = 0; k < used; ++k) {
      table->first[o + k] = firsts[k];
      table->count[o + k] = ends[k] - firsts[k];
      most = std::max(most, ends[k] - firsts[k]);
    }
    // Inputs past an output's last input have no weight.
    const VBilinear last = hn::PromoteTo(d, end);
    const auto at = [&](int32_t t) {
      const VBilinearInt input = hn::Add(first, hn::Set(di, t));
      return hn::IfThenElseZero(hn::Lt(hn::PromoteTo(d, input), last), Triangle(input, center, inverse));
    };
    VBilinear sum = hn::Zero(d);
    for (int32_t t = 0; t < most; ++t) sum = hn::Add(sum, at(t));
    sum = hn::IfThenElse(hn::Eq(sum, hn::Zero(d)), one, sum);
    for (int32_t t = 0; t < most; ++t) {
      hn::Store(hn::DemoteTo(di, hn::Add(hn::Mul(hn::Div(at(t), sum), unit), half)), di, weights);
      int32_t* to = weight + o * taps + static_cast<size_t>(t);
      for (size_t k = 0; k < used; ++k, to += taps) *to = weights[k];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace penstock::image
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::image {

HWY_EXPORT(FillBilinear);

void FillBilinearTable(int in_size, int out_size, int begin, bool mirror, FilterTable* table) {
  HWY_DYNAMIC_DISPATCH(FillBilinear)(in_size, out_size, begin, mirror, table);
}

}  // namespace penstock::image
#endif  // HWY_ONCE
