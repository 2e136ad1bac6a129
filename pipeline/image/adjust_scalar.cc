// Scalar versions of the loops in adjust_loops.cc.
#include <cmath>
#include <cstring>

#include "pipeline/image/adjust_loops.h"
#include "pipeline/image/color.h"

namespace penstock::image {
namespace {

// Calls f(from, to) for each row.
template <typename F>
void ForRows(const ImageView& in, ImageTarget out, F f) {
  for (int y = 0; y < in.height; ++y) f(in.row(y), out.data + static_cast<size_t>(y) * out.stride);
}

// Pillow's Convert.c in fewer steps with the same rounding: float32 where it uses float, and double where a literal
// promotes to double. tests/pipeline/image/adjust_test.cc compares it with the steps of Convert.c.
struct Hsv {
  uint8_t h, s, v;
};

// Pillow's rgb2hsv_row. It computes (high - x) / range for three channels. One result is 0 and one is 1, so only the
// middle channel needs a division.
Hsv ToHsv(int r, int g, int b) {
  const int high = std::max(r, std::max(g, b)), low = std::min(r, std::min(g, b));
  if (high == low) return {0, 0, static_cast<uint8_t>(high)};
  const float range = static_cast<float>(high - low);
  const float s = range / static_cast<float>(high);
  const double middle = static_cast<double>(static_cast<float>(2 * high + low - r - g - b) / range);
  // The whole sixths of the hue, and whether the middle channel adds to them or subtracts from them.
  static constexpr double kBase[6] = {1, -1, 1, 3, 3, 5};
  static constexpr double kSign[6] = {-1, 1, 1, -1, 1, -1};
  const int kind = r == high ? (b == low ? 0 : 1) : g == high ? (b == low ? 2 : 3) : (r == low ? 4 : 5);
  const float sixths = static_cast<float>(kBase[kind] + kSign[kind] * middle);
  const double turned = static_cast<double>(sixths) / 6.0 + 1.0;  // in [5/6, 2)
  const float h = static_cast<float>(turned - (turned >= 1 ? 1.0 : 0.0));
  return {static_cast<uint8_t>(static_cast<int>(static_cast<double>(h) * 255.0)),
          static_cast<uint8_t>(static_cast<int>(static_cast<double>(s) * 255.0)), static_cast<uint8_t>(high)};
}

// The parts of hsv2rgb that depend on the hue alone or on the saturation alone.
struct HueTables {
  float fraction[256], saturation[256];
  uint8_t sector[256];

