// The 64-bit hash of plans, fingerprints and keys: XXH64 (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md). Its
// specification is frozen, so they stay the same in every release. Only the hashes of selections are another function,
// XXH3 (pipeline/select/value_hash.h).
#ifndef PENSTOCK_BASE_HASH_H_
#define PENSTOCK_BASE_HASH_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace penstock {

uint64_t Hash64(std::string_view bytes, uint64_t seed = 0);

// Returns the hash of 64-bit words, each as 8 little-endian bytes.
uint64_t HashWords(std::initializer_list<uint64_t> words, uint64_t seed = 0);

// Builds a hash of many fields. Includes the length of each string, so that field boundaries matter.
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
