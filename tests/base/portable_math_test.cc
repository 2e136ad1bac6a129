#include "base/portable_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/philox.h"

namespace penstock {
namespace {

void ExpectClose(double ours, double libm, double x) {
  ASSERT_LE(std::fabs(ours - libm), 4 * std::numeric_limits<double>::epsilon() * std::fabs(libm)) << x;
}

TEST(PortableMath, IsCloseToTheTrueValue) {
  SampleRandom random(1, 2, 3);
  for (int i = 0; i < 20000; ++i) {
    const double x = random.Uniform(-700, 700);
    ExpectClose(PortableExp(x), std::exp(x), x);
    const double y = std::ldexp(random.Uniform(0.5, 1), static_cast<int>(random.Below(2000)) - 1000);
    ExpectClose(PortableLog(y), std::log(y), y);
    const double near_one = 1 + random.Uniform(-1e-3, 1e-3);
    ASSERT_NEAR(PortableLog(near_one), std::log(near_one), 1e-18 + 1e-15 * std::fabs(std::log(near_one)));
    const double angle = random.Uniform(-1000, 1000);
    ASSERT_NEAR(PortableSin(angle), std::sin(angle), 1e-15);
    ASSERT_NEAR(PortableCos(angle), std::cos(angle), 1e-15);
  }
}

TEST(PortableMath, HasTheExpectedValuesAtTheEndsOfTheRange) {
  EXPECT_EQ(PortableExp(0), 1);
  EXPECT_EQ(PortableLog(1), 0);
  EXPECT_EQ(PortableSin(0), 0);
  EXPECT_EQ(PortableCos(0), 1);
  EXPECT_EQ(PortableExp(1000), std::numeric_limits<double>::infinity());
  EXPECT_EQ(PortableExp(-1000), 0);
  EXPECT_NEAR(PortableLog(5e-324), -744.4400719213812, 1e-9);
}

// The exact bits: draws and filter weights depend on them, so they must never change.
TEST(PortableMath, BitsNeverChange) {
  uint64_t bits = 0;
  for (int i = 1; i <= 1000; ++i) {
    for (const double value :
         {PortableLog(i * 0.37), PortableExp(i * 0.013 - 5), PortableSin(i * 0.11), PortableCos(i * 0.11)}) {
      bits = bits * 6364136223846793005u + std::bit_cast<uint64_t>(value);
    }
  }
  EXPECT_EQ(bits, 3987814211955375252u);
}

}  // namespace
}  // namespace penstock
