#include "pipeline/image/resize/tf_resize_loops.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/image/resize/tf_resize_loops.cc"
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

// Avoids MulAdd, because a fused one rounds once and not every target has it.

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using DB = hn::Rebind<uint8_t, DF>;
using VF = hn::Vec<DF>;

// 1.5 * 2^23: adding it leaves the integer, rounded to even, in the low bits of the sum.
constexpr float kRound = 12582912.0f;

HWY_API VF LoadBytes(const uint8_t* in) { return hn::ConvertTo(DF(), hn::PromoteTo(DI(), hn::LoadU(DB(), in))); }

void Widen(const uint8_t* in, size_t values, float* out) {
  const DF df;
  size_t x = 0;
  for (; x + hn::Lanes(df) <= values; x += hn::Lanes(df)) hn::StoreU(LoadBytes(in + x), df, out + x);
  for (; x < values; ++x) out[x] = static_cast<float>(in[x]);
}

void SumRows(const uint8_t* in, size_t stride, size_t values, const float* weight, size_t count, float* out) {
  const DF df;
  const size_t lanes = hn::Lanes(df);
  size_t x = 0;
  for (; x + 2 * lanes <= values; x += 2 * lanes) {
    VF sum0 = hn::Zero(df), sum1 = sum0;
    for (size_t t = 0; t < count; ++t) {
      const uint8_t* from = in + t * stride + x;
      const VF w = hn::Set(df, weight[t]);
      sum0 = hn::Add(sum0, hn::Mul(LoadBytes(from), w));
      sum1 = hn::Add(sum1, hn::Mul(LoadBytes(from + lanes), w));
    }
    hn::StoreU(sum0, df, out + x);
    hn::StoreU(sum1, df, out + x + lanes);
  }
  for (; x < values; ++x) {
    float sum = 0.0f;
    for (size_t t = 0; t < count; ++t) sum += static_cast<float>(in[t * stride + x]) * weight[t];
    out[x] = sum;
  }
}

void BlendRows(const float* a, const float* b, float t, size_t values, float* out) {
  const DF df;
  const VF at = hn::Set(df, t);
  size_t x = 0;
  for (; x + hn::Lanes(df) <= values; x += hn::Lanes(df)) {
    const VF from = hn::LoadU(df, a + x);
    hn::StoreU(hn::Add(from, hn::Mul(hn::Sub(hn::LoadU(df, b + x), from), at)), df, out + x);
  }
  for (; x < values; ++x) out[x] = a[x] + (b[x] - a[x]) * t;
}

// Writes one pixel of three channels and an extra value, which the next pixel overwrites.
void Columns(const TfAxis& axis, int channels, const float* in, float* out) {
#if HWY_TARGET != HWY_SCALAR
  if (channels == 3) {
    const hn::FixedTag<float, 4> d4;
    const size_t outputs = axis.first.size(), taps = static_cast<size_t>(axis.taps);
    const int32_t* const firsts = axis.first.data();
    const int32_t* const lasts = axis.last.data();
    const float* weight = axis.weight.data();
    for (size_t i = 0; i < outputs; ++i, weight += taps, out += 3) {
      const float* first = in + static_cast<size_t>(firsts[i]) * 3;
      const float* last = in + static_cast<size_t>(lasts[i]) * 3;
      if (!axis.antialias) {
        const auto a = hn::LoadU(d4, first);
        const auto b = hn::LoadU(d4, last);
        hn::StoreU(hn::Add(a, hn::Mul(hn::Sub(b, a), hn::Set(d4, *weight))), d4, out);
        continue;
      }
      auto sum = hn::Zero(d4);
      const float* w = weight;
      for (const float* from = first; from <= last; from += 3, ++w) {
        sum = hn::Add(sum, hn::Mul(hn::LoadU(d4, from), hn::Set(d4, *w)));
      }
      hn::StoreU(sum, d4, out);
    }
    return;
  }
#endif
  TfColumnsScalar(axis, channels, in, out);
}

void Store(const float* row, size_t values, uint8_t* out) {
  const DF df;
  const DI di;
  const VF low = hn::Zero(df), high = hn::Set(df, 255.0f), round = hn::Set(df, kRound);
  const auto mask = hn::Set(di, 0xFF);
  size_t x = 0;
  for (; x + hn::Lanes(df) <= values; x += hn::Lanes(df)) {
    const VF value = hn::Add(hn::Min(hn::Max(hn::LoadU(df, row + x), low), high), round);
    hn::StoreU(hn::DemoteTo(DB(), hn::And(hn::BitCast(di, value), mask)), DB(), out + x);
  }
  for (; x < values; ++x) {
    const float value = std::min(std::max(row[x], 0.0f), 255.0f) + kRound;
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    out[x] = static_cast<uint8_t>(bits);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace penstock::image
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::image {

HWY_EXPORT(Widen);
HWY_EXPORT(SumRows);
HWY_EXPORT(BlendRows);
HWY_EXPORT(Columns);
HWY_EXPORT(Store);

void TfWiden(const uint8_t* in, size_t values, float* out) { HWY_DYNAMIC_DISPATCH(Widen)(in, values, out); }

void TfSumRows(const uint8_t* in, size_t stride, size_t values, const float* weight, size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(SumRows)(in, stride, values, weight, count, out);
}

void TfBlendRows(const float* a, const float* b, float t, size_t values, float* out) {
  HWY_DYNAMIC_DISPATCH(BlendRows)(a, b, t, values, out);
}

void TfColumns(const TfAxis& axis, int channels, const float* in, float* out) {
  HWY_DYNAMIC_DISPATCH(Columns)(axis, channels, in, out);
}

void TfColumnsScalar(const TfAxis& axis, int channels, const float* in, float* out) {
  const size_t outputs = axis.first.size(), taps = static_cast<size_t>(axis.taps);
  const size_t width = static_cast<size_t>(channels);
  for (size_t i = 0; i < outputs; ++i) {
    const size_t first = static_cast<size_t>(axis.first[i]), last = static_cast<size_t>(axis.last[i]);
    const float* weight = axis.weight.data() + i * taps;
    for (size_t c = 0; c < width; ++c) {
      const float a = in[first * width + c];
      if (!axis.antialias) {
        out[i * width + c] = a + (in[last * width + c] - a) * *weight;
        continue;
      }
      float sum = 0.0f;
      for (size_t x = first; x <= last; ++x) sum += in[x * width + c] * weight[x - first];
      out[i * width + c] = sum;
    }
  }
}

void TfStore(const float* row, size_t values, uint8_t* out) { HWY_DYNAMIC_DISPATCH(Store)(row, values, out); }

}  // namespace penstock::image
#endif  // HWY_ONCE
