// The one 64-bit hash of the project: XXH64 (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md), chosen because
// its specification is frozen: plans, fingerprints and keys stay the same in every release.
#ifndef PENSTOCK_BASE_HASH_H_
#define PENSTOCK_BASE_HASH_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace penstock {

uint64_t Hash64(std::string_view bytes, uint64_t seed = 0);

// Hash of 64-bit words, each taken as 8 little-endian bytes.
uint64_t HashWords(std::initializer_list<uint64_t> words, uint64_t seed = 0);

// Builds a hash of many fields. Strings are length-prefixed, so that field borders count.
class Fingerprint {
 public:
  explicit Fingerprint(uint64_t seed = 0) : state_(seed) {}
  Fingerprint& Add(uint64_t word) {
    state_ = HashWords({state_, word});
    return *this;
  }
  Fingerprint& Add(std::string_view text) {
    state_ = HashWords({state_, text.size(), Hash64(text)});
    return *this;
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_HASH_H_
