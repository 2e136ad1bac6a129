// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1,
// 2, 3" (SC 2011). All draws that decide about a row's content come from it: a draw is a pure function of key and
// counter.
#ifndef PENSTOCK_BASE_PHILOX_H_
#define PENSTOCK_BASE_PHILOX_H_

#include <array>
#include <cstdint>

namespace penstock {

// Applies ten rounds of Philox4x32 to `counter` under `key`.
std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// The draws of one op on one sample, or of one group of mixed rows. An op's key is the hash of (seed, epoch, op path).
// The counter has 64 bits for the record or the first row of the group, 16 for the repeat and 48 for the block of four
// draws. A sample has the same draws on any worker, in any order of work.
class SampleRandom {
 public:
  SampleRandom(uint64_t key, uint64_t record_id, uint16_t repeat) : key_(key), record_id_(record_id), repeat_(repeat) {}

  uint32_t Next32();
  // Returns a uniform number in [0, 1) with 24 bits.
  float Uniform() { return static_cast<float>(Next32() >> 8) * 0x1p-24f; }
  // Returns a uniform number in [0, 1) with 53 bits (two draws of 32).
  double UniformDouble();
  // Returns a uniform number in [low, high). The result may be rounded up to `high`.
  double Uniform(double low, double high) { return low + (high - low) * UniformDouble(); }
  // Returns a uniform integer in [0, n), without bias (Lemire's method with rejection). n must be positive.
  uint32_t Below(uint32_t n);
  // Returns true with the given probability.
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
