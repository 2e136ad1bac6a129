// Compares the vector transform with a scalar transform, and decodes with the vector transform with libjpeg's own.
#include "pipeline/image/jpeg/inverse_dct.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "base/philox.h"
#include "tests/pipeline/image/crop_support.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::image {
namespace {

using Block = std::array<int16_t, 64>;
using Table = std::array<uint16_t, 64>;
using Samples = std::array<uint8_t, 64>;

int16_t Wrap(int value) { return static_cast<int16_t>(value); }
int16_t Clip(int value) {
  return static_cast<int16_t>(
      std::clamp<int>(value, std::numeric_limits<int16_t>::min(), std::numeric_limits<int16_t>::max()));
}

// Transforms eight values, `step` apart, in place. Follows jidctint.c, but some sums of inputs wrap to 16 bits, as in
// libjpeg-turbo's vector code.
void Transform(int16_t* v, int step, int shift) {
  std::array<int, 8> in;
  for (int i = 0; i < 8; ++i) in[static_cast<size_t>(i)] = v[i * step];
  const int z1 = (in[2] + in[6]) * 4433;
  const int t2 = z1 - in[6] * 15137, t3 = z1 + in[2] * 6270;
  const int t0 = Wrap(in[0] + in[4]) * 8192, t1 = Wrap(in[0] - in[4]) * 8192;
  const std::array<int64_t, 4> even = {int64_t{t0} + t3, int64_t{t1} + t2, int64_t{t1} - t2, int64_t{t0} - t3};
  const int64_t z3 = Wrap(in[7] + in[3]), z4 = Wrap(in[5] + in[1]), z5 = (z3 + z4) * 9633;
  const int64_t a = int64_t{in[7] + in[1]} * -7373, b = int64_t{in[5] + in[3]} * -20995;
  const std::array<int64_t, 4> odd = {in[1] * 12299 + a + z4 * -3196 + z5, in[3] * 25172 + b + z3 * -16069 + z5,
                                      in[5] * 16819 + b + z4 * -3196 + z5, in[7] * 2446 + a + z3 * -16069 + z5};
  const auto down = [shift](int64_t sum) {  // the sum wraps to 32 bits
    return Clip(static_cast<int32_t>(static_cast<uint32_t>(sum + (int64_t{1} << (shift - 1)))) >> shift);
  };
  for (size_t i = 0; i < 4; ++i) {
    v[static_cast<int>(i) * step] = down(even[i] + odd[i]);
    v[(7 - static_cast<int>(i)) * step] = down(even[i] - odd[i]);
  }
}

Samples ScalarInverseDct(const Block& block, const Table& table) {
  Block work;
  for (size_t i = 0; i < 64; ++i) work[i] = Wrap(static_cast<int>(static_cast<uint32_t>(block[i]) * table[i]));
  if (std::all_of(block.begin() + 8, block.end(), [](int16_t c) { return c == 0; })) {
    for (size_t i = 64; i-- > 0;) work[i] = Wrap(work[i % 8] * 4);  // row 0, the source, comes last
  } else {
    for (int column = 0; column < 8; ++column) Transform(&work[static_cast<size_t>(column)], 8, 11);
  }
  Samples samples;
  for (int row = 0; row < 8; ++row) Transform(&work[static_cast<size_t>(8 * row)], 1, 18);
  for (size_t i = 0; i < 64; ++i) samples[i] = static_cast<uint8_t>(std::clamp<int>(work[i], -128, 127) + 128);
  return samples;
}

Samples VectorInverseDct(const Block& block, const Table& table) {
  constexpr size_t kColumn = 3;
  std::array<std::array<uint8_t, 16>, 8> canvas;
  std::array<uint8_t*, 8> rows;
  for (size_t row = 0; row < 8; ++row) {
    canvas[row].fill(77);
    rows[row] = canvas[row].data();
  }
  InverseDct(block.data(), table.data(), rows.data(), kColumn);
  Samples samples;
  for (size_t row = 0; row < 8; ++row) {
    for (size_t x = 0; x < 16; ++x) {
      if (x >= kColumn && x < kColumn + 8) {
        samples[8 * row + x - kColumn] = canvas[row][x];
      } else {
        EXPECT_EQ(canvas[row][x], 77) << "row " << row << " beside the block, at " << x;
      }
    }
  }
  return samples;
}

class InverseDctTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasInverseDct()) GTEST_SKIP() << "this CPU has no AVX-512 with VBMI: libjpeg's own transform is used";
  }
};

