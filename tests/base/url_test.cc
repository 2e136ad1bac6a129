#include "base/url.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(GlobForShow, HasNoSecret) {
  EXPECT_EQ(GlobForShow("https://me:hunter2@host/train-*"), "https://...@host/train-*");
  EXPECT_EQ(GlobForShow("https://host/train-0?sig=hunter2"), "https://host/train-0");
  EXPECT_EQ(GlobForShow("HTTP://host/train-0#hunter2"), "HTTP://host/train-0");
  EXPECT_EQ(GlobForShow("s3://id:hunt/er2@bucket/train-*"), "s3://...@bucket/train-*");
  EXPECT_EQ(GlobForShow("ftp://me:hunter2@host/train-0?x"), "ftp://...@host/train-0");
}

TEST(GlobForShow, KeepsPathsAndPatterns) {
  for (const std::string glob : {"train-0000?", "/data/me@home/train-?", "s3://bucket/me@home/train-0000?",
                                 "file:///data/train-#?", "https://host:9000/train-*"}) {
    EXPECT_EQ(GlobForShow(glob), glob);
  }
}

}  // namespace
}  // namespace penstock
