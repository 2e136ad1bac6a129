#include "pipeline/loader/open_dataset.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "pipeline/storage/posix_storage.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

TEST(OpenDataset, KeepsIndexesInTheFolderThatItIsGiven) {
  support::TempFolder folder, state;
  const support::TestDataset set = support::MakeNumberDataset({}, folder.path());
  const auto first = OpenDataset(storage::LocalFiles(), set.job, set.roots, state.path(), 1);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(std::filesystem::is_empty(state.path()));
  for (const std::string& dir : {state.path(), std::string()}) {
    const auto again = OpenDataset(storage::LocalFiles(), set.job, set.roots, dir, 1);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*again)->snapshot().Fingerprint(), (*first)->snapshot().Fingerprint());
  }
}

TEST(OpenDataset, AGlobWithoutFilesIsNotFound) {
  support::TempFolder folder;
  support::TestDataset set = support::MakeNumberDataset({}, folder.path());
  set.job.mutable_dataset(0)->set_files(0, folder.path() + "/none-*");
  EXPECT_EQ(OpenDataset(storage::LocalFiles(), set.job, set.roots, "", 1).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace penstock::loader
