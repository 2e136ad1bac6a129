// Keys whose order by bytes is the order of the values.
#include "base/ordered_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {
namespace {

template <typename Value>
void ExpectSameOrder(std::vector<Value> values) {
  std::sort(values.begin(), values.end());
  for (size_t i = 1; i < values.size(); ++i) {
    const std::string before = OrderedKey(values[i - 1]), key = OrderedKey(values[i]);
    EXPECT_EQ(before < key, values[i - 1] < values[i]) << values[i - 1] << " and " << values[i];
    EXPECT_LE(before, key);
  }
}

TEST(OrderedKey, OrdersIntegersAndNumbers) {
  std::mt19937_64 random(1);
  std::vector<int64_t> integers = {
      0, 1, -1, 255, 256, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  std::vector<double> numbers = {0,
                                 1,
                                 -1,
                                 0.1,
                                 1e300,
                                 -1e300,
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::denorm_min()};
  for (int i = 0; i < 2000; ++i) {
    integers.push_back(static_cast<int64_t>(random()) >> (random() % 64));
    const double scale = std::ldexp(1, static_cast<int>(random() % 200) - 100);
    numbers.push_back(static_cast<double>(static_cast<int64_t>(random())) * scale);
  }
  for (const int64_t value : integers) EXPECT_EQ(OrderedKeyText(OrderedKey(value)), std::to_string(value));
  for (const int64_t value : integers) EXPECT_EQ(OrderedKeyNumber(OrderedKey(value)), static_cast<double>(value));
  for (const double value : numbers) EXPECT_EQ(OrderedKeyNumber(OrderedKey(value)), value);
  for (const std::string& key : {OrderedKey(std::string_view("a text")), OrderedKey(std::string_view("12345678")),
                                 OrderedKey(true), std::string()}) {
    EXPECT_EQ(OrderedKeyNumber(key), std::nullopt);
  }
  for (const double value : numbers) EXPECT_EQ(std::strtod(OrderedKeyText(OrderedKey(value)).c_str(), nullptr), value);
  ExpectSameOrder(integers);
  ExpectSameOrder(numbers);
  EXPECT_EQ(OrderedKey(0.0), OrderedKey(-0.0));
}

TEST(OrderedKey, OrdersTextsByTheirBytes) {
  using std::string_view_literals::operator""sv;
  ExpectSameOrder<std::string_view>({"", "a", "aa", "b", "Ünï", "a\0b"sv, "\xff"});
  EXPECT_EQ(OrderedKeyText(OrderedKey("Ünï"sv)), "Ünï");
  EXPECT_LT(OrderedKey(false), OrderedKey(true));
  EXPECT_EQ(OrderedKeyText(OrderedKey(false)), "false");
  EXPECT_EQ(OrderedKeyText(OrderedKey(true)), "true");
}

TEST(OrderedKey, ShowsOtherBytesAsTheyAre) {
  for (const char* other : {"", "i", "i123", "x", "d1", "b", "zebra"}) EXPECT_EQ(OrderedKeyText(other), other);
}

TEST(OrderedKey, NumbersHaveTheShortestText) {
  EXPECT_EQ(NumberText(0.1), "0.1");
  EXPECT_EQ(NumberText(3), "3");
  EXPECT_EQ(NumberText(1e300), "1e+300");
}

}  // namespace
}  // namespace penstock
