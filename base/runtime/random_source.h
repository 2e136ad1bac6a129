// Random numbers as a parameter. Code that makes ids takes a RandomSource*, so that a simulation repeats its run.
#ifndef PENSTOCK_BASE_RUNTIME_RANDOM_SOURCE_H_
#define PENSTOCK_BASE_RUNTIME_RANDOM_SOURCE_H_

#include <atomic>
#include <cstdint>
#include <string>

namespace penstock {

// Thread-safe. For ids and delays; draws that decide about rows come from base/philox.h.
class RandomSource {
 public:
  virtual ~RandomSource() = default;
  // Returns 64 random bits.
  virtual uint64_t Next() = 0;

  // Returns the operating system's source, which is not predictable. It is never destroyed.
  static RandomSource* Real();
};

// Returns the same numbers for the same seed. No number comes twice.
class SeededRandom final : public RandomSource {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next() override;

 private:
  std::atomic<uint64_t> state_;
};

// Returns 128 random bits as 32 hexadecimal digits.
std::string RandomHexId(RandomSource* random);

}  // namespace penstock

#endif  // PENSTOCK_BASE_RUNTIME_RANDOM_SOURCE_H_
