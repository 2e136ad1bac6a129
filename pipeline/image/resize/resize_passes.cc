#include "pipeline/image/resize/resize_passes.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/image/resize/resize_passes.cc"
#include "hwy/foreach_target.h"
// Must follow foreach_target.h.
#include "hwy/highway.h"

// The vector loops need targets whose ReorderDemote2To keeps the order within 128-bit blocks.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128 && (HWY_ARCH_X86 || HWY_TARGET == HWY_NEON)
#define PENSTOCK_VECTOR_RESIZE 1
#else
#define PENSTOCK_VECTOR_RESIZE 0
#endif

HWY_BEFORE_NAMESPACE();
namespace penstock::image {
namespace HWY_NAMESPACE {

#if PENSTOCK_VECTOR_RESIZE
namespace hn = hwy::HWY_NAMESPACE;

// HWY_API makes these helpers static. The files of this folder share this namespace, so the linker could otherwise
// merge a helper that is not inlined with another file's function of the same name. Without optimization nothing is
// inlined.

// At most 32 bytes: one or two blocks of 16.
using D8 = hn::CappedTag<uint8_t, 32>;
using D16 = hn::Repartition<int16_t, D8>;
using D32 = hn::Repartition<int32_t, D8>;
using Block = hn::FixedTag<uint8_t, 16>;
using V8 = hn::Vec<D8>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;
constexpr size_t kBytes = hn::MaxLanes(D8());
constexpr size_t kRows = kBytes / 16;

// Returns sum + a[2i] * b[2i] + a[2i + 1] * b[2i + 1] in lane i.
HWY_API V32 AddPairs(V16 a, V16 b, V32 sum) {
  const D32 d32;
  // Products are in the order of the CPU until RearrangeToOddPlusEven, so `sum` is added after it.
  V32 odd = hn::Zero(d32);
  const V32 even = hn::ReorderWidenMulAccumulate(d32, a, b, hn::Zero(d32), odd);
  return hn::Add(sum, hn::RearrangeToOddPlusEven(even, odd));
}

HWY_API V16 Weights(int32_t pair) {
  const D32 d32;
  return hn::BitCast(D16(), hn::Set(d32, pair));
}

// Returns lo + hi * 2^15 as integer pixels, which may be out of range. `lo` starts at one half, for rounding.
HWY_API V32 Finish(V32 lo, V32 hi) { return hn::ShiftRight<kWeightBits>(hn::Add(lo, hn::ShiftLeft<15>(hi))); }

// Packs two vectors of 32-bit pixels into one of 16-bit pixels, block by block, clipped to 0 .. 255.
HWY_API V16 Clip(V32 a, V32 b) {
  const D16 d16;
  const V16 both = hn::ReorderDemote2To(d16, a, b);
  return hn::Min(hn::Max(both, hn::Zero(d16)), hn::Set(d16, 255));
}

// Loads block r from row r.
HWY_API V8 LoadRows(const uint8_t* const* rows, size_t offset) {
  const D8 d8;
  if constexpr (kRows == 2) {
    const hn::Half<D8> half;
    return hn::Combine(d8, hn::LoadU(half, rows[1] + offset), hn::LoadU(half, rows[0] + offset));
  } else {
    return hn::LoadU(d8, rows[0] + offset);
  }
}

HWY_API void StoreRows(V8 v, uint8_t* const* rows, size_t offset) {
  if constexpr (kRows == 2) {
    const hn::Half<D8> half;
    hn::StoreU(hn::LowerHalf(half, v), half, rows[0] + offset);
    hn::StoreU(hn::UpperHalf(half, v), half, rows[1] + offset);
  } else {
    hn::StoreU(v, D8(), rows[0] + offset);
  }
}

constexpr uint8_t kZero = 0x80;  // makes TableLookupBytesOr0 return 0
// Select taps 0 and 1 (2 and 3) of each channel of four RGB pixels, adjacent, in 16 bits each.
alignas(16) constexpr uint8_t kTaps01[16] = {0, kZero, 3, kZero, 1,     kZero, 4,     kZero,
                                             2, kZero, 5, kZero, kZero, kZero, kZero, kZero};
alignas(16) constexpr uint8_t kTaps23[16] = {6, kZero, 9,  kZero, 7,     kZero, 10,    kZero,
                                             8, kZero, 11, kZero, kZero, kZero, kZero, kZero};
// Pack two pixels of 4 x 16 bits into 6 bytes, at byte 0 and at byte 6.
alignas(16) constexpr uint8_t kPack0[16] = {0,     2,     4,     8,     10,    12,    kZero, kZero,
                                            kZero, kZero, kZero, kZero, kZero, kZero, kZero, kZero};
alignas(16) constexpr uint8_t kPack6[16] = {kZero, kZero, kZero, kZero, kZero, kZero, 0,     2,
                                            4,     8,     10,    12,    kZero, kZero, kZero, kZero};

// The weights of a table's outputs, as locals, because stores of bytes may alias data behind a reference.
struct Weighted {
  const int32_t* first;
  const int32_t* lo;
  const int32_t* hi;
  size_t outputs, words;
};

// Computes one output pixel of each row. Two vectors of rows share the loads of the weights.
HWY_API void FilterPixel(const Weighted& w, const uint8_t* const* rows, size_t i, V8 taps01, V8 taps23, V32* pixel0,
                         V32* pixel1) {
  const D16 d16;
  const D32 d32;
  size_t offset = static_cast<size_t>(w.first[i]) * 3;
  const int32_t* lo = w.lo + i * w.words;
  const int32_t* hi = w.hi + i * w.words;
  V32 lo0 = hn::Set(d32, 1 << (kWeightBits - 1)), lo1 = lo0;
  V32 hi0 = hn::Zero(d32), hi1 = hi0;
  for (size_t p = 0; p < w.words; p += 2, offset += 12) {
    const V8 pixels0 = LoadRows(rows, offset), pixels1 = LoadRows(rows + kRows, offset);
    const V16 a0 = hn::BitCast(d16, hn::TableLookupBytesOr0(pixels0, taps01));
    const V16 a1 = hn::BitCast(d16, hn::TableLookupBytesOr0(pixels1, taps01));
    const V16 b0 = hn::BitCast(d16, hn::TableLookupBytesOr0(pixels0, taps23));
    const V16 b1 = hn::BitCast(d16, hn::TableLookupBytesOr0(pixels1, taps23));
    const V16 lo_a = Weights(lo[p]), hi_a = Weights(hi[p]);
    const V16 lo_b = Weights(lo[p + 1]), hi_b = Weights(hi[p + 1]);
    lo0 = AddPairs(b0, lo_b, AddPairs(a0, lo_a, lo0));
    lo1 = AddPairs(b1, lo_b, AddPairs(a1, lo_a, lo1));
    hi0 = AddPairs(b0, hi_b, AddPairs(a0, hi_a, hi0));
    hi1 = AddPairs(b1, hi_b, AddPairs(a1, hi_a, hi1));
  }
  *pixel0 = Finish(lo0, hi0);
  *pixel1 = Finish(lo1, hi1);
}

// Packs four pixels of one vector of rows into 12 bytes each, followed by four unused bytes.
HWY_API V8 PackPixels(const V32* pixel, V8 pack0, V8 pack6) {
  const D8 d8;
  const V8 front = hn::BitCast(d8, Clip(pixel[0], pixel[1]));
  const V8 back = hn::BitCast(d8, Clip(pixel[2], pixel[3]));
  return hn::Or(hn::TableLookupBytesOr0(front, pack0), hn::TableLookupBytesOr0(back, pack6));
}

// Filters 2 * kRows rows. May read up to 4 bytes past the last tap's group of four pixels. Writes nothing past the last
// output.
HWY_API void HorizontalRows(const Weighted& w, const uint8_t* const* in, uint8_t* const* out) {
  const D8 d8;
  const V8 taps01 = hn::LoadDup128(d8, kTaps01), taps23 = hn::LoadDup128(d8, kTaps23);
  const V8 pack0 = hn::LoadDup128(d8, kPack0), pack6 = hn::LoadDup128(d8, kPack6);
  V32 pixel0[4], pixel1[4];
  size_t i = 0;
  for (; i + 6 <= w.outputs; i += 4) {  // room for 18 bytes: the next store overwrites the four excess bytes
    for (size_t k = 0; k < 4; ++k) FilterPixel(w, in, i + k, taps01, taps23, &pixel0[k], &pixel1[k]);
    StoreRows(PackPixels(pixel0, pack0, pack6), out, i * 3);
    StoreRows(PackPixels(pixel1, pack0, pack6), out + kRows, i * 3);
  }
  for (; i < w.outputs; i += 4) {
    for (size_t k = 0; k < 4; ++k) {
      FilterPixel(w, in, std::min(i + k, w.outputs - 1), taps01, taps23, &pixel0[k], &pixel1[k]);
    }
    alignas(16) uint8_t last[2 * kRows][16];
    uint8_t* rows[2 * kRows];
    for (size_t r = 0; r < 2 * kRows; ++r) rows[r] = last[r];
    StoreRows(PackPixels(pixel0, pack0, pack6), rows, 0);
    StoreRows(PackPixels(pixel1, pack0, pack6), rows + kRows, 0);
    for (size_t r = 0; r < 2 * kRows; ++r) {
      std::memcpy(out[r] + i * 3, last[r], std::min<size_t>(4, w.outputs - i) * 3);
    }
  }
}

// Returns in lane k of each block the sum of the lanes of v[k]'s block.
HWY_API V32 SumLanes(const V32* v) {
  const D32 d32;
  const hn::Repartition<int64_t, D32> d64;
  const auto pair = [&](V32 a, V32 b) {  // a0 + a2, b0 + b2, a1 + a3, b1 + b3
    return hn::BitCast(d64, hn::Add(hn::InterleaveLower(d32, a, b), hn::InterleaveUpper(d32, a, b)));
  };
  const auto front = pair(v[0], v[1]), back = pair(v[2], v[3]);
  return hn::Add(hn::BitCast(d32, hn::InterleaveLower(d64, front, back)),
                 hn::BitCast(d32, hn::InterleaveUpper(d64, front, back)));
}

// Computes four gray outputs of each row from i on, as integer pixels that may be out of range. Past the end, it
// repeats the last output.
HWY_API void FilterGray(const Weighted& w, const uint8_t* const* rows, size_t i, V32* pixel0, V32* pixel1) {
  const D8 d8;
  const D16 d16;
  const D32 d32;
  V32 sum0[4], sum1[4];
  for (size_t k = 0; k < 4; ++k) {
    const size_t o = std::min(i + k, w.outputs - 1);
    size_t offset = static_cast<size_t>(w.first[o]);
    const int32_t* lo = w.lo + o * w.words;
    const int32_t* hi = w.hi + o * w.words;
    V32 lo0 = hn::Zero(d32), lo1 = lo0, hi0 = lo0, hi1 = lo0;
    for (size_t p = 0; p < w.words; p += 4, offset += 8) {
      const V16 a0 = hn::BitCast(d16, hn::InterleaveLower(d8, LoadRows(rows, offset), hn::Zero(d8)));
      const V16 a1 = hn::BitCast(d16, hn::InterleaveLower(d8, LoadRows(rows + kRows, offset), hn::Zero(d8)));
      const V16 weight_lo = hn::BitCast(d16, hn::LoadDup128(d32, lo + p));
      const V16 weight_hi = hn::BitCast(d16, hn::LoadDup128(d32, hi + p));
      lo0 = AddPairs(a0, weight_lo, lo0);
      lo1 = AddPairs(a1, weight_lo, lo1);
      hi0 = AddPairs(a0, weight_hi, hi0);
      hi1 = AddPairs(a1, weight_hi, hi1);
    }
    sum0[k] = hn::Add(lo0, hn::ShiftLeft<15>(hi0));
    sum1[k] = hn::Add(lo1, hn::ShiftLeft<15>(hi1));
  }
  const V32 half = hn::Set(d32, 1 << (kWeightBits - 1));
  *pixel0 = hn::ShiftRight<kWeightBits>(hn::Add(SumLanes(sum0), half));
  *pixel1 = hn::ShiftRight<kWeightBits>(hn::Add(SumLanes(sum1), half));
}

// Filters like HorizontalRows, with one channel. May read up to 8 bytes past the last tap's group of eight.
HWY_API void HorizontalGrayRows(const Weighted& w, const uint8_t* const* in, uint8_t* const* out) {
  const D8 d8;
  for (size_t i = 0; i < w.outputs; i += 8) {
    V32 front[2], back[2];
    FilterGray(w, in, i, &front[0], &front[1]);
    FilterGray(w, in, i + 4, &back[0], &back[1]);
    // Each block holds eight pixels of 16 bits.
    alignas(32) uint8_t wide[2][kBytes];
    hn::Store(hn::BitCast(d8, Clip(front[0], back[0])), d8, wide[0]);
    hn::Store(hn::BitCast(d8, Clip(front[1], back[1])), d8, wide[1]);
    const size_t count = std::min<size_t>(8, w.outputs - i);
    for (size_t r = 0; r < 2 * kRows; ++r) {
      const uint8_t* pixels = wide[r / kRows] + r % kRows * 16;
      for (size_t k = 0; k < count; ++k) out[r][i + k] = pixels[2 * k];
    }
  }
}

void HorizontalAny(const FilterTable& table, const PairTable& pairs, const ImageView& source, uint8_t* out,
                   size_t stride, std::vector<uint8_t>* padded) {
  const Weighted w{table.first.data(), pairs.lo.data(), pairs.hi.data(), table.first.size(),
                   static_cast<size_t>(pairs.pairs)};
  // The number of bytes that are read of a row.
  const size_t channels = static_cast<size_t>(source.channels), slack = channels == 1 ? 8 : 4;
  size_t reach = 0;
  for (const int32_t first : table.first) {
    reach = std::max(reach, (static_cast<size_t>(first) + w.words * 2) * channels + slack);
  }
  const size_t bytes = source.row_bytes();
  reach = std::max(reach, bytes);
  if (padded->size() < 2 * kRows * reach) padded->resize(2 * kRows * reach);
  const size_t height = static_cast<size_t>(source.height);
  for (size_t y = 0; y < height; y += 2 * kRows) {
    const uint8_t* in[2 * kRows];
    uint8_t* to[2 * kRows];
    for (size_t r = 0; r < 2 * kRows; ++r) {
      const size_t from = std::min(y + r, height - 1);
      in[r] = source.row(static_cast<int>(from));
      to[r] = out + from * stride;
      // Near the end of the image a row is copied, so that nothing past the image is read.
      if ((height - 1 - from) * source.stride + bytes < reach) {
        uint8_t* copy = padded->data() + r * reach;
        std::memcpy(copy, in[r], bytes);
        in[r] = copy;
      }
    }
    if (channels == 1) {
      HorizontalGrayRows(w, in, to);
      continue;
    }
    // Shrinking by less than two needs at most four taps. A constant lets the compiler unroll the loop.
    if (w.words == 2) {
      HorizontalRows({w.first, w.lo, w.hi, w.outputs, 2}, in, to);
    } else {
      HorizontalRows(w, in, to);
    }
  }
}

// Computes kBytes values of one output row.
HWY_API V8 FilterColumn(const int32_t* lo, const int32_t* hi, size_t words, const uint8_t* from, size_t stride,
                        size_t count) {
  const D8 d8;
  const D16 d16;
  const D32 d32;
  const V8 zero = hn::Zero(d8);
  V32 lo0 = hn::Set(d32, 1 << (kWeightBits - 1)), lo1 = lo0, lo2 = lo0, lo3 = lo0;
  V32 hi0 = hn::Zero(d32), hi1 = hi0, hi2 = hi0, hi3 = hi0;
  for (size_t p = 0; p < words && 2 * p < count; ++p, from += 2 * stride) {
    const V8 a = hn::LoadU(d8, from);
    // An odd last tap has no partner. The partner's weight is 0, so any row serves.
    const V8 b = hn::LoadU(d8, 2 * p + 1 < count ? from + stride : from);
    const V8 ab_front = hn::InterleaveLower(d8, a, b), ab_back = hn::InterleaveUpper(d8, a, b);
    const V16 v0 = hn::BitCast(d16, hn::InterleaveLower(d8, ab_front, zero));
    const V16 v1 = hn::BitCast(d16, hn::InterleaveUpper(d8, ab_front, zero));
    const V16 v2 = hn::BitCast(d16, hn::InterleaveLower(d8, ab_back, zero));
    const V16 v3 = hn::BitCast(d16, hn::InterleaveUpper(d8, ab_back, zero));
    const V16 weight_lo = Weights(lo[p]), weight_hi = Weights(hi[p]);
    lo0 = AddPairs(v0, weight_lo, lo0);
    lo1 = AddPairs(v1, weight_lo, lo1);
    lo2 = AddPairs(v2, weight_lo, lo2);
    lo3 = AddPairs(v3, weight_lo, lo3);
    hi0 = AddPairs(v0, weight_hi, hi0);
    hi1 = AddPairs(v1, weight_hi, hi1);
    hi2 = AddPairs(v2, weight_hi, hi2);
    hi3 = AddPairs(v3, weight_hi, hi3);
  }
  // Even bytes hold the pixels of 16 bits each. Two table lookups join them block by block.
  alignas(16) static constexpr uint8_t kFront[16] = {0,     2,     4,     6,     8,     10,    12,    14,
                                                     kZero, kZero, kZero, kZero, kZero, kZero, kZero, kZero};
  alignas(16) static constexpr uint8_t kBack[16] = {kZero, kZero, kZero, kZero, kZero, kZero, kZero, kZero,
                                                    0,     2,     4,     6,     8,     10,    12,    14};
  const V8 front = hn::BitCast(d8, Clip(Finish(lo0, hi0), Finish(lo1, hi1)));
  const V8 back = hn::BitCast(d8, Clip(Finish(lo2, hi2), Finish(lo3, hi3)));
  return hn::Or(hn::TableLookupBytesOr0(front, hn::LoadDup128(d8, kFront)),
                hn::TableLookupBytesOr0(back, hn::LoadDup128(d8, kBack)));
}

void VerticalRows(const FilterTable& table, const PairTable& pairs, OutputRange range, const ImageView& source,
                  int first, uint8_t* out, size_t stride) {
  const D8 d8;
  const size_t bytes = source.row_bytes(), words = static_cast<size_t>(pairs.pairs);
  for (size_t i = static_cast<size_t>(range.begin); i < static_cast<size_t>(range.end); ++i, out += stride) {
    const int32_t* lo = pairs.lo.data() + i * words;
    const int32_t* hi = pairs.hi.data() + i * words;
    const uint8_t* from = source.row(table.first[i] - first);
    const size_t count = static_cast<size_t>(table.count[i]);
    for (size_t x = 0; x < bytes; x += kBytes) {
      // The last vector overlaps the previous one.
      const size_t at = std::min(x, bytes - kBytes);
      hn::StoreU(FilterColumn(lo, hi, words, from + at, source.stride, count), d8, out + at);
    }
  }
}
#endif  // PENSTOCK_VECTOR_RESIZE

void Horizontal(const FilterTable& table, const PairTable& pairs, const ImageView& source, uint8_t* out, size_t stride,
                std::vector<uint8_t>* padded) {
#if PENSTOCK_VECTOR_RESIZE
  return HorizontalAny(table, pairs, source, out, stride, padded);
#else
  (void)pairs;
  (void)padded;
  HorizontalPassScalar(table, source, out, stride);
#endif
}

void Vertical(const FilterTable& table, const PairTable& pairs, OutputRange range, const ImageView& source, int first,
              uint8_t* out, size_t stride) {
#if PENSTOCK_VECTOR_RESIZE
  if (source.row_bytes() >= kBytes) return VerticalRows(table, pairs, range, source, first, out, stride);
#endif
  (void)pairs;
  VerticalPassScalar(table, range, source, first, out, stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace penstock::image
HWY_AFTER_NAMESPACE();

#undef PENSTOCK_VECTOR_RESIZE

#if HWY_ONCE
namespace penstock::image {

HWY_EXPORT(Horizontal);
HWY_EXPORT(Vertical);

void HorizontalPass(const FilterTable& table, const PairTable& pairs, const ImageView& source, uint8_t* out,
                    size_t stride, std::vector<uint8_t>* padded) {
  HWY_DYNAMIC_DISPATCH(Horizontal)(table, pairs, source, out, stride, padded);
}

void VerticalPass(const FilterTable& table, const PairTable& pairs, OutputRange range, const ImageView& source,
                  int first, uint8_t* out, size_t stride) {
  HWY_DYNAMIC_DISPATCH(Vertical)(table, pairs, range, source, first, out, stride);
}

}  // namespace penstock::image
#endif  // HWY_ONCE
