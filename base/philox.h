// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
// 1, 2, 3" (SC 2011). The only source of randomness in Penstock: a draw is a pure function of key and counter.
#ifndef PENSTOCK_BASE_PHILOX_H_
#define PENSTOCK_BASE_PHILOX_H_

#include <array>
#include <cstdint>

namespace penstock {

// Ten rounds of Philox4x32 on `counter` under `key`.
std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// The draws of one op on one sample. Key = hash of (seed, epoch, op path); counter = (record 64 bits, repeat 16,
// draw 48). The same sample gives the same draws on any worker, in any order of work.
class SampleRandom {
 public:
  SampleRandom(uint64_t key, uint64_t record_id, uint16_t repeat) : key_(key), record_id_(record_id), repeat_(repeat) {}

  uint32_t Next32();
  // Uniform in [0, 1), 24 bits.
  float Uniform() { return static_cast<float>(Next32() >> 8) * 0x1p-24f; }
  // Uniform in [0, 1), 53 bits (two draws of 32).
  double UniformDouble();
  // Uniform in [low, high).
  double Uniform(double low, double high) { return low + (high - low) * UniformDouble(); }
  // Uniform integer in [0, n), without bias (Lemire's method with rejection). n must be positive.
  uint32_t Below(uint32_t n);
  // True with the given probability.
  bool Chance(double probability) { return UniformDouble() < probability; }

 private:
  uint64_t key_;
  uint64_t record_id_;
  uint16_t repeat_;
  uint64_t draw_ = 0;  // counts blocks of four words
  int used_ = 4;
  std::array<uint32_t, 4> block_{};
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_PHILOX_H_
