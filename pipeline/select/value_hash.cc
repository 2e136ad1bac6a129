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

int64_t HashValue(const Value& value) {
  static_assert(std::endian::native == std::endian::little, "numbers are hashed as little-endian bytes");
  PS_CHECK(value.state == Value::State::kPresent && value.type != Type::kBool);
  uint64_t hash = 0;
  if (value.type == Type::kString) {
    hash = XXH3_64bits(value.text.data(), value.text.size());
  } else {
    const uint64_t bits = value.type == Type::kInt64 ? static_cast<uint64_t>(value.integer) : BitsOf(value.real);
    hash = XXH3_64bits(&bits, sizeof(bits));
  }
  return static_cast<int64_t>(hash & static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
}

}  // namespace penstock::select
