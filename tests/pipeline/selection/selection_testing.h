// A job whose selection tests evaluate on files of their own.
#ifndef PENSTOCK_TESTS_PIPELINE_SELECTION_SELECTION_TESTING_H_
#define PENSTOCK_TESTS_PIPELINE_SELECTION_SELECTION_TESTING_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/selection/job_selection.h"
#include "pipeline/sources/index_job.h"
#include "pipeline/sources/index_store.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"

namespace penstock::selection {

class JobSelection : public ::testing::Test {
 protected:
  JobSelection() { job_.add_dataset(); }

  std::string Shard(const std::string& name, const std::vector<std::string>& records) {
    support::WriteShard(folder_.File(name), records);
    return folder_.File(name);
  }
  static std::string Entry(int64_t n) {
    records::ExampleBuilder example;
    example.Int64("n", n).Float("score", static_cast<float>(n) / 4).Bytes("lang", n % 3 == 0 ? "de" : "en");
    return example.Serialize();
  }
  static std::vector<std::string> Entries(int count) {
    std::vector<std::string> entries;
    for (int i = 0; i < count; ++i) entries.push_back(Entry(i));
    return entries;
  }
  void Filter(const std::string& text) { job_.mutable_dataset(0)->add_select()->set_filter(text); }

  absl::StatusOr<v1::Selection> Make(const std::vector<std::string>& paths) const {
    return MakeSelection(storage::LocalFiles(), job_, 0, paths);
  }
  // Returns the numbers of the selected records of a file.
  absl::StatusOr<std::vector<uint32_t>> Select(const std::string& path, std::string* left_out = nullptr) const {
    const absl::StatusOr<v1::Selection> selection = Make({path});
    if (!selection.ok()) return selection.status();
    // Other processes get the description on the wire.
    v1::Selection sent;
    EXPECT_TRUE(sent.ParseFromString(selection->SerializeAsString()));
    const auto options = WithSelection(sources::IndexOptionsOf(job_), sent);
    if (!options.ok()) return options.status();
    const auto built = sources::BuildIndexOf(storage::LocalFiles(), path, *options);
    if (!built.ok()) return built.status();
    if (left_out != nullptr) *left_out = built->left_out;
    std::vector<uint32_t> numbers;
    for (uint64_t k = 0; k < built->index->record_count(); ++k) {
      numbers.push_back(static_cast<uint32_t>(built->index->NumberInShard(k)));
    }
    return numbers;
  }
  uint64_t IdOf(const v1::Selection& selection) const {
    const auto created = CreateSelection(selection);
    EXPECT_TRUE(created.ok()) << created.status();
    return (*created)->id();
  }

  support::TempFolder folder_;
  v1::JobSpec job_;
};

}  // namespace penstock::selection

#endif  // PENSTOCK_TESTS_PIPELINE_SELECTION_SELECTION_TESTING_H_
