// Changes of single values; see adjust.h.
#include <cmath>
#include <cstring>

#include "base/portable_math.h"
#include "pipeline/image/adjust.h"
#include "pipeline/image/adjust_loops.h"

namespace penstock::image {
namespace {

void LookUpEach(const ImageView& in, const PointTables& tables, ImageTarget out) {
  if (in.channels == 3) {
    LookUpChannels(in, tables, out);
  } else {
    LookUp(in, tables.of[0], out);
  }
}

struct Histogram {
  uint32_t count[3][256] = {};
};

// Counts in two histograms, so that runs of one value do not stall on a single counter.
Histogram CountValues(const ImageView& in) {
  Histogram even, odd;
  const size_t channels = static_cast<size_t>(in.channels), bytes = in.row_bytes();
  for (int y = 0; y < in.height; ++y) {
    const uint8_t* row = in.row(y);
    size_t i = 0;
    if (channels == 3) {
      for (; i + 6 <= bytes; i += 6) {
        for (size_t c = 0; c < 3; ++c) {
          ++even.count[c][row[i + c]];
          ++odd.count[c][row[i + 3 + c]];
        }
      }
    }
    for (; i < bytes; i += channels) {
      for (size_t c = 0; c < channels; ++c) ++even.count[c][row[i + c]];
    }
  }
  for (size_t c = 0; c < channels; ++c) {
    for (size_t i = 0; i < 256; ++i) even.count[c][i] += odd.count[c][i];
  }
  return even;
}

// Pillow's ImageOps.equalize: steps of equal counts. The total excludes the pixels of the largest value.
void EqualizeTable(const uint32_t* count, uint8_t* table) {
  uint64_t sum = 0, last = 0;
  for (int i = 0; i < 256; ++i) {
    sum += count[i];
    if (count[i] != 0) last = count[i];
  }
  const uint64_t step = (sum - last) / 255;
  uint64_t n = step / 2;
  for (int i = 0; i < 256; ++i) {
    table[i] = step == 0 ? static_cast<uint8_t>(i) : static_cast<uint8_t>(std::min<uint64_t>(n / step, 255));
    n += count[i];
  }
}

// Pillow's ImageOps.autocontrast: Python's int(x * scale + offset) in double precision.
void AutocontrastTable(int low, int high, uint8_t* table) {
  const double scale = high > low ? 255.0 / (high - low) : 1.0;
  const double offset = high > low ? -low * scale : 0.0;
  for (int i = 0; i < 256; ++i) table[i] = ClipToByte(static_cast<int>(i * scale + offset));
}

}  // namespace

void CopyPixels(const ImageView& in, ImageTarget out) {
  for (int y = 0; y < in.height; ++y) {
    uint8_t* to = out.data + static_cast<size_t>(y) * out.stride;
    if (to != in.row(y)) std::memcpy(to, in.row(y), in.row_bytes());
  }
}

void Posterize(const ImageView& in, int bits, ImageTarget out) {
  MaskAndInvert(in, static_cast<uint8_t>(0xFF00 >> bits), 256, out);
}

void Solarize(const ImageView& in, int threshold, ImageTarget out) {
  MaskAndInvert(in, 0xFF, std::clamp(threshold, 0, 256), out);
}

void Invert(const ImageView& in, ImageTarget out) { MaskAndInvert(in, 0xFF, 0, out); }

void Equalize(const ImageView& in, ImageTarget out) {
  const Histogram histogram = CountValues(in);
  PointTables tables;
  for (int c = 0; c < in.channels; ++c) EqualizeTable(histogram.count[c], tables.of[c]);
  LookUpEach(in, tables, out);
}

void Autocontrast(const ImageView& in, ImageTarget out) {
  const ChannelRange range = FindRange(in);
  PointTables tables;
  for (int c = 0; c < in.channels; ++c) AutocontrastTable(range.low[c], range.high[c], tables.of[c]);
  LookUpEach(in, tables, out);
}

void AdjustGamma(const ImageView& in, double gamma, ImageTarget out) {
  uint8_t table[256] = {0};
  for (int i = 1; i < 256; ++i) {
    table[i] = ClipToByte(static_cast<int>(std::floor(255.0 * PortableExp(gamma * PortableLog(i / 255.0)) + 0.5)));
  }
  LookUp(in, table, out);
}

void AddToChannels(const ImageView& in, const float offset[3], ImageTarget out) {
  PointTables tables;
  for (int c = 0; c < in.channels; ++c) {
    const double bounded = std::clamp(static_cast<double>(offset[c]), -256.0, 256.0);
    const int whole = static_cast<int>(std::floor(bounded + 0.5));
    for (int i = 0; i < 256; ++i) tables.of[c][i] = ClipToByte(i + whole);
  }
  LookUpEach(in, tables, out);
}

}  // namespace penstock::image
