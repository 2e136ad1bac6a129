#include "pipeline/plan/permutation.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace penstock::plan {
namespace {

// SplitMix64's output function (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// The round function: the high bits of two multiplications with a fold between them. The multipliers are primes 1 and 2
// of XXH64.
uint64_t Round(uint64_t half, uint64_t key, int shift) {
  uint64_t x = (half ^ key) * 0x9E3779B185EBCA87;
  x = (x ^ (x >> 32)) * 0xC2B2AE3D27D4EB4F;
  return x >> shift;
}

}  // namespace

Permutation::Permutation(uint64_t n, uint64_t key) : size_(n) {
  PS_CHECK(n >= 1 && n <= kMaxSize);
  // Fewer than 2n values, so a walk takes less than two passes on average. For n of 3 bits, 16 values, because halves
  // of one and two bits mix badly.
  const int width = static_cast<int>(std::bit_width(n - 1));
  const int bits = width <= 2 ? 2 : std::max(4, width);
  const int left_bits = bits / 2;
  right_bits_ = bits - left_bits;
  left_shift_ = 64 - left_bits;
  right_shift_ = 64 - right_bits_;
  // Small halves mix less per round.
  rounds_ = bits < 16 ? kMaxRounds : 8;
  for (int i = 0; i < rounds_; ++i) {
    keys_[static_cast<size_t>(i)] = Mix(key + 0x9E3779B97F4A7C15 * static_cast<uint64_t>(i + 1));
  }
}

uint64_t Permutation::Permute(uint64_t i) const {
  if (size_ == 1) return 0;
  const uint64_t mask = (uint64_t{1} << right_bits_) - 1;
  do {
    uint64_t left = i >> right_bits_;
    uint64_t right = i & mask;
    for (size_t round = 0; round < static_cast<size_t>(rounds_); round += 2) {
      left ^= Round(right, keys_[round], left_shift_);
      right ^= Round(left, keys_[round + 1], right_shift_);
    }
    i = left << right_bits_ | right;
  } while (i >= size_);
  return i;
}

uint64_t Permutation::Invert(uint64_t value) const {
  if (size_ == 1) return 0;
  const uint64_t mask = (uint64_t{1} << right_bits_) - 1;
  do {
    uint64_t left = value >> right_bits_;
    uint64_t right = value & mask;
    for (size_t round = static_cast<size_t>(rounds_); round > 0; round -= 2) {
      right ^= Round(left, keys_[round - 1], right_shift_);
      left ^= Round(right, keys_[round - 2], left_shift_);
    }
    value = left << right_bits_ | right;
  } while (value >= size_);
  return value;
}

}  // namespace penstock::plan
