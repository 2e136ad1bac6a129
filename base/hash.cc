#include "base/hash.h"

#include <xxhash.h>

namespace penstock {

uint64_t Hash64(std::string_view bytes, uint64_t seed) { return XXH64(bytes.data(), bytes.size(), seed); }

uint64_t HashWords(std::initializer_list<uint64_t> words, uint64_t seed) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are hashed as little-endian bytes");
  return XXH64(words.begin(), words.size() * sizeof(uint64_t), seed);
}

}  // namespace penstock
