#include "base/philox.h"

#include <cstddef>

namespace penstock {

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

uint32_t SampleRandom::Next32() {
  if (used_ == 4) {
    const std::array<uint32_t, 4> counter = {
        static_cast<uint32_t>(record_id_), static_cast<uint32_t>(record_id_ >> 32), static_cast<uint32_t>(draw_),
        static_cast<uint32_t>(repeat_) | static_cast<uint32_t>((draw_ >> 32) & 0xFFFF) << 16};
    block_ = Philox4x32(counter, {static_cast<uint32_t>(key_), static_cast<uint32_t>(key_ >> 32)});
    ++draw_;
    used_ = 0;
  }
  return block_[static_cast<size_t>(used_++)];
}

double SampleRandom::UniformDouble() {
  const uint64_t high = Next32() >> 5;  // 27 bits
  const uint64_t low = Next32() >> 6;   // 26 bits
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

uint32_t SampleRandom::Below(uint32_t n) {
  uint64_t product = uint64_t{Next32()} * n;
  if (static_cast<uint32_t>(product) < n) {
    const uint32_t threshold = (0u - n) % n;
    while (static_cast<uint32_t>(product) < threshold) product = uint64_t{Next32()} * n;
  }
  return static_cast<uint32_t>(product >> 32);
}

}  // namespace penstock