  HueTables() {
    for (int i = 0; i < 256; ++i) {
      const double six = static_cast<double>(static_cast<float>(i)) * 6.0 / 255.0;
      sector[i] = static_cast<uint8_t>(static_cast<int>(six) % 6);
      fraction[i] = static_cast<float>(six - std::floor(six));
      saturation[i] = static_cast<float>(static_cast<double>(static_cast<float>(i)) / 255.0);
    }
  }
};

// Pillow's hsv2rgb.
void FromHsv(const HueTables& tables, const Hsv& hsv, uint8_t* rgb) {
  if (hsv.s == 0) {
    rgb[0] = rgb[1] = rgb[2] = hsv.v;
    return;
  }
  const float f = tables.fraction[hsv.h], fs = tables.saturation[hsv.s];
  const double value = static_cast<double>(hsv.v);
  // The value is not negative, so truncation rounds down.
  const auto share = [&](double part) { return static_cast<uint8_t>(static_cast<int>(value * part + 0.5)); };
  const uint8_t parts[4] = {hsv.v, share(1.0 - static_cast<double>(fs)), share(1.0 - static_cast<double>(fs * f)),
                            share(1.0 - static_cast<double>(fs) * (1.0 - static_cast<double>(f)))};
  enum : uint8_t { kV, kP, kQ, kT };
  static constexpr uint8_t kParts[6][3] = {{kV, kT, kP}, {kQ, kV, kP}, {kP, kV, kT},
                                           {kP, kQ, kV}, {kT, kP, kV}, {kV, kP, kQ}};
  const uint8_t* const of = kParts[tables.sector[hsv.h]];
  for (int c = 0; c < 3; ++c) rgb[c] = parts[of[c]];
}

}  // namespace

void MaskAndInvertScalar(const ImageView& in, uint8_t mask, int threshold, ImageTarget out) {
  ForRows(in, out, [&](const uint8_t* from, uint8_t* to) {
    for (size_t i = 0; i < in.row_bytes(); ++i) {
      to[i] = static_cast<uint8_t>((from[i] & mask) ^ (from[i] >= threshold ? 0xFF : 0));
    }
  });
}

void LookUpScalar(const ImageView& in, const uint8_t table[256], ImageTarget out) {
  ForRows(in, out, [&](const uint8_t* from, uint8_t* to) {
    for (size_t i = 0; i < in.row_bytes(); ++i) to[i] = table[from[i]];
  });
}

void LookUpChannelsScalar(const ImageView& in, const PointTables& tables, ImageTarget out) {
  ForRows(in, out, [&](const uint8_t* from, uint8_t* to) {
    for (size_t i = 0; i < in.row_bytes(); i += 3) {
      const uint8_t r = tables.of[0][from[i]], g = tables.of[1][from[i + 1]], b = tables.of[2][from[i + 2]];
      to[i] = r;
      to[i + 1] = g;
      to[i + 2] = b;
    }
  });
}

ChannelRange FindRangeScalar(const ImageView& in) {
  ChannelRange range = {{255, 255, 255}, {0, 0, 0}};
  const size_t channels = static_cast<size_t>(in.channels);
  for (int y = 0; y < in.height; ++y) {
    const uint8_t* row = in.row(y);
    for (size_t i = 0; i < in.row_bytes(); ++i) {
      const size_t c = i % channels;
      range.low[c] = std::min(range.low[c], row[i]);
      range.high[c] = std::max(range.high[c], row[i]);
    }
  }
  return range;
}

uint64_t SumLumaScalar(const ImageView& in) {
  uint64_t sum = 0;
  for (int y = 0; y < in.height; ++y) {
    const uint8_t* row = in.row(y);
    for (size_t i = 0; i < in.row_bytes(); i += 3) sum += Luma(row[i], row[i + 1], row[i + 2]);
  }
  return sum;
}

void SpreadLumaScalar(const ImageView& in, ImageTarget out) {
  ForRows(in, out, [&](const uint8_t* from, uint8_t* to) {
    for (size_t i = 0; i < in.row_bytes(); i += 3) {
      to[i] = to[i + 1] = to[i + 2] = Luma(from[i], from[i + 1], from[i + 2]);
    }
  });
}

void BlendLumaScalar(const ImageView& in, float factor, ImageTarget out) {
  ForRows(in, out, [&](const uint8_t* from, uint8_t* to) {
    for (size_t i = 0; i < in.row_bytes(); i += 3) {
      const int luma = Luma(from[i], from[i + 1], from[i + 2]);
      for (size_t c = 0; c < 3; ++c) to[i + c] = BlendValue(luma, from[i + c], factor);
    }
  });
}

void BlendSmoothRowScalar(const uint8_t* above, const uint8_t* row, const uint8_t* below, size_t bytes, size_t channels,
                          float factor, uint8_t* out) {
  for (size_t i = channels; i + channels < bytes; ++i) {
    int sum = 4 * row[i];
    for (const uint8_t* at : {above + i, row + i, below + i}) sum += *(at - channels) + *at + *(at + channels);
    // 13 is odd, so there are no ties, and Pillow's float32 sum rounds to the same value.
    out[i] = BlendValue((2 * sum + 13) / 26, row[i], factor);
  }
}

void TurnHueScalar(const ImageView& in, uint8_t shift, ImageTarget out) {
  static const HueTables tables;
  ForRows(in, out, [&](const uint8_t* from, uint8_t* to) {
    for (size_t i = 0; i < in.row_bytes(); i += 3) {
      Hsv hsv = ToHsv(from[i], from[i + 1], from[i + 2]);
      hsv.h = static_cast<uint8_t>(hsv.h + shift);
      FromHsv(tables, hsv, to + i);
    }
  });
}

}  // namespace penstock::image
