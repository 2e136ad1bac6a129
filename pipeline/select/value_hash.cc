#include "pipeline/select/value_hash.h"

#include <xxhash.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace penstock::select {
namespace {

constexpr uint64_t kNanBits = 0x7ff8000000000000;

uint64_t BitsOf(double value) {
  if (std::isnan(value)) return kNanBits;
  return std::bit_cast<uint64_t>(value == 0 ? 0.0 : value);
}

}  // namespace

uint64_t HashWithSeed(const Value& value, uint64_t seed) {
  static_assert(std::endian::native == std::endian::little, "numbers are hashed as little-endian bytes");
  PS_CHECK(value.state == Value::State::kPresent && value.type != Type::kBool);
  if (value.type == Type::kString) return XXH3_64bits_withSeed(value.text.data(), value.text.size(), seed);
  const uint64_t bits = value.type == Type::kInt64 ? static_cast<uint64_t>(value.integer) : BitsOf(value.real);
  return XXH3_64bits_withSeed(&bits, sizeof(bits), seed);
}

int64_t HashValue(const Value& value) {
  return static_cast<int64_t>(HashWithSeed(value, 0) & static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
}

}  // namespace penstock::select
