#include <algorithm>

#include "pipeline/image/blur.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/image/blur_loops.cc"
#include "hwy/foreach_target.h"
// Must follow foreach_target.h.
#include "hwy/highway.h"

// As in resize_passes.cc, ReorderDemote2To must keep the order within 128-bit blocks.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128 && (HWY_ARCH_X86 || HWY_TARGET == HWY_NEON)
#define PENSTOCK_VECTOR_BLUR 1
#else
#define PENSTOCK_VECTOR_BLUR 0
#endif

HWY_BEFORE_NAMESPACE();
namespace penstock::image {
namespace HWY_NAMESPACE {

#if PENSTOCK_VECTOR_BLUR
namespace hn = hwy::HWY_NAMESPACE;

// HWY_API makes these helpers static. The files of this folder share this namespace, so the linker could otherwise
// merge a helper that is not inlined with another file's function of the same name. Without optimization nothing is
// inlined.

using D16 = hn::CappedTag<int16_t, 16>;
using D32 = hn::Repartition<int32_t, D16>;
using D8 = hn::Rebind<uint8_t, D16>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;
constexpr size_t kLanes = hn::MaxLanes(D16());

// Returns sum + a[2i] * b[2i] + a[2i + 1] * b[2i + 1] in lane i.
HWY_API V32 AddPairs(V16 a, V16 b, V32 sum) {
  const D32 d32;
  // As in resize_passes.cc, `sum` is added to products in order.
  V32 odd = hn::Zero(d32);
  const V32 even = hn::ReorderWidenMulAccumulate(d32, a, b, hn::Zero(d32), odd);
  return hn::Add(sum, hn::RearrangeToOddPlusEven(even, odd));
}

// Returns weight a in even lanes and weight b in odd lanes.
HWY_API V16 Weights(int16_t a, int16_t b) {
  const uint32_t pair = static_cast<uint16_t>(a) | static_cast<uint32_t>(static_cast<uint16_t>(b)) << 16;
  return hn::BitCast(D16(), hn::Set(D32(), static_cast<int32_t>(pair)));
}

HWY_API V16 LoadBytes(const uint8_t* from) { return hn::PromoteTo(D16(), hn::LoadU(D8(), from)); }
#endif

void Rows(const uint8_t* const* rows, const int16_t* weights, size_t radius, size_t count, int16_t* out) {
#if PENSTOCK_VECTOR_BLUR
  const D16 d16;
  const D32 d32;
  if (count >= kLanes) {
    const auto term = [&](size_t k, size_t at) HWY_ATTR {
      if (k == 0) return LoadBytes(rows[radius] + at);
      if (k > radius) return hn::Zero(D16());
      return hn::Add(LoadBytes(rows[radius - k] + at), LoadBytes(rows[radius + k] + at));
    };
    for (size_t x = 0; x < count; x += kLanes) {
      const size_t at = std::min(x, count - kLanes);  // the last vector overlaps the previous one
      V32 lower = hn::Set(d32, 64), upper = lower;
      for (size_t k = 0; k <= radius; k += 2) {
        const V16 a = term(k, at), b = term(k + 1, at);
        const V16 w = Weights(weights[k], k < radius ? weights[k + 1] : int16_t{0});
        lower = AddPairs(hn::InterleaveLower(d16, a, b), w, lower);
        upper = AddPairs(hn::InterleaveUpper(d16, a, b), w, upper);
      }
      hn::StoreU(hn::ReorderDemote2To(d16, hn::ShiftRight<7>(lower), hn::ShiftRight<7>(upper)), d16, out + at);
    }
    return;
  }
#endif
  BlurRowsScalar(rows, weights, radius, count, out);
}

void Along(const int16_t* row, const int16_t* weights, size_t radius, size_t channels, size_t count, uint8_t* out) {
#if PENSTOCK_VECTOR_BLUR
  const D16 d16;
  const D32 d32;
  if (count >= kLanes) {
    for (size_t x = 0; x < count; x += kLanes) {
      const size_t at = std::min(x, count - kLanes);
      const V16 middle = hn::LoadU(d16, row + at), w0 = Weights(weights[0], 0);
      V32 lower = AddPairs(hn::InterleaveLower(d16, middle, middle), w0, hn::Set(d32, 1 << 20));
      V32 upper = AddPairs(hn::InterleaveUpper(d16, middle, middle), w0, hn::Set(d32, 1 << 20));
      for (size_t k = 1; k <= radius; ++k) {
        const V16 a = hn::LoadU(d16, row + at - k * channels), b = hn::LoadU(d16, row + at + k * channels);
        const V16 w = hn::Set(d16, weights[k]);
        lower = AddPairs(hn::InterleaveLower(d16, a, b), w, lower);
        upper = AddPairs(hn::InterleaveUpper(d16, a, b), w, upper);
      }
      const V16 both = hn::ReorderDemote2To(d16, hn::ShiftRight<21>(lower), hn::ShiftRight<21>(upper));
      hn::StoreU(hn::DemoteTo(D8(), both), D8(), out + at);
    }
    return;
  }
#endif
  BlurAlongScalar(row, weights, radius, channels, count, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace penstock::image
HWY_AFTER_NAMESPACE();

#undef PENSTOCK_VECTOR_BLUR

#if HWY_ONCE
namespace penstock::image {

HWY_EXPORT(Rows);
HWY_EXPORT(Along);

void BlurRows(const uint8_t* const* rows, const int16_t* weights, size_t radius, size_t count, int16_t* out) {
  HWY_DYNAMIC_DISPATCH(Rows)(rows, weights, radius, count, out);
}

void BlurAlong(const int16_t* row, const int16_t* weights, size_t radius, size_t channels, size_t count, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(Along)(row, weights, radius, channels, count, out);
}

}  // namespace penstock::image
#endif  // HWY_ONCE
