#include "pipeline/image/normalize_bytes.h"

#include <algorithm>
#include <cstring>

#include "base/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/image/normalize_bytes.cc"
#include "hwy/foreach_target.h"
// Must follow foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace penstock::image {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
namespace hn = hwy::HWY_NAMESPACE;

// HWY_API makes these helpers static. The files of this folder share this namespace, so the linker could otherwise
// merge a helper that is not inlined with another file's function of the same name. Without optimization nothing is
// inlined.

// At most 16 numbers, so that a block of bytes is always a whole number of vectors.
using DF = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<DF>;
using DU = hn::RebindToUnsigned<DF>;
using DB = hn::Rebind<uint8_t, DF>;
using DH = hn::Rebind<uint16_t, DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;
constexpr size_t kLanes = hn::MaxLanes(DF());

// Vector version of FloatToHalf. The result is in the low 16 bits of each lane.
HWY_API VI Half(VF value) {
  const DF df;
  const DI di;
  const VI bits = hn::BitCast(di, value);
  const VI magnitude = hn::And(bits, hn::Set(di, 0x7FFFFFFF));
  const VI sign = hn::And(hn::BitCast(di, hn::ShiftRight<16>(hn::BitCast(DU(), bits))), hn::Set(di, 0x8000));
  const VI odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(di, 1));
  VI half = hn::ShiftRight<13>(hn::Add(hn::Add(hn::Sub(magnitude, hn::Set(di, 0x38000000)), hn::Set(di, 0xFFF)), odd));
  // Below 2^-14: adding one half moves the units of 2^-24 to the lowest bits, rounded to even.
  const VI small =
      hn::Sub(hn::BitCast(di, hn::Add(hn::BitCast(df, magnitude), hn::Set(df, 0.5f))), hn::Set(di, 0x3F000000));
  half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x38800000)), small, half);
  half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x477FFFFF)), hn::Set(di, 0x7C00), half);
  half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7F800000)), hn::Set(di, 0x7E00), half);
  return hn::Or(half, sign);
}

// Vector version of FloatToBfloat16. The result is in the low 16 bits of each lane.
HWY_API VI Bfloat16(VF value) {
  const DI di;
  const DU du;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const VI rounded = hn::BitCast(di, hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(du, 0x7FFF)), odd)));
  const VI nan = hn::Or(hn::And(hn::BitCast(di, hn::ShiftRight<16>(bits)), hn::Set(di, 0x8000)), hn::Set(di, 0x7FC0));
  const VI magnitude = hn::And(hn::BitCast(di, bits), hn::Set(di, 0x7FFFFFFF));
  return hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7F800000)), nan, rounded);
}

// Stores kLanes numbers at `out`, which needs no alignment.
template <FloatType kTo>
HWY_API void StoreAs(VF value, uint8_t* out) {
  const DF df;
  if constexpr (kTo == FloatType::kFloat32) {
    hn::StoreU(hn::BitCast(hn::Repartition<uint8_t, DF>(), value), hn::Repartition<uint8_t, DF>(), out);
    (void)df;
  } else {
    const VI wide = kTo == FloatType::kFloat16 ? Half(value) : Bfloat16(value);
    const hn::Repartition<uint8_t, DH> bytes;
    hn::StoreU(hn::BitCast(bytes, hn::DemoteTo(DH(), wide)), bytes, out);
  }
}

HWY_API VF Compute(const uint8_t* in, VF scale, VF mean, VF std) {
  const VF x = hn::ConvertTo(DF(), hn::PromoteTo(DI(), hn::LoadU(DB(), in)));
  return hn::Div(hn::Sub(hn::Mul(x, scale), mean), std);
}

// Normalizes pixels with adjacent channels. The channel of each lane repeats after kLanes pixels. Returns the number of
// pixels done.
template <FloatType kTo>
size_t SideBySide(const BytesToFloats& how, const uint8_t* in, size_t pixels, size_t size, uint8_t* out) {
  constexpr size_t kMost = 4;
  const DF df;
  const size_t channels = how.mean.size();
  if (channels > kMost) return 0;
  HWY_ALIGN float means[kMost * kLanes], stds[kMost * kLanes];
  for (size_t i = 0; i < channels * kLanes; ++i) {
    means[i] = how.mean[i % channels];
    stds[i] = how.std[i % channels];
  }
  const VF scale = hn::Set(df, how.scale);
  size_t pixel = 0;
  for (; pixel + kLanes <= pixels; pixel += kLanes) {
    for (size_t k = 0; k < channels; ++k, in += kLanes, out += kLanes * size) {
      StoreAs<kTo>(Compute(in, scale, hn::Load(df, means + k * kLanes), hn::Load(df, stds + k * kLanes)), out);
    }
  }
  return pixel;
}

