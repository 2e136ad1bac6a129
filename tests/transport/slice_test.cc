#include "transport/slice.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace penstock::transport {
namespace {

TEST(Slice, ReleasesItsOwnerWithTheLastCopy) {
  auto owner = std::make_shared<const std::string>("bytes");
  SliceList message;
  message.Add(Slice(owner->data(), owner->size(), owner));
  {
    SliceCursor cursor(message);
    message = SliceList();
    EXPECT_EQ(owner.use_count(), 2);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(SliceCursor, ReadsTheSameBytesForAnySliceBoundaries) {
  const std::string whole = "0123456789abcdefghij";
  for (size_t cut = 1; cut <= whole.size(); ++cut) {
    SliceList message;
    for (size_t at = 0; at < whole.size(); at += cut) {
      message.Add(Slice());  // empty slices do not matter
      message.Add(Slice::Of(whole.substr(at, cut)));
    }
    ASSERT_EQ(message.bytes(), whole.size());
    SliceCursor cursor(message);
    uint32_t number = 0;
    ASSERT_TRUE(cursor.ReadU32(&number));
    EXPECT_EQ(number, 0x33323130u);
    ASSERT_TRUE(cursor.Skip(6));
    char rest[10];
    EXPECT_FALSE(cursor.Read(rest, 11));
    EXPECT_EQ(cursor.remaining(), 10u);
    ASSERT_TRUE(cursor.Read(rest, 10));
    EXPECT_EQ(std::string(rest, 10), "abcdefghij");
    EXPECT_FALSE(cursor.Skip(1));
    EXPECT_TRUE(cursor.Next(5).empty());
  }
}

}  // namespace
}  // namespace penstock::transport
