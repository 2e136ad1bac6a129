#include "pipeline/image/blur.h"

#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/portable_math.h"

namespace penstock::image {
namespace {

constexpr int kOne = 1 << 14;

// Returns the index for `at` in a line of `size` values that is reflected at its ends.
int Reflect(int at, int size) {
  if (size == 1) return 0;
  const int period = 2 * (size - 1);
  at = ((at % period) + period) % period;
  return at < size ? at : period - at;
}

}  // namespace

std::vector<int16_t> GaussianWeights(int size, double sigma) {
  PS_CHECK(size % 2 == 1 && size >= 1 && size <= kMaxBlurSize && sigma > 0);
  const int radius = size / 2;
  std::vector<double> exact;
  double sum = 0;
  for (int i = 0; i <= radius; ++i) {
    const double x = i / sigma;
    exact.push_back(PortableExp(-0.5 * x * x));
    sum += i == 0 ? exact.back() : 2 * exact.back();
  }
  // Weights are rounded to nearest. The rounding error goes to the middle weight, so that a flat image stays unchanged.
  std::vector<int16_t> weights;
  int rest = kOne;
  for (int i = 0; i <= radius; ++i) {
    weights.push_back(static_cast<int16_t>(std::floor(exact[static_cast<size_t>(i)] / sum * kOne + 0.5)));
    rest -= i == 0 ? weights.back() : 2 * weights.back();
  }
  weights[0] = static_cast<int16_t>(weights[0] + rest);
  return weights;
}

size_t GaussianBlurBytes(int width, int channels, int size) {
  return (static_cast<size_t>(width) + static_cast<size_t>(size)) * static_cast<size_t>(channels) * sizeof(int16_t);
}

void GaussianBlur(const ImageView& in, const std::vector<int16_t>& weights, uint8_t* scratch, ImageTarget out) {
  const int radius = static_cast<int>(weights.size()) - 1;
  const size_t channels = static_cast<size_t>(in.channels), count = in.row_bytes();
  int16_t* const padded = reinterpret_cast<int16_t*>(scratch);
  int16_t* const middle = padded + static_cast<size_t>(radius) * channels;
  const uint8_t* rows[kMaxBlurSize];
  for (int y = 0; y < in.height; ++y) {
    for (int i = 0; i <= 2 * radius; ++i) rows[i] = in.row(Reflect(y + i - radius, in.height));
    BlurRows(rows, weights.data(), static_cast<size_t>(radius), count, middle);
    for (int i = 1; i <= radius; ++i) {
      const auto copy = [&](int to, int from) {
        for (int c = 0; c < in.channels; ++c) middle[to * in.channels + c] = middle[from * in.channels + c];
      };
      copy(-i, Reflect(-i, in.width));
      copy(in.width - 1 + i, Reflect(in.width - 1 + i, in.width));
    }
    BlurAlong(middle, weights.data(), static_cast<size_t>(radius), channels, count,
              out.data + static_cast<size_t>(y) * out.stride);
  }
}

void BlurRowsScalar(const uint8_t* const* rows, const int16_t* weights, size_t radius, size_t count, int16_t* out) {
  for (size_t x = 0; x < count; ++x) {
    int sum = 64 + weights[0] * rows[radius][x];
    for (size_t k = 1; k <= radius; ++k) sum += weights[k] * (rows[radius - k][x] + rows[radius + k][x]);
    out[x] = static_cast<int16_t>(sum >> 7);
  }
}

void BlurAlongScalar(const int16_t* row, const int16_t* weights, size_t radius, size_t channels, size_t count,
                     uint8_t* out) {
  for (size_t x = 0; x < count; ++x) {
    int sum = (1 << 20) + weights[0] * row[x];
    for (size_t k = 1; k <= radius; ++k) sum += weights[k] * (*(row + x - k * channels) + row[x + k * channels]);
    out[x] = static_cast<uint8_t>(sum >> 21);
  }
}

}  // namespace penstock::image
