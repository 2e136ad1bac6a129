#include "pipeline/pack/pack_staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>

#include "pipeline/pack/record_spool.h"
#include "tests/base/temp_dir.h"

namespace penstock::pack {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<PackStaging> Begin(const std::string& out) {
  auto staging = PackStaging::Create(out);
  EXPECT_TRUE(staging.ok()) << staging.status();
  return staging.ok() ? *std::move(staging) : nullptr;
}

void Finish(const std::string& file) {
  const auto spool = SpoolWriter::Open(file);
  ASSERT_TRUE(spool.ok()) << spool.status();
  ASSERT_TRUE((*spool)->Finish({}).ok());
}

TEST(PackStaging, TheFolderAppearsOnlyWhenItIsPublished) {
  const TempDir dir;
  const std::string out = dir.File("a/b/shards");
  const auto staging = Begin(out);
  std::filesystem::create_directory(staging->shards());
  EXPECT_FALSE(std::filesystem::exists(out));
  ASSERT_TRUE(staging->Publish().ok());
  EXPECT_TRUE(std::filesystem::is_directory(out));
}

TEST(PackStaging, ReplacesAnEmptyFolderAndRejectsAFullOne) {
  const TempDir dir;
  std::filesystem::create_directory(dir.File("out"));
  {
    const auto staging = Begin(dir.File("out"));
    EXPECT_TRUE(std::filesystem::exists(dir.File("out")));
    std::filesystem::create_directory(staging->shards());
    dir.Write(std::filesystem::relative(staging->shards(), dir.path()).string() + "/file", "x");
    ASSERT_TRUE(staging->Publish().ok());
  }
  EXPECT_THAT(std::string(PackStaging::Create(dir.File("out")).status().message()),
              HasSubstr("is there and not empty"));
  EXPECT_EQ(dir.Entries(), 1u);
}

TEST(PackStaging, RemovesItsOwnFolderAndThoseOfKilledProcesses) {
  const TempDir dir;
  Begin(dir.File("out")).reset();
  EXPECT_EQ(dir.Entries(), 0u);
  // One folder whose lock is free, and two with held locks.
  dir.Write(".out.packing-killed/part-0", "x");
  const auto living = Begin(dir.File("out"));
  const auto second = Begin(dir.File("out"));
  EXPECT_TRUE(std::filesystem::exists(living->folder()));
  EXPECT_FALSE(std::filesystem::exists(dir.File(".out.packing-killed")));
}

TEST(PackStaging, AFolderThatCannotBeLockedIsAnErrorAndIsRemoved) {
  const TempDir dir;
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::Status status = PackStaging::Create(dir.File("out")).status();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(std::string(status.message()), HasSubstr("locking "));
  EXPECT_EQ(dir.Entries(), 0u);
}

TEST(PackStaging, ReturnsAllPartsInOrder) {
  const TempDir dir;
  const auto staging = Begin(dir.File("out"));
  const std::string& folder = staging->folder();
  for (const uint32_t part : {10u, 9u}) Finish(PartFile(folder, part));
  Finish(MainPartFile(folder));
  const auto parts = staging->Parts({9});
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_THAT(*parts, ElementsAre(MainPartFile(folder), PartFile(folder, 9), PartFile(folder, 10)));
  EXPECT_THAT(std::string(staging->Parts({9, 11}).status().message()), HasSubstr("part 11 is not finished"));
  // A part that was opened and never finished.
  ASSERT_TRUE(SpoolWriter::Open(PartFile(folder, 12)).ok());
  EXPECT_THAT(std::string(staging->Parts({}).status().message()), HasSubstr("part 12 is not finished"));
  Finish(PartFile(folder, 12));
  EXPECT_TRUE(staging->Parts({}).ok());
}

}  // namespace
}  // namespace penstock::pack
