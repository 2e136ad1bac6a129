#include "pipeline/sources/crc32c.h"

#include <gtest/gtest.h>

#include <string>

#include "pipeline/sources/tfrecord/framing.h"

namespace penstock::sources {
namespace {

// RFC 3720 (iSCSI), B.4.
TEST(Crc32c, GivesTheKnownVectors) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string ascending, descending;
  for (int i = 0; i < 32; ++i) {
    ascending.push_back(static_cast<char>(i));
    descending.push_back(static_cast<char>(31 - i));
  }
  EXPECT_EQ(Crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(Crc32c(descending), 0x113fdb5cu);
}

TEST(Crc32c, ContinuesAtAnyCut) {
  std::string bytes;
  for (int i = 0; i < 600; ++i) bytes.push_back(static_cast<char>(i * 7));
  const std::string_view view = bytes;
  for (size_t cut = 0; cut <= view.size(); ++cut) {
    EXPECT_EQ(Crc32cExtend(Crc32c(view.substr(0, cut)), view.substr(cut)), Crc32c(view));
  }
}

TEST(Crc32c, MasksAsTensorFlowDoes) {
  // The frame of TensorFlow's own record "hello..." of 45 bytes begins 2d 00.. and 3c 41 8a fb.
  const std::string length("\x2d\0\0\0\0\0\0\0", 8);
  EXPECT_EQ(MaskedCrc32c(length), 0xfb8a413cu);
  EXPECT_TRUE(HeaderCrcIsRight((length + "\x3c\x41\x8a\xfb").data()));
  EXPECT_FALSE(HeaderCrcIsRight((length + "\x3c\x41\x8a\xfc").data()));
}

}  // namespace
}  // namespace penstock::sources
