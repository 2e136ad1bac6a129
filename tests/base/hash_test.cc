#include "base/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace penstock {
namespace {

// Published values of XXH64. The second is from xxHash's own sanity check.
TEST(Hash64, IsXxh64) {
  EXPECT_EQ(Hash64(""), 0xef46db3751d8e999u);
  EXPECT_EQ(Hash64("", 2654435761u), 0xac75fda2929b17efu);
  EXPECT_EQ(Hash64("a"), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(Hash64("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(Hash64("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1u);
}

TEST(HashWords, HashesLittleEndianBytes) {
  const std::string bytes("\x08\x07\x06\x05\x04\x03\x02\x01\xff\0\0\0\0\0\0\0", 16);
  EXPECT_EQ(HashWords({0x0102030405060708, 0xff}), Hash64(bytes));
  EXPECT_EQ(HashWords({0x0102030405060708, 0xff}, 9), Hash64(bytes, 9));
  EXPECT_NE(HashWords({1, 2}), HashWords({2, 1}));
}

TEST(Fingerprint, DependsOnFieldBordersAndOrder) {
  const auto of = [](std::initializer_list<std::string_view> fields) {
    Fingerprint fingerprint;
    for (const std::string_view field : fields) fingerprint.Add(field);
    return fingerprint.value();
  };
  EXPECT_EQ(of({"ab", "c"}), of({"ab", "c"}));
  const std::set<uint64_t> values = {of({"ab", "c"}), of({"a", "bc"}), of({"abc"}), of({"c", "ab"}),
                                     of({"abc", ""}), of({}),          of({""})};
  EXPECT_EQ(values.size(), 7u);
  EXPECT_NE(Fingerprint().Add(1).Add(2).value(), Fingerprint().Add(2).Add(1).value());
  EXPECT_NE(Fingerprint(1).Add(2).value(), Fingerprint(2).Add(2).value());
}

}  // namespace
}  // namespace penstock
