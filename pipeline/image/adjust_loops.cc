#include "pipeline/image/adjust_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/image/adjust_loops.cc"
#include "hwy/foreach_target.h"
// Must follow foreach_target.h.
#include "hwy/highway.h"

// The lookups rely on x86 behavior: an index of 16 to 127 selects by its low four bits.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128 && HWY_ARCH_X86
#define PENSTOCK_VECTOR_ADJUST 1
#else
#define PENSTOCK_VECTOR_ADJUST 0
#endif

HWY_BEFORE_NAMESPACE();
namespace penstock::image {
namespace HWY_NAMESPACE {

#if PENSTOCK_VECTOR_ADJUST
namespace hn = hwy::HWY_NAMESPACE;

// HWY_API makes these helpers static. The files of this folder share this namespace, so the linker could otherwise
// merge a helper that is not inlined with another file's function of the same name. Without optimization nothing is
// inlined.

using D8 = hn::ScalableTag<uint8_t>;
using V8 = hn::Vec<D8>;
// For 32-bit arithmetic: a vector of bytes with as many lanes.
using D32 = hn::ScalableTag<int32_t>;
using DF = hn::RebindToFloat<D32>;
using DQ = hn::Rebind<uint8_t, D32>;
using V32 = hn::Vec<D32>;
using VF = hn::Vec<DF>;

// The remainder of a row, or of a flattened image, that full vectors do not cover.
HWY_API ImageView Rest(const ImageView& in, int x, int y, int width) { return in.Crop({x, y, width, 1}); }
HWY_API ImageTarget RestTarget(ImageTarget out, size_t byte, size_t y) {
  return {out.data + y * out.stride + byte, out.stride};
}

// Returns an image without gaps as a single row, and any other image unchanged.
HWY_API ImageView Flat(const ImageView& in, ImageTarget out) {
  const int64_t pixels = int64_t{in.width} * in.height;
  if (in.stride != in.row_bytes() || out.stride != in.stride || pixels > (1 << 28)) return in;
  return {in.data, static_cast<int>(pixels), 1, in.channels, in.stride * static_cast<size_t>(in.height)};
}

// A table of 256 bytes as 16 lookup tables of 16. Table k is XORed with table k - 1. A lookup with a negative index
// returns 0. So for the indices x - 16 k, XORing the lookups of all tables up to x / 16 leaves the entry of x.
struct SplitTable {
  alignas(16) uint8_t part[16][16];
};

HWY_API SplitTable Split(const uint8_t* table) {
  SplitTable split;
  for (size_t k = 0; k < 16; ++k) {
    for (size_t i = 0; i < 16; ++i) {
      split.part[k][i] = static_cast<uint8_t>(table[k * 16 + i] ^ (k % 8 == 0 ? 0 : table[(k - 1) * 16 + i]));
    }
  }
  return split;
}

HWY_API V8 LookUpVector(const SplitTable& split, V8 v) {
  const D8 d8;
  const hn::RebindToSigned<D8> di;
  auto low = hn::BitCast(di, v), high = hn::BitCast(di, hn::Xor(v, hn::Set(d8, 0x80)));
  V8 result = hn::TableLookupBytesOr0(hn::LoadDup128(d8, split.part[0]), hn::BitCast(d8, low));
  result = hn::Xor(result, hn::TableLookupBytesOr0(hn::LoadDup128(d8, split.part[8]), hn::BitCast(d8, high)));
  const auto step = hn::Set(di, 16);
  for (size_t k = 1; k < 8; ++k) {
    low = hn::SaturatedSub(low, step);
    high = hn::SaturatedSub(high, step);
    result = hn::Xor(result, hn::TableLookupBytesOr0(hn::LoadDup128(d8, split.part[k]), hn::BitCast(d8, low)));
    result = hn::Xor(result, hn::TableLookupBytesOr0(hn::LoadDup128(d8, split.part[8 + k]), hn::BitCast(d8, high)));
  }
  return result;
}

HWY_API VF ToFloat(hn::Vec<DQ> bytes) { return hn::ConvertTo(DF(), hn::PromoteTo(D32(), bytes)); }

// Returns color.h's luma. Every product and sum is an integer below 2^24, which float32 represents exactly.
HWY_API V32 LumaVector(VF r, VF g, VF b) {
  const DF df;
  const VF sum = hn::Add(hn::Add(hn::Mul(r, hn::Set(df, 19595.0f)), hn::Mul(g, hn::Set(df, 38470.0f))),
                         hn::Add(hn::Mul(b, hn::Set(df, 7471.0f)), hn::Set(df, 32768.0f)));
  return hn::ShiftRight<16>(hn::ConvertTo(D32(), sum));
}

// Vector version of BlendValue.
HWY_API hn::Vec<DQ> BlendVector(VF a, VF b, VF factor) {
  const DF df;
  const VF value = hn::Add(a, hn::Mul(factor, hn::Sub(b, a)));
  const VF clamped = hn::Min(hn::Max(value, hn::Zero(df)), hn::Set(df, 255.0f));
  return hn::DemoteTo(DQ(), hn::ConvertTo(D32(), clamped));
}
#endif

void DoMaskAndInvert(const ImageView& in, uint8_t mask, int threshold, ImageTarget out) {
#if PENSTOCK_VECTOR_ADJUST
  const D8 d8;
  const ImageView flat = Flat(in, out);
  const size_t lanes = hn::Lanes(d8), bytes = flat.row_bytes(), channels = static_cast<size_t>(in.channels);
  const V8 masks = hn::Set(d8, mask), least = hn::Set(d8, static_cast<uint8_t>(threshold));
  const V8 ones = hn::Set(d8, threshold > 255 ? 0 : 255);
  const size_t whole = bytes / (lanes * channels) * channels;  // in vectors; the remainder starts at a pixel
  for (int y = 0; y < flat.height; ++y) {
    const uint8_t* from = flat.row(y);
    uint8_t* to = out.data + static_cast<size_t>(y) * out.stride;
    for (size_t i = 0; i < whole * lanes; i += lanes) {
      const V8 v = hn::LoadU(d8, from + i);
      const V8 turned = hn::And(hn::VecFromMask(d8, hn::Eq(hn::Max(v, least), v)), ones);  // v >= least
      hn::StoreU(hn::Xor(hn::And(v, masks), turned), d8, to + i);
    }
    const int done = static_cast<int>(whole * lanes / channels);
    MaskAndInvertScalar(Rest(flat, done, y, flat.width - done), mask, threshold,
                        RestTarget(out, whole * lanes, static_cast<size_t>(y)));
  }
#else
  MaskAndInvertScalar(in, mask, threshold, out);
#endif
}

void DoLookUp(const ImageView& in, const uint8_t* table, ImageTarget out) {
#if PENSTOCK_VECTOR_ADJUST
  const D8 d8;
  const SplitTable split = Split(table);
  const ImageView flat = Flat(in, out);
  const size_t lanes = hn::Lanes(d8), bytes = flat.row_bytes(), channels = static_cast<size_t>(in.channels);
  const size_t whole = bytes / (lanes * channels) * channels;
  for (int y = 0; y < flat.height; ++y) {
    const uint8_t* from = flat.row(y);
    uint8_t* to = out.data + static_cast<size_t>(y) * out.stride;
    for (size_t i = 0; i < whole * lanes; i += lanes) {
      hn::StoreU(LookUpVector(split, hn::LoadU(d8, from + i)), d8, to + i);
    }
    const int done = static_cast<int>(whole * lanes / channels);
    LookUpScalar(Rest(flat, done, y, flat.width - done), table, RestTarget(out, whole * lanes, static_cast<size_t>(y)));
  }
#else
  LookUpScalar(in, table, out);
#endif
}

void DoLookUpChannels(const ImageView& in, const PointTables& tables, ImageTarget out) {
#if PENSTOCK_VECTOR_ADJUST
  const D8 d8;
  const SplitTable red = Split(tables.of[0]), green = Split(tables.of[1]), blue = Split(tables.of[2]);
  const ImageView flat = Flat(in, out);
  const size_t lanes = hn::Lanes(d8), width = static_cast<size_t>(flat.width), whole = width / lanes * lanes;
  for (int y = 0; y < flat.height; ++y) {
    const uint8_t* from = flat.row(y);
    uint8_t* to = out.data + static_cast<size_t>(y) * out.stride;
    for (size_t x = 0; x < whole; x += lanes) {
      V8 r, g, b;
      hn::LoadInterleaved3(d8, from + 3 * x, r, g, b);
      hn::StoreInterleaved3(LookUpVector(red, r), LookUpVector(green, g), LookUpVector(blue, b), d8, to + 3 * x);
    }
    LookUpChannelsScalar(Rest(flat, static_cast<int>(whole), y, static_cast<int>(width - whole)), tables,
                         RestTarget(out, 3 * whole, static_cast<size_t>(y)));
  }
#else
  LookUpChannelsScalar(in, tables, out);
#endif
}

void DoFindRange(const ImageView& in, ChannelRange* range) {
#if PENSTOCK_VECTOR_ADJUST
  if (in.channels == 3 && in.width >= static_cast<int>(hn::Lanes(D8()))) {
    const D8 d8;
    const size_t lanes = hn::Lanes(d8), width = static_cast<size_t>(in.width);
    V8 low_r = hn::Set(d8, 255), low_g = low_r, low_b = low_r, high_r = hn::Zero(d8), high_g = high_r, high_b = high_r;
    for (int y = 0; y < in.height; ++y) {
      for (size_t x = 0; x < width; x += lanes) {
        V8 r, g, b;
        hn::LoadInterleaved3(d8, in.row(y) + 3 * std::min(x, width - lanes), r, g, b);
        low_r = hn::Min(low_r, r);
        low_g = hn::Min(low_g, g);
        low_b = hn::Min(low_b, b);
        high_r = hn::Max(high_r, r);
        high_g = hn::Max(high_g, g);
        high_b = hn::Max(high_b, b);
      }
    }
    alignas(64) uint8_t low[3][hn::MaxLanes(D8())], high[3][hn::MaxLanes(D8())];
    hn::Store(low_r, d8, low[0]);
    hn::Store(low_g, d8, low[1]);
    hn::Store(low_b, d8, low[2]);
    hn::Store(high_r, d8, high[0]);
    hn::Store(high_g, d8, high[1]);
    hn::Store(high_b, d8, high[2]);
    for (size_t c = 0; c < 3; ++c) {
      range->low[c] = *std::min_element(low[c], low[c] + lanes);
      range->high[c] = *std::max_element(high[c], high[c] + lanes);
    }
    return;
  }
#endif
  *range = FindRangeScalar(in);
}

uint64_t DoSumLuma(const ImageView& in) {
#if PENSTOCK_VECTOR_ADJUST
  const DQ dq;
  const D32 d32;
  const size_t lanes = hn::Lanes(d32), width = static_cast<size_t>(in.width), whole = width / lanes * lanes;
  uint64_t total = 0;
  for (int y = 0; y < in.height; ++y) {
    const uint8_t* from = in.row(y);
    V32 sum = hn::Zero(d32);  // fits a lane for rows of up to 2^23 pixels
    for (size_t x = 0; x < whole; x += lanes) {
      hn::Vec<DQ> r, g, b;
      hn::LoadInterleaved3(dq, from + 3 * x, r, g, b);
      sum = hn::Add(sum, LumaVector(ToFloat(r), ToFloat(g), ToFloat(b)));
    }
    alignas(64) int32_t lane[hn::MaxLanes(D32())];
    hn::Store(sum, d32, lane);
    for (size_t i = 0; i < lanes; ++i) total += static_cast<uint64_t>(lane[i]);
    total += SumLumaScalar(Rest(in, static_cast<int>(whole), y, static_cast<int>(width - whole)));
  }
  return total;
#else
  return SumLumaScalar(in);
#endif
}

// If `blend` is false, writes the luma itself.
void DoBlendLuma(const ImageView& in, bool blend, float factor, ImageTarget out) {
#if PENSTOCK_VECTOR_ADJUST
  const DQ dq;
  const DF df;
  const ImageView flat = Flat(in, out);
  const VF factors = hn::Set(df, factor);
  const size_t lanes = hn::Lanes(df), width = static_cast<size_t>(flat.width), whole = width / lanes * lanes;
  for (int y = 0; y < flat.height; ++y) {
    const uint8_t* from = flat.row(y);
    uint8_t* to = out.data + static_cast<size_t>(y) * out.stride;
    for (size_t x = 0; x < whole; x += lanes) {
      hn::Vec<DQ> r, g, b;
      hn::LoadInterleaved3(dq, from + 3 * x, r, g, b);
      const VF rf = ToFloat(r), gf = ToFloat(g), bf = ToFloat(b);
      const V32 luma = LumaVector(rf, gf, bf);
      if (blend) {
        const VF lf = hn::ConvertTo(df, luma);
        r = BlendVector(lf, rf, factors);
        g = BlendVector(lf, gf, factors);
        b = BlendVector(lf, bf, factors);
      } else {
        r = g = b = hn::DemoteTo(dq, luma);
      }
      hn::StoreInterleaved3(r, g, b, dq, to + 3 * x);
    }
    const ImageView rest = Rest(flat, static_cast<int>(whole), y, static_cast<int>(width - whole));
    const ImageTarget rest_out = RestTarget(out, 3 * whole, static_cast<size_t>(y));
    if (blend) {
      BlendLumaScalar(rest, factor, rest_out);
    } else {
      SpreadLumaScalar(rest, rest_out);
    }
  }
#else
  if (blend) {
    BlendLumaScalar(in, factor, out);
  } else {
    SpreadLumaScalar(in, out);
  }
#endif
}

void DoBlendSmoothRow(const uint8_t* above, const uint8_t* row, const uint8_t* below, size_t bytes, size_t channels,
                      float factor, uint8_t* out) {
#if PENSTOCK_VECTOR_ADJUST
  const DQ dq;
  const D32 d32;
  const DF df;
  const size_t lanes = hn::Lanes(d32), end = bytes - channels;
  const VF factors = hn::Set(df, factor);
  size_t i = channels;
  for (; i + lanes <= end; i += lanes) {
    const auto load = [&](const uint8_t* from) HWY_ATTR { return hn::PromoteTo(D32(), hn::LoadU(DQ(), from)); };
    const V32 middle = load(row + i);
    V32 sum = hn::Add(hn::ShiftLeft<2>(middle), hn::Set(d32, 6));
    for (const uint8_t* at : {above + i, row + i, below + i}) {
      sum = hn::Add(sum, hn::Add(load(at), hn::Add(load(at - channels), load(at + channels))));
    }
    // (s + 6) / 13 equals the scalar loop's (2 s + 13) / 26. 5042 / 2^16 is close enough to 1 / 13 for sums up to 5461.
    const V32 smooth = hn::ShiftRight<16>(hn::Mul(sum, hn::Set(d32, 5042)));
    hn::StoreU(BlendVector(hn::ConvertTo(df, smooth), hn::ConvertTo(df, middle), factors), dq, out + i);
  }
  const size_t back = i - channels;
  BlendSmoothRowScalar(above + back, row + back, below + back, bytes - back, channels, factor, out + back);
#else
  BlendSmoothRowScalar(above, row, below, bytes, channels, factor, out);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace penstock::image
HWY_AFTER_NAMESPACE();

#undef PENSTOCK_VECTOR_ADJUST

#if HWY_ONCE
namespace penstock::image {

HWY_EXPORT(DoMaskAndInvert);
HWY_EXPORT(DoLookUp);
HWY_EXPORT(DoLookUpChannels);
HWY_EXPORT(DoFindRange);
HWY_EXPORT(DoSumLuma);
HWY_EXPORT(DoBlendLuma);
HWY_EXPORT(DoBlendSmoothRow);

void MaskAndInvert(const ImageView& in, uint8_t mask, int threshold, ImageTarget out) {
  HWY_DYNAMIC_DISPATCH(DoMaskAndInvert)(in, mask, threshold, out);
}
void LookUp(const ImageView& in, const uint8_t table[256], ImageTarget out) {
  HWY_DYNAMIC_DISPATCH(DoLookUp)(in, table, out);
}
void LookUpChannels(const ImageView& in, const PointTables& tables, ImageTarget out) {
  HWY_DYNAMIC_DISPATCH(DoLookUpChannels)(in, tables, out);
}
ChannelRange FindRange(const ImageView& in) {
  ChannelRange range;
  HWY_DYNAMIC_DISPATCH(DoFindRange)(in, &range);
  return range;
}
uint64_t SumLuma(const ImageView& in) { return HWY_DYNAMIC_DISPATCH(DoSumLuma)(in); }
void SpreadLuma(const ImageView& in, ImageTarget out) { HWY_DYNAMIC_DISPATCH(DoBlendLuma)(in, false, 0, out); }
void BlendLuma(const ImageView& in, float factor, ImageTarget out) {
  HWY_DYNAMIC_DISPATCH(DoBlendLuma)(in, true, factor, out);
}
void BlendSmoothRow(const uint8_t* above, const uint8_t* row, const uint8_t* below, size_t bytes, size_t channels,
                    float factor, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(DoBlendSmoothRow)(above, row, below, bytes, channels, factor, out);
}
void TurnHue(const ImageView& in, uint8_t shift, ImageTarget out) { TurnHueScalar(in, shift, out); }

}  // namespace penstock::image
#endif  // HWY_ONCE
