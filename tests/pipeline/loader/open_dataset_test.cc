#include "pipeline/loader/open_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/sources/index_store.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST(OpenDataset, WarnsOfIndexesThatCannotBeStored) {
  support::TempFolder folder, state;
  const support::TestDataset set = support::MakeNumberDataset({}, folder.path());
  const std::string not_a_folder = state.File("file");
  std::ofstream(not_a_folder) << "";
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& text) { warnings.push_back(text); };
  const auto open = [&](const std::string& indexes) {
    const auto store = sources::IndexStore::InStateDir(storage::LocalFiles(), indexes);
    const auto reader = OpenDataset(storage::LocalFiles(), set.job, set.roots, store, 1, nullptr, nullptr, warn);
    EXPECT_TRUE(reader.ok()) << reader.status();
  };
  open(state.path());
  EXPECT_THAT(warnings, IsEmpty());
  open(not_a_folder);
  EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("could not be stored, so the next start builds them again"),
                                          HasSubstr(not_a_folder))));
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
