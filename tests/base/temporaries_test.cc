#include "base/temporaries.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/base/temp_dir.h"

namespace penstock {
namespace {

TEST(Temporaries, OnlyTheTemporariesOfAKilledWriterAreRemoved) {
  TempDir dir;
  const auto kept = {"f",
                     "f.tmp.backup",
                     "f.tmp.a1B2c3",
                     "g.penstock-tmp.a1B2c3",
                     "f.penstock-tmp.a1B2c3d",
                     "f.penstock-tmp.a1-2c3",
                     "xf.penstock-tmp.a1B2c3"};
  for (const char* name : kept) dir.Write(name, "x");
  dir.Write("f.penstock-tmp.a1B2c3", "half");
  RemoveTemporariesOf(dir.File("f"));
  EXPECT_FALSE(std::filesystem::exists(dir.File("f.penstock-tmp.a1B2c3")));
  for (const char* name : kept) EXPECT_TRUE(std::filesystem::exists(dir.File(name))) << name;
  RemoveTemporariesOf(dir.File("none/f"));
}

TEST(Temporaries, RemoveTemporariesInRemovesAllTemporariesOfOneFolder) {
  TempDir dir;
  dir.Write("f.penstock-tmp.a1B2c3", "half");
  dir.Write(".g.penstock-tmp.a1B2c3", "half");
  dir.Write("f", "x");
  dir.Write("sub/f.penstock-tmp.a1B2c3", "another's");
  RemoveTemporariesIn(dir.path());
  EXPECT_FALSE(std::filesystem::exists(dir.File("f.penstock-tmp.a1B2c3")));
  EXPECT_FALSE(std::filesystem::exists(dir.File(".g.penstock-tmp.a1B2c3")));
  EXPECT_TRUE(std::filesystem::exists(dir.File("f")));
  EXPECT_TRUE(std::filesystem::exists(dir.File("sub/f.penstock-tmp.a1B2c3")));
  RemoveTemporariesIn(dir.File("none"));
}

}  // namespace
}  // namespace penstock
