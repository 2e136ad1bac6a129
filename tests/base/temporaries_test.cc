#include "base/temporaries.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/base/temp_dir.h"

namespace penstock {
namespace {

TEST(Temporaries, WhatAKilledWriterLeftIsRemovedAndNothingElse) {
  TempDir dir;
  const auto kept = {"f", "f.tmp.other", "g.tmp.a1B2c3", "f.tmp.a1B2c3d", "f.tmp.a1-2c3", "xf.tmp.a1B2c3"};
  for (const char* name : kept) dir.Write(name, "x");
  dir.Write("f.tmp.a1B2c3", "half");
  RemoveTemporariesOf(dir.File("f"));
  EXPECT_FALSE(std::filesystem::exists(dir.File("f.tmp.a1B2c3")));
  for (const char* name : kept) EXPECT_TRUE(std::filesystem::exists(dir.File(name))) << name;
  RemoveTemporariesOf(dir.File("none/f"));
}

}  // namespace
}  // namespace penstock