// Splits RGB into three planes. Returns the number of pixels done.
template <FloatType kTo>
size_t ThreePlanes(const BytesToFloats& how, const uint8_t* in, size_t pixels, size_t size, uint8_t* out) {
  const DF df;
  const hn::FixedTag<uint8_t, 16> block;
  const VF scale = hn::Set(df, how.scale);
  size_t pixel = 0;
  for (; pixel + 16 <= pixels; pixel += 16, in += 48) {
    hn::Vec<decltype(block)> part[3];
    hn::LoadInterleaved3(block, in, part[0], part[1], part[2]);
    HWY_ALIGN uint8_t bytes[16];
    for (size_t c = 0; c < 3; ++c) {
      hn::Store(part[c], block, bytes);
      const VF mean = hn::Set(df, how.mean[c]), std = hn::Set(df, how.std[c]);
      uint8_t* to = out + (c * pixels + pixel) * size;
      for (size_t i = 0; i < 16; i += kLanes, to += kLanes * size) {
        StoreAs<kTo>(Compute(bytes + i, scale, mean, std), to);
      }
    }
  }
  return pixel;
}

template <FloatType kTo>
size_t Pixels(const BytesToFloats& how, const uint8_t* in, size_t pixels, size_t size, uint8_t* out) {
  // One channel has the same layout either way.
  if (!how.channels_first || how.mean.size() == 1) return SideBySide<kTo>(how, in, pixels, size, out);
  return how.mean.size() == 3 ? ThreePlanes<kTo>(how, in, pixels, size, out) : 0;
}

// Normalizes pixels from the start of the image. Returns how many pixels the vectors covered.
size_t Normalize(const BytesToFloats& how, const uint8_t* in, size_t pixels, uint8_t* out) {
  if (how.to == FloatType::kFloat32) return Pixels<FloatType::kFloat32>(how, in, pixels, 4, out);
  if (how.to == FloatType::kFloat16) return Pixels<FloatType::kFloat16>(how, in, pixels, 2, out);
  return Pixels<FloatType::kBfloat16>(how, in, pixels, 2, out);
}
#else
size_t Normalize(const BytesToFloats&, const uint8_t*, size_t, uint8_t*) { return 0; }
#endif

}  // namespace HWY_NAMESPACE
}  // namespace penstock::image
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::image {
namespace {

// Normalizes the pixels from `first` on, one number at a time.
void Rest(const BytesToFloats& how, const uint8_t* in, size_t first, size_t pixels, uint8_t* out) {
  const size_t channels = how.mean.size();
  for (size_t pixel = first; pixel < pixels; ++pixel) {
    for (size_t c = 0; c < channels; ++c) {
      const size_t at = how.channels_first ? c * pixels + pixel : pixel * channels + c;
      const float value = (static_cast<float>(in[pixel * channels + c]) * how.scale - how.mean[c]) / how.std[c];
      if (how.to == FloatType::kFloat32) {
        std::memcpy(out + at * 4, &value, 4);
      } else {
        const uint16_t half = how.to == FloatType::kFloat16 ? FloatToHalf(value) : FloatToBfloat16(value);
        std::memcpy(out + at * 2, &half, 2);
      }
    }
  }
}

}  // namespace

HWY_EXPORT(Normalize);

void NormalizeBytes(const BytesToFloats& how, const uint8_t* in, size_t pixels, uint8_t* out) {
  Rest(how, in, HWY_DYNAMIC_DISPATCH(Normalize)(how, in, pixels, out), pixels, out);
}

void NormalizeBytesScalar(const BytesToFloats& how, const uint8_t* in, size_t pixels, uint8_t* out) {
  Rest(how, in, 0, pixels, out);
}

}  // namespace penstock::image
#endif  // HWY_ONCE
