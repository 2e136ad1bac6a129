#include "pipeline/loader/open_dataset.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "pipeline/sources/index_store.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

TEST(OpenDataset, KeepsIndexesInTheGivenFolder) {
  support::TempFolder folder, state;
  const support::TestDataset set = support::MakeNumberDataset({}, folder.path());
  const auto in_folder = sources::IndexStore::InStateDir(storage::LocalFiles(), state.path());
  const auto first = OpenDataset(storage::LocalFiles(), set.job, set.roots, in_folder, 1);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(std::filesystem::is_empty(state.path()));
  for (const auto& indexes : {std::optional(in_folder), std::optional<sources::IndexStore>()}) {
    const auto again = OpenDataset(storage::LocalFiles(), set.job, set.roots, indexes, 1);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*again)->snapshot().Fingerprint(), (*first)->snapshot().Fingerprint());
  }
}

TEST(OpenDataset, AGlobWithoutFilesIsNotFound) {
  support::TempFolder folder;
  support::TestDataset set = support::MakeNumberDataset({}, folder.path());
  set.job.mutable_dataset(0)->set_files(0, folder.path() + "/none-*");
  EXPECT_EQ(OpenDataset(storage::LocalFiles(), set.job, set.roots, std::nullopt, 1).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace penstock::loader
