#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "config/job_file.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/image/jpeg/jpeg_decoder.h"
#include "pipeline/import/bake_source.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/base/temp_dir.h"
#include "tests/pipeline/import/import_testing.h"
#include "tests/support/plain_rows.h"
#include "tests/support/test_dataset.h"

namespace penstock::imports {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const loader::LoadJob> Load(const v1::JobSpec& spec, const std::vector<sources::DataRoot>& roots) {
  const auto job = support::OpenJob(spec, roots);
  EXPECT_TRUE(job.ok()) << job.status();
  return *job;
}

// The job's rows as trainers receive them, by epoch and record number in the files' order: all columns of a row,
// concatenated.
std::map<std::pair<uint64_t, uint64_t>, std::string> RowsOf(v1::JobSpec spec,
                                                            const std::vector<sources::DataRoot>& roots,
                                                            uint64_t first_epoch, uint64_t epochs) {
  spec.mutable_batch()->set_last(v1::PARTIAL);
  const std::shared_ptr<const loader::LoadJob> job = Load(spec, roots);
  const auto steps = support::PlainSteps(*job, {.start = {first_epoch, 0}, .epochs = epochs});
  EXPECT_TRUE(steps.ok()) << steps.status();
  std::map<std::pair<uint64_t, uint64_t>, std::string> rows;
  for (const support::PlainStep& step : *steps) {
    for (const support::PlainRow& row : step.rows) {
      std::string& bytes = rows[{step.span.epoch, row.source}];
      for (const support::PlainRow::Column& column : row.columns) bytes += column.bytes;
    }
  }
  return rows;
}

// Writes the rows and returns the job that reads them.
v1::JobSpec Bake(const support::TestDataset& set, const BakeOptions& options, const std::string& folder,
                 int threads = 2) {
  const auto source = BakeSource::Create(Load(set.job, set.roots), options);
  EXPECT_TRUE(source.ok()) << source.status();
  ShardSetOptions shards;
  shards.folder = folder;
  shards.shard_bytes = 20000;
  shards.threads = threads;
  const auto written = WriteShards(storage::LocalFiles(), **source, shards);
  EXPECT_TRUE(written.ok()) << written.status();
  const std::string text = (*source)->JobText("baked", folder + "/data-*.tfrecord");
  v1::JobSpec job;
  EXPECT_EQ(
      std::string(config::MistakesToStatus("job", config::CheckJobText(text, augment::CheckPipeline, &job)).message()),
      "")
      << text;
  return job;
}

TEST(Bake, RawRowsEqualTheJobsRowsOfEachEpoch) {
  TempDir dir, out;
  const support::TestDataset set =
      support::MakeImageDataset({.shards = 2, .records_per_shard = 7, .crop = 16}, dir.path());
  const v1::JobSpec baked = Bake(set, {.variants = 3, .epoch = 2}, out.File("baked"));
  const auto expected = RowsOf(set.job, set.roots, 2, 3);
  ASSERT_EQ(expected.size(), 42u);
  // Without ops every epoch has the same rows. Record v * 14 + r is variant v of record r.
  const auto rows = RowsOf(baked, {{"local", "/"}}, 0, 1);
  ASSERT_EQ(rows.size(), 42u);
  for (const auto& [key, row] : expected) EXPECT_EQ(rows.at({0, (key.first - 2) * 14 + key.second}), row);
  EXPECT_EQ(baked.order().seed(), set.job.order().seed());
  EXPECT_EQ(baked.batch().size(), set.job.batch().size());
  const auto records = RecordsOf(out.File("baked"));
  EXPECT_EQ(FeatureOf<int64_t>(records[17], "bake/record"), 3);
  EXPECT_EQ(FeatureOf<int64_t>(records[17], "bake/variant"), 1);
}

TEST(Bake, WritesTheSameFilesWithAnyNumberOfThreads) {
  TempDir dir, out;
  const support::TestDataset set =
      support::MakeImageDataset({.shards = 2, .records_per_shard = 10, .crop = 16}, dir.path());
  Bake(set, {.variants = 2}, out.File("one"), 1);
  Bake(set, {.variants = 2}, out.File("three"), 3);
  EXPECT_GT(FilesOf(out.File("one")).size(), 1u);
  EXPECT_EQ(FilesOf(out.File("one")), FilesOf(out.File("three")));
}

TEST(Bake, RaggedColumnsStringsAndFloatsSurviveTheRoundTrip) {
  TempDir dir, out;
  support::TestDataset set = support::MakeNumberDataset({.shards = 2, .records_per_shard = 10}, dir.path());
  v1::Feature* twice = set.job.add_features();
  twice->set_key("name");
  twice->set_column("names/all");
  twice->set_type(v1::Feature::BYTES);
  twice->set_variable_length(true);
  v1::Feature* raw = set.job.add_features();
  raw->set_key("name");
  raw->set_column("letters");
  raw->set_type(v1::Feature::BYTES);
  raw->set_decode_raw(v1::UINT8);
  raw->set_variable_length(true);
  const v1::JobSpec baked = Bake(set, {.variants = 2}, out.File("baked"));
  const auto expected = RowsOf(set.job, set.roots, 0, 2);
  const auto rows = RowsOf(baked, {{"local", "/"}}, 0, 1);
  ASSERT_EQ(rows.size(), 40u);
  for (const auto& [key, row] : expected) EXPECT_EQ(rows.at({0, key.first * 20 + key.second}), row);
}

TEST(Bake, NormalizedRowsSurviveTheRoundTripBitForBit) {
  TempDir dir, out;
  support::TestDataset set = support::MakeImageDataset({.shards = 1, .records_per_shard = 6, .crop = 8}, dir.path());
  v1::Normalize* normalize = set.job.add_ops()->mutable_normalize();
  normalize->set_preset("imagenet");
  for (const v1::DataType to : {v1::FLOAT32, v1::FLOAT16, v1::BFLOAT16}) {
    normalize->set_to(to);
    const v1::JobSpec baked = Bake(set, {}, out.File(absl::StrCat("baked", static_cast<int>(to))));
    const auto expected = RowsOf(set.job, set.roots, 0, 1);
    EXPECT_EQ(RowsOf(baked, {{"local", "/"}}, 0, 1), expected);
  }
}

TEST(Bake, JpegRowsEqualTheJobsRowsExceptForTheLoss) {
  TempDir dir, out;
  const support::TestDataset set =
      support::MakeImageDataset({.shards = 1, .records_per_shard = 8, .crop = 24}, dir.path());
  const v1::JobSpec baked = Bake(set, {.variants = 2, .jpeg_columns = {"image"}, .quality = 95}, out.File("baked"));
  const auto expected = RowsOf(set.job, set.roots, 0, 2);
  const auto rows = RowsOf(baked, {{"local", "/"}}, 0, 1);
  ASSERT_EQ(rows.size(), 16u);
  double error = 0;
  for (const auto& [key, row] : expected) {
    const std::string& back = rows.at({0, key.first * 8 + key.second});
    ASSERT_EQ(back.size(), row.size());
    EXPECT_EQ(back.substr(24 * 24 * 3), row.substr(24 * 24 * 3));  // the label
    for (size_t i = 0; i < 24 * 24 * 3; ++i) {
      error += std::abs(int{static_cast<uint8_t>(back[i])} - int{static_cast<uint8_t>(row[i])});
    }
  }
  EXPECT_LT(error / (16 * 24 * 24 * 3), 6);
  EXPECT_GT(error, 0);
}

TEST(Bake, ABlendStaysOneOfTheSameRows) {
  TempDir dir, out;
  support::TestDataset set = support::MakeImageDataset({.shards = 3, .records_per_shard = 7, .crop = 16}, dir.path());
  v1::Dataset files = set.job.dataset(0);
  set.job.clear_dataset();
  for (const auto& [name, filter, weight] : {std::tuple("few", "col('image/class/label') < 2", 1.0),
                                             std::tuple("many", "col('image/class/label') >= 2", 3.0)}) {
    files.set_name(name);
    files.set_weight(weight);
    files.clear_select();
    files.add_select()->set_filter(filter);
    *set.job.add_dataset() = files;
  }
  set.job.mutable_blend()->set_epoch_rows(64);
  const v1::JobSpec baked = Bake(set, {.variants = 2}, out.File("baked"));
  ASSERT_EQ(baked.dataset_size(), 2);
  EXPECT_EQ(baked.dataset(1).name(), "many");
  EXPECT_EQ(baked.dataset(1).weight(), 3);

  // The rows of each data set in the first two passes over it.
  const auto rows_of = [](const v1::JobSpec& spec, const std::vector<sources::DataRoot>& roots, uint64_t passes) {
    const std::shared_ptr<const loader::LoadJob> job = Load(spec, roots);
    const auto steps = support::PlainSteps(*job, {.epochs = 8});
    EXPECT_TRUE(steps.ok()) << steps.status();
    std::map<uint32_t, std::multiset<std::string>> rows;
    for (const support::PlainStep& step : *steps) {
      const plan::EpochOrder order = job->order().Epoch(step.span.epoch);
      for (size_t slot = 0; slot < step.rows.size(); ++slot) {
        if (order.PassAt(step.span.begin + slot) >= passes) continue;
        std::string bytes;
        for (const support::PlainRow::Column& column : step.rows[slot].columns) bytes += column.bytes;
        rows[job->order().SetOfRecord(step.rows[slot].source)].insert(bytes);
      }
    }
    return rows;
  };
  const auto expected = rows_of(set.job, set.roots, 2);
  ASSERT_EQ(expected.size(), 2u);
  EXPECT_EQ(rows_of(baked, {{"local", "/"}}, 1), expected);
}

TEST(Bake, ABadRecordIsNamed) {
  TempDir dir;
  const support::TestDataset set = support::MakeImageDataset({.shards = 1, .records_per_shard = 8}, dir.path());
  support::BreakRecord(set.files[0], 5);
  const auto source = BakeSource::Create(Load(set.job, set.roots), {});
  ASSERT_TRUE(source.ok());
  MadeRecord record;
  const auto maker = (*source)->NewMaker();
  EXPECT_TRUE(maker->Make(4, &record).ok());
  const absl::Status status = maker->Make(5, &record);
  EXPECT_TRUE(IsBadItem(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(set.files[0]));
  EXPECT_THAT(std::string(status.message()), HasSubstr("record 5"));
}

TEST(Bake, RejectsInvalidOptions) {
  TempDir dir;
  support::TestDataset set = support::MakeImageDataset({.shards = 1, .records_per_shard = 8}, dir.path());
  const auto message = [&](const BakeOptions& options) {
    const absl::Status status = BakeSource::Create(Load(set.job, set.roots), options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message({.variants = 0}), HasSubstr("0 variants"));
  EXPECT_THAT(message({.jpeg_columns = {"label"}}), HasSubstr("columns of this job: image"));
  EXPECT_THAT(message({.jpeg_columns = {"picture"}}), HasSubstr("'picture' is not there"));
  EXPECT_THAT(message({.jpeg_columns = {"image"}, .quality = 0}), HasSubstr("quality of 0"));
  set.job.mutable_features(1)->set_column("bake/record");
  EXPECT_THAT(message({}), HasSubstr("'bake/record'"));
}

}  // namespace
}  // namespace penstock::imports
