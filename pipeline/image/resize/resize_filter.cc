#include "pipeline/image/resize/resize_filter.h"

#include <algorithm>
#include <cmath>

#include "base/portable_math.h"
#include "pipeline/image/resize/bilinear_table.h"

namespace penstock::image {
namespace {

constexpr double kPi = 3.14159265358979323846;

double Sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= kPi;
  return PortableSin(x) / x;
}

double Weight(ResizeFilter filter, double x) {
  switch (filter) {
    case ResizeFilter::kBox:
      return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
    case ResizeFilter::kBilinear:
      x = std::fabs(x);
      return x < 1.0 ? 1.0 - x : 0.0;
    case ResizeFilter::kHamming:
      x = std::fabs(x);
      if (x == 0.0) return 1.0;
      if (x >= 1.0) return 0.0;
      x *= kPi;
      // Pillow's two constants have single precision.
      return PortableSin(x) / x * (static_cast<double>(0.54f) + static_cast<double>(0.46f) * PortableCos(x));
    case ResizeFilter::kBicubic: {
      // Keys' cubic convolution with a = -1/2.
      constexpr double a = -0.5;
      x = std::fabs(x);
      if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
      if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
      return 0.0;
    }
    case ResizeFilter::kLanczos:
      return x >= -3.0 && x < 3.0 ? Sinc(x) * Sinc(x / 3) : 0.0;
    case ResizeFilter::kNearest:
      break;
  }
  return 0.0;
}

struct Axis {
  double scale, filter_scale, support;

  Axis(ResizeFilter filter, int in_size, int out_size)
      : scale(static_cast<double>(in_size) / out_size),
        filter_scale(std::max(scale, 1.0)),
        support(FilterSupport(filter) * filter_scale) {}

  double Center(int i) const { return (i + 0.5) * scale; }
  int MaxTaps() const { return static_cast<int>(std::ceil(support)) * 2 + 1; }
};

void Reach(const Axis& axis, int in_size, int i, int32_t* first, int32_t* count) {
  const double center = axis.Center(i);
  *first = std::max(0, static_cast<int>(center - axis.support + 0.5));
  *count = std::min(in_size, static_cast<int>(center + axis.support + 0.5)) - *first;
}

}  // namespace

double FilterSupport(ResizeFilter filter) {
  switch (filter) {
    case ResizeFilter::kBox:
      return 0.5;
    case ResizeFilter::kBilinear:
    case ResizeFilter::kHamming:
      return 1.0;
    case ResizeFilter::kBicubic:
      return 2.0;
    case ResizeFilter::kLanczos:
      return 3.0;
    case ResizeFilter::kNearest:
      break;
  }
  return 0.0;
}

size_t FilterTable::held_bytes() const {
  return (first.capacity() + count.capacity() + weight.capacity()) * sizeof(int32_t) +
         unrounded.capacity() * sizeof(double);
}

void FilterReach(ResizeFilter filter, int in_size, int out_size, int i, int32_t* first, int32_t* count) {
  Reach(Axis(filter, in_size, out_size), in_size, i, first, count);
}

int FilterTaps(ResizeFilter filter, int in_size, int out_size) {
  return std::min(Axis(filter, in_size, out_size).MaxTaps(), in_size + 1);
}

size_t FilterTableBytes(ResizeFilter filter, int in_size, int out_size, int outputs) {
  const size_t taps = static_cast<size_t>(FilterTaps(filter, in_size, out_size));
  return static_cast<size_t>(outputs) * (taps + 2) * sizeof(int32_t) + taps * sizeof(double);
}

void BuildFilterTable(ResizeFilter filter, int in_size, int out_size, int begin, int end, bool mirror,
                      FilterTable* table) {
  const Axis axis(filter, in_size, out_size);
  const size_t outputs = static_cast<size_t>(end - begin);
  table->taps = FilterTaps(filter, in_size, out_size);
  const size_t taps = static_cast<size_t>(table->taps);
  table->first.resize(outputs);
  table->count.resize(outputs);
  table->weight.assign(outputs * taps, 0);
  if (filter == ResizeFilter::kBilinear) {
    FillBilinearTable(in_size, out_size, begin, mirror, table);
    return;
  }
  table->unrounded.resize(taps);
  const double inverse = 1.0 / axis.filter_scale;
  for (size_t o = 0; o < outputs; ++o) {
    const int i = mirror ? end - 1 - static_cast<int>(o) : begin + static_cast<int>(o);
    Reach(axis, in_size, i, &table->first[o], &table->count[o]);
    const double center = axis.Center(i);
    double sum = 0.0;
    const int count = table->count[o];
    for (int t = 0; t < count; ++t) {
      const double w = Weight(filter, (t + table->first[o] - center + 0.5) * inverse);
      table->unrounded[static_cast<size_t>(t)] = w;
      sum += w;
    }
    for (int t = 0; t < count; ++t) {
      double w = table->unrounded[static_cast<size_t>(t)];
      if (sum != 0.0) w /= sum;
      w *= 1 << kWeightBits;
      table->weight[o * taps + static_cast<size_t>(t)] = static_cast<int32_t>(w < 0 ? w - 0.5 : w + 0.5);
    }
  }
}

void BuildNearestTable(int in_size, int out_size, int begin, int end, bool mirror, std::vector<int32_t>* index) {
  // Sums positions step by step like Pillow, so that both round alike.
  const double step = static_cast<double>(in_size) / out_size;
  double position = step * 0.5;
  index->resize(static_cast<size_t>(end - begin));
  for (int i = 0; i < end; ++i, position += step) {
    if (i < begin) continue;
    const size_t o = static_cast<size_t>(mirror ? end - 1 - i : i - begin);
    (*index)[o] = std::min(in_size - 1, static_cast<int32_t>(position));
  }
}

}  // namespace penstock::image
