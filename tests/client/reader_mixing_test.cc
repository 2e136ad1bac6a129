// A reader of a job that mixes rows, with a fake coordinator and fake workers: the rows are the same for every world
// size, batch size and resumption.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "pipeline/batch/mix_plan.h"
#include "tests/client/reader_testing.h"

namespace penstock::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kImageBytes = 4 * 5 * 3, kClasses = 128;  // labels are row numbers, padding included

struct Row {
  std::string image;
  std::vector<float> label;
  std::string name;
  bool valid = true;
  bool operator==(const Row&) const = default;
};

// The job's mix, and the coordinator's job with it.
batch::MixLaw Law() { return {.mixup_alpha = 0.5, .cutmix_alpha = 1, .probability = 0.75f}; }

class MixingCluster : public FakeCluster {
 public:
  MixingCluster(int count, const FakeJob& fake, uint32_t group) : FakeCluster(count, fake) {
    v1::Job proto = coordinator.job();
    v1::Mix* mix = proto.mutable_spec()->mutable_mix();
    mix->set_mixup_alpha(0.5f);
    mix->set_cutmix_alpha(1);
    mix->set_probability(0.75f);
    mix->set_classes(kClasses);
    mix->set_group(group);
    coordinator.SetJob(proto);
  }
};

// Returns the mixed row `row` of the epoch. The epoch ends at `end`.
Row Expected(const FakeJob& job, uint64_t epoch, uint64_t row, uint64_t end, uint32_t group) {
  std::vector<std::string> images;
  std::vector<std::vector<float>> labels;
  std::vector<std::byte*> image_rows, label_rows;
  const uint64_t first = row / group * group;
  for (uint64_t r = first; r < first + group; ++r) {
    images.push_back(job.Payload(epoch, r).substr(0, kImageBytes));
    labels.emplace_back(kClasses);
    labels.back()[r] = 1;
  }
  for (size_t i = 0; i < group; ++i) {
    image_rows.push_back(reinterpret_cast<std::byte*>(images[i].data()));
    label_rows.push_back(reinterpret_cast<std::byte*>(labels[i].data()));
  }
  batch::MixTensors tensors;
  tensors.image_elements = kImageBytes;
  tensors.pixels = {1, 4, 5, 3};
  tensors.classes = kClasses;
  const bool whole = first + group <= std::min(end, job.records);
  if (whole) batch::MixGroup(tensors, batch::DrawMix(Law(), job.seed, epoch, first, 4, 5), image_rows, label_rows);
  return {images[row - first], labels[row - first], "row " + std::to_string(row) + " of epoch " + std::to_string(epoch),
          row < job.records};
}

std::vector<Row> RowsOf(const Batch& batch) {
  std::vector<Row> rows(batch.rows());
  const auto images = batch.column("image").data<uint8_t>();
  const auto labels = batch.column("label").data<float>();
  EXPECT_EQ(labels.size(), batch.rows() * kClasses);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].image.assign(images.begin() + i * kImageBytes, images.begin() + (i + 1) * kImageBytes);
    rows[i].label.assign(labels.begin() + i * kClasses, labels.begin() + (i + 1) * kClasses);
    rows[i].name = batch.column("name").string(i);
    rows[i].valid = batch.valid()[i] != 0;
  }
  return rows;
}

// Reads to the end and checks every row. Returns their number.
size_t CheckAll(const FakeJob& job, Reader* reader, uint32_t group, uint64_t rank = 0, uint64_t world_size = 1,
                uint64_t batch_size = 0) {
  const uint64_t size = batch_size != 0 ? batch_size : job.batch;
  size_t seen = 0;
  for (const Batch& batch : reader->Batches(absl::Seconds(30))) {
    const std::vector<Row> rows = RowsOf(batch);
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint64_t row = batch.position() + rank * (size / world_size) + i;
      EXPECT_EQ(rows[i],
                Expected(job, batch.epoch(), row, batch.position() + rank * (size / world_size) + rows.size(), group))
          << "row " << row << " of epoch " << batch.epoch();
    }
    seen += rows.size();
  }
  EXPECT_TRUE(reader->status().ok()) << reader->status();
  return seen;
}

TEST(MixingReader, MixesEveryRowInItsGroupForAnyWorkersAndLastBatch) {
  for (const int workers : {1, 3}) {
    for (const uint32_t group : {2u, 4u, 8u}) {
      for (const v1::LastBatch last : {v1::DROP, v1::PAD, v1::PARTIAL}) {
        SCOPED_TRACE(testing::Message() << workers << " workers, groups of " << group << ", " << last);
        FakeJob job;
        job.last = last;
        job.records = 101;
        MixingCluster cluster(workers, job, group);
        auto reader = cluster.Open(cluster.options(2));
        ASSERT_NE(reader, nullptr);
        EXPECT_EQ(CheckAll(job, reader.get(), group), last == v1::DROP ? 192u : last == v1::PAD ? 208u : 202u);
      }
    }
  }
}

