// The windows of a job's records: which records follow each other, bad records between them, and wrong descriptions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/selection/job_selection.h"
#include "pipeline/sources/index_job.h"
#include "pipeline/sources/index_store.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/selection/selection_testing.h"

namespace penstock::selection {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WindowSelection : public JobSelection {
 protected:
  static std::string Row(std::string_view sensor, float value) {
    records::ExampleBuilder example;
    if (!sensor.empty()) example.Bytes("sensor", sensor);
    return example.Float("value", value).Serialize();
  }
  // A row of each sensor, whose name is a letter.
  static std::vector<std::string> Rows(std::string_view sensors) {
    std::vector<std::string> rows;
    for (const char sensor : sensors) rows.push_back(Row({&sensor, 1}, static_cast<float>(rows.size())));
    return rows;
  }
  v1::RecordWindow* Window(uint64_t size, const std::string& by = "") {
    v1::RecordWindow* const window = job_.mutable_dataset(0)->add_select()->mutable_window();
    window->set_size(size);
    window->set_stride(1);
    window->set_by(by);
    return window;
  }
  absl::StatusOr<sources::LoadedIndex> Index(const std::string& path) {
    const absl::StatusOr<v1::Selection> selection = Make({path});
    if (!selection.ok()) return selection.status();
    const auto options = WithSelection(sources::IndexOptionsOf(job_), *selection);
    if (!options.ok()) return options.status();
    return sources::BuildIndexOf(storage::LocalFiles(), path, *options);
  }
  // Returns the numbers in the file of the first records of all windows.
  std::vector<uint64_t> FirstRecords(const std::string& path) {
    const auto built = Index(path);
    EXPECT_TRUE(built.ok()) << built.status();
    std::vector<uint64_t> numbers;
    if (!built.ok()) return numbers;
    const sources::ShardIndex& index = *built->index;
    EXPECT_TRUE(index.is_packed());
    for (uint64_t row = 0; row < index.record_count(); ++row) {
      numbers.push_back(index.SingleRecords().NumberInShard(index.PartsOf(row)[0].record));
    }
    return numbers;
  }
};

TEST_F(WindowSelection, NoWindowHasTwoValues) {
  const std::string path = Shard("a", Rows("aaaabbacccc"));
  Window(3, "sensor");
  EXPECT_THAT(FirstRecords(path), ElementsAre(0u, 1u, 7u, 8u));
  job_.mutable_dataset(0)->mutable_select(0)->mutable_window()->clear_by();
  EXPECT_THAT(FirstRecords(path), ElementsAre(0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u));
}

TEST_F(WindowSelection, ValuesOfEachTypeMakeRuns) {
  const std::string path = Shard("a", Rows("aabbbb"));
  for (const auto& [by, firsts] : std::vector<std::pair<std::string, std::vector<uint64_t>>>{
           {"sensor == 'a'", {0, 2, 3, 4}}, {"value // 3", {0, 1, 3, 4}}, {"bytes(sensor)", {0, 1, 2, 3, 4}}}) {
    job_.mutable_dataset(0)->clear_select();
    Window(2, by);
    EXPECT_EQ(FirstRecords(path), firsts) << by;
  }
}

TEST_F(WindowSelection, RecordsThatTheStepsBeforeKeepAreNeighbors) {
  const std::string path = Shard("a", Rows("axaaxbxbb"));
  Filter("sensor != 'x'");
  Window(3, "sensor");
  EXPECT_THAT(FirstRecords(path), ElementsAre(0u, 5u));
}

TEST_F(WindowSelection, ABadRecordEndsTheRun) {
  std::vector<std::string> rows = Rows("aaaaaaa");
  rows[3] = Row("", 3);
  const std::string path = Shard("a", rows);
  Window(2, "sensor");
  EXPECT_THAT(
      std::string(Index(path).status().message()),
      AllOf(HasSubstr("record 3: `sensor` has no value to make windows by"), HasSubstr("errors { policy: MASK }")));
  job_.mutable_errors()->set_policy(v1::MASK);
  EXPECT_THAT(FirstRecords(path), ElementsAre(0u, 1u, 4u, 5u));
  EXPECT_EQ((*Index(path)).index->left_out(), 1u);
  rows[3] = Row("a", std::nanf(""));
  Shard("a", rows);
  job_.mutable_dataset(0)->clear_select();
  Window(7, "value * 0");
  EXPECT_THAT(FirstRecords(path), ElementsAre());
  EXPECT_EQ((*Index(path)).index->packs().windows->longest_run, 3u);
}

TEST_F(WindowSelection, ADamagedRecordEndsTheRun) {
  const std::string path = Shard("a", Rows("aaaaaaa"));
  const uint64_t offset = (*sources::BuildIndexOf(storage::LocalFiles(), path, {})).index->RecordOffset(3);
  std::string bytes = *ReadWholeFile(path);
  Window(2);
  job_.mutable_errors()->set_policy(v1::SUBSTITUTE);
  EXPECT_THAT(FirstRecords(path), ElementsAre(0u, 1u, 2u, 3u, 4u, 5u));
  bytes[offset + 20] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
  EXPECT_THAT(FirstRecords(path), ElementsAre(0u, 1u, 4u, 5u));
}

TEST_F(WindowSelection, AnUnknownNameIsAMistakeThatShowsTheNearestOne) {
  const std::string path = Shard("a", Rows("aab"));
  Window(2, "sensr");
  EXPECT_THAT(std::string(Index(path).status().message()),
              AllOf(HasSubstr("select[0].window.by"), HasSubstr("did you mean 'sensor'")));
}

TEST_F(WindowSelection, ADescriptionThatIsWrongIsRejected) {
  const std::string path = Shard("a", Rows("aab"));
  Window(2, "sensor");
  v1::Selection selection = *Make({path});
  ASSERT_TRUE(CreateSelection(selection).ok());
  v1::RecordWindow* const window = selection.mutable_steps(0)->mutable_window();
  const v1::RecordWindow good = *window;
  const auto rejected = [&] {
    const bool is_wrong = absl::IsInvalidArgument(CreateSelection(selection).status());
    *window = good;
    return is_wrong;
  };
  window->set_size(0);
  EXPECT_TRUE(rejected());
  window->set_size(plan::kMaxWindowRecords + 1);
  EXPECT_TRUE(rejected());
  window->set_stride(0);
  EXPECT_TRUE(rejected());
  window->set_step(0);
  EXPECT_TRUE(rejected());
  window->set_step(uint64_t{1} << 32);
  EXPECT_TRUE(rejected());
  window->set_by("nothing");
  EXPECT_TRUE(rejected());
}

TEST_F(WindowSelection, EachFieldThatMovesARecordChangesTheId) {
  const std::string path = Shard("a", Rows("aab"));
  v1::RecordWindow* const window = Window(2);
  std::set<uint64_t> ids = {IdOf(*Make({path}))};
  window->set_size(3);
  ids.insert(IdOf(*Make({path})));
  window->set_stride(2);
  ids.insert(IdOf(*Make({path})));
  window->set_step(2);
  ids.insert(IdOf(*Make({path})));
  window->set_by("sensor");
  ids.insert(IdOf(*Make({path})));
  EXPECT_EQ(ids.size(), 5u);
  window->set_records("numbers");  // does not concern the index
  EXPECT_TRUE(ids.contains(IdOf(*Make({path}))));
  window->set_size(2);
  const uint64_t id = IdOf(*Make({path}));
  window->clear_stride();  // the default
  EXPECT_EQ(IdOf(*Make({path})), id);
}

}  // namespace
}  // namespace penstock::selection
