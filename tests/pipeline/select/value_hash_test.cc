#include "pipeline/select/value_hash.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace penstock::select {
namespace {

// These numbers must never change: selections by hash depend on them. Python computes them as
// xxhash.xxh3_64_intdigest(bytes) & (2**63 - 1).
TEST(ValueHash, IsTheSameInEachRelease) {
  EXPECT_EQ(HashValue(Value::String("")), 3244421341483603138);
  EXPECT_EQ(HashValue(Value::String("a")), 7405662395035962911);
  EXPECT_EQ(HashValue(Value::String("penstock")), 8888429464292979495);
  EXPECT_EQ(HashValue(Value::String(std::string(1000, 'x'))), 4657996879478176386);
  EXPECT_EQ(HashValue(Value::Int64(0)), 5150775175532752089);
  EXPECT_EQ(HashValue(Value::Int64(1)), 3439722301264460078);
  EXPECT_EQ(HashValue(Value::Int64(-1)), 5841669975847748627);
  EXPECT_EQ(HashValue(Value::Double(0.5)), 6749144845479239217);
  EXPECT_EQ(HashValue(Value::Double(std::numeric_limits<double>::infinity())), 3862676201523092338);
}

TEST(ValueHash, EqualRealsHaveEqualHashes) {
  EXPECT_EQ(HashValue(Value::Double(0.0)), HashValue(Value::Double(-0.0)));
  EXPECT_EQ(HashValue(Value::Double(std::nan("1"))), HashValue(Value::Double(-std::nan("2"))));
  EXPECT_NE(HashValue(Value::Double(1)), HashValue(Value::Int64(1)));
}

TEST(ValueHash, IsNeverNegative) {
  for (int64_t i = 0; i < 1000; ++i) EXPECT_GE(HashValue(Value::Int64(i)), 0);
}

}  // namespace
}  // namespace penstock::select
