#include "client/feed/local_jobs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "tests/pipeline/storage/memory_storage.h"
#include "tests/support/test_dataset.h"

namespace penstock::feed {
namespace {

TEST(LocalJobs, ReadFromTheGivenStorage) {
  support::TempFolder folder;
  support::TestDataset set = support::MakeNumberDataset({}, folder.path());
  storage::MemoryStorage memory;
  for (const std::string& file : set.files) {
    const std::string name = "mem://bucket/" + std::filesystem::path(file).filename().string();
    ASSERT_TRUE(memory.Put(name, ReadWholeFile(file).value()).ok());
  }
  set.job.mutable_dataset(0)->set_files(0, "data-*");
  const std::vector<sources::DataRoot> roots = {{"data", "mem://bucket"}};
  LocalJobs jobs({.host = {.storage = &memory}});
  EXPECT_FALSE(jobs.Stats().has_value());
  const auto job = jobs.Load(set.job, roots);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ((*job)->job->positions(), set.records);
  EXPECT_EQ(*jobs.Load(set.job, roots), *job);
  EXPECT_EQ(*jobs.host(), *jobs.host());
  EXPECT_TRUE(jobs.Stats().has_value());
}

}  // namespace
}  // namespace penstock::feed