TEST(MixingReader, RanksTogetherReadTheRowsOfOneReader) {
  FakeJob job;
  job.last = v1::PAD;
  MixingCluster cluster(2, job, 2);
  for (const uint32_t world_size : {2u, 4u}) {
    for (uint32_t rank = 0; rank < world_size; ++rank) {
      ReaderOptions options = cluster.options(2);
      options.rank = rank;
      options.world_size = world_size;
      auto reader = cluster.Open(options);
      ASSERT_NE(reader, nullptr);
      EXPECT_EQ(CheckAll(job, reader.get(), 2, rank, world_size), 208 / world_size);
    }
  }
}

TEST(MixingReader, AStateContinuesAtOtherSizesWithTheSameRows) {
  FakeJob job;
  MixingCluster cluster(2, job, 2);
  auto first = cluster.Open(cluster.options(2));
  ASSERT_NE(first, nullptr);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(first->Next(absl::Seconds(20)).ok());
  for (const uint32_t batch_size : {8u, 4u, 6u, 20u}) {
    ReaderOptions options = cluster.options(1);
    options.state = first->SaveState();
    options.batch_size = batch_size;
    auto reader = cluster.Open(options);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(CheckAll(job, reader.get(), 2, 0, 1, batch_size), 60 / batch_size * batch_size);
    options.world_size = 2;
    if (batch_size % 4 != 0) continue;
    options.rank = 1;
    options.group = "second";
    reader = cluster.Open(options);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(CheckAll(job, reader.get(), 2, 1, 2, batch_size), 60 / batch_size * batch_size / 2);
  }
}

TEST(MixingReader, ReportsSoftLabelColumns) {
  MixingCluster cluster(1, {}, 2);
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(reader->columns()[1].name, "label");
  EXPECT_EQ(reader->columns()[1].type, ElementType::kFloat32);
  EXPECT_THAT(reader->columns()[1].shape, ElementsAre(128));
  EXPECT_EQ(reader->columns()[0].type, ElementType::kUint8);
}

TEST(MixingReader, SizesThatSplitGroupsAreRejectedWithTheNumbers) {
  FakeJob job;
  job.batch = 16;
  MixingCluster cluster(1, job, 4);
  ReaderOptions options = cluster.options();
  options.world_size = 8;
  absl::Status refused = Reader::Open(cluster.connect(), options).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("groups of 4"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("gives 2 rows to each"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("a multiple of 32"));
  options = cluster.options();
  options.batch_size = 18;
  refused = Reader::Open(cluster.connect(), options).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("a multiple of 4"));
}

TEST(MixingReader, AStateInsideAGroupIsRejected) {
  FakeJob job;
  FakeCluster plain(1, job);
  ReaderOptions options = plain.options();
  options.batch_size = 5;
  auto before = plain.Open(options);
  ASSERT_NE(before, nullptr);
  ASSERT_TRUE(before->Next(absl::Seconds(20)).ok());
  MixingCluster cluster(1, job, 2);
  ReaderOptions resumed = cluster.options();
  resumed.state = before->SaveState();
  const absl::Status refused = Reader::Open(cluster.connect(), resumed).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("position 5 is inside a group of 2 rows"));
}

TEST(MixingReader, ALabelThatIsNoClassFailsItsStepAndNoEarlierStep) {
  MixingCluster cluster(2, {}, 2);
  v1::Job job = cluster.coordinator.job();
  job.mutable_spec()->mutable_mix()->set_classes(20);
  cluster.coordinator.SetJob(job);
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(reader->Next(absl::Seconds(20)).ok());
  for (int again = 0; again < 2; ++again) {
    const absl::Status status = reader->Next(absl::Seconds(20)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("column \"label\" of row 20 of epoch 0"));
  }
}

TEST(MixingReader, AJobWhoseColumnsCannotBeMixedIsRejected) {
  MixingCluster cluster(1, {}, 2);
  v1::Job job = cluster.coordinator.job();
  job.mutable_spec()->mutable_mix()->set_label("values");
  cluster.coordinator.SetJob(job);
  const absl::Status refused = Reader::Open(cluster.connect(), cluster.options()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("mix.label: column 'values' is ragged float32"));
}

}  // namespace
}  // namespace penstock::client
