#include "base/runtime/random_source.h"

#include <random>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

class SystemRandom final : public RandomSource {
 public:
  uint64_t Next() override {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }
};

}  // namespace

RandomSource* RandomSource::Real() {
  static SystemRandom* const source = new SystemRandom;
  return source;
}

// SplitMix64 (Steele, Lea and Flood 2014): good output for any seed, including 0.
uint64_t SeededRandom::Next() {
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15;
  uint64_t z = state_.fetch_add(kStep) + kStep;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

std::string RandomHexId(RandomSource* random) {
  std::string id;
  for (int i = 0; i < 2; ++i) absl::StrAppend(&id, absl::Hex(random->Next(), absl::kZeroPad16));
  return id;
}

}  // namespace penstock
