// A keyed permutation of [0, n) in O(1) memory, for random access to a shuffle.
//
// It is a Feistel network over [0, 2^b) with 2^b >= n, with cycle-walking: a value outside [0, n) is permuted again
// until it is inside (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). A Feistel network is a
// bijection for every round function, so this is a bijection for every n and key. It is not encryption: the round
// function is a strong mixer, not a cipher.
#ifndef PENSTOCK_PIPELINE_PLAN_PERMUTATION_H_
#define PENSTOCK_PIPELINE_PLAN_PERMUTATION_H_

#include <array>
#include <cstdint>

namespace penstock::plan {

// Immutable. Cheap to copy and to build. The same (n, key) gives the same permutation in every release.
class Permutation {
 public:
  static constexpr uint64_t kMaxSize = uint64_t{1} << 62;

  // Builds the permutation. 1 <= n <= kMaxSize. `key` should be a hash; see HashWords in base/hash.h.
  Permutation(uint64_t n, uint64_t key);

  // Returns the image of `i`. i < n.
  uint64_t Permute(uint64_t i) const;
  // Returns the i with Permute(i) == value. value < n.
  uint64_t Invert(uint64_t value) const;

  uint64_t size() const { return size_; }

 private:
  static constexpr int kMaxRounds = 12;

  uint64_t size_;
  int rounds_;      // even
  int right_bits_;  // width of the low part
  int left_shift_;  // 64 - width: the round function's high bits are its result
  int right_shift_;
  std::array<uint64_t, kMaxRounds> keys_;
};

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_PERMUTATION_H_