TEST_F(InverseDctTest, SamplesMatchTheScalarTransformForAnyBlock) {
  SampleRandom random(8, 0, 0);
  for (int round = 0; round < 20000; ++round) {
    const uint32_t reach = 1u << (1 + round % 16);  // from small values, as in photographs, to all 16-bit values
    const uint32_t most = 1u << (1 + round / 16 % 16);
    Block block{};
    Table table;
    for (uint16_t& q : table) q = static_cast<uint16_t>(random.Below(most));
    const uint32_t count = 1 + random.Below(64);
    for (uint32_t i = 0; i < count; ++i) {
      block[random.Below(round % 3 == 0 ? 8 : 64)] =
          Wrap(static_cast<int>(random.Below(reach)) - static_cast<int>(reach / 2));
    }
    ASSERT_EQ(VectorInverseDct(block, table), ScalarInverseDct(block, table)) << "round " << round;
  }
}

TEST_F(InverseDctTest, ADcCoefficientAloneGivesEqualSamples) {
  Block block{};
  Table table;
  table.fill(16);
  for (int dc = -80; dc <= 80; ++dc) {
    block[0] = static_cast<int16_t>(dc);
    const uint8_t sample = static_cast<uint8_t>(std::clamp(128 + 2 * dc, 0, 255));
    Samples want;
    want.fill(sample);
    ASSERT_EQ(VectorInverseDct(block, table), want) << dc;
  }
}

// Returns the file with all quantization values replaced by `value`, in tables of 16 bits. `jpeg` must have tables of 8
// bits.
std::string WithQuantization(const std::string& jpeg, uint16_t value) {
  std::string out = jpeg.substr(0, 2);
  size_t at = 2;
  while (jpeg[at + 1] != '\xDA') {
    const size_t size =
        2 + static_cast<size_t>(static_cast<uint8_t>(jpeg[at + 2]) << 8 | static_cast<uint8_t>(jpeg[at + 3]));
    if (jpeg[at + 1] == '\xDB') {
      for (size_t table = at + 4; table < at + size; table += 65) {
        out += std::string("\xFF\xDB\x00\x83", 4) + static_cast<char>(0x10 | jpeg[table]);
        for (int i = 0; i < 64; ++i) out += {static_cast<char>(value >> 8), static_cast<char>(value & 255)};
      }
    } else {
      out += jpeg.substr(at, size);
    }
    at += size;
  }
  return out + jpeg.substr(at);
}

TEST(InverseDct, OverflowsMatchLibjpeg) {
  JpegDecoder decoder;
  for (const int quality : {1, 60, 100}) {
    const std::string bytes = MakeJpeg({.width = 203, .height = 151, .horizontal = 2, .quality = quality});
    for (const uint16_t value : {1, 255, 2000, 9000, 30000, 65535}) {
      const std::string odd = WithQuantization(bytes, value);
      const Rect whole{0, 0, 203, 151};
      const DecodedCrop ours = DecodeCrop(&decoder, odd, whole);
      ASSERT_TRUE(ours.status.ok()) << ours.status;
      EXPECT_TRUE(ours == DecodeCrop(&decoder, odd, whole, 3, false, /*libjpeg_alone=*/true))
          << quality << " " << value;
    }
  }
  EXPECT_EQ(decoder.decoded_again(), 0u);
}

}  // namespace
}  // namespace penstock::image
