// Mixup and cutmix over real workers: the rows are the same for every world size, batch size and resumption.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/batch/batch_digest.h"
#include "pipeline/batch/mix_job.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::integration {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Row {
  int64_t shard = 0, record = 0;
  bool valid = true;
  std::string image, label;
  bool operator==(const Row&) const = default;
};

struct Reading {
  absl::Status status;
  std::vector<std::vector<Row>> steps;
  std::string state;
};

std::string Slice(const ColumnView& column, size_t row) {
  const size_t bytes = column.bytes() / column.rows();
  return {static_cast<const char*>(column.raw()) + row * bytes, bytes};
}

Reading ReadRows(const std::string& coordinator, const ReaderOptions& options, size_t max_steps = SIZE_MAX) {
  Reading run;
  ConnectOptions connect;
  connect.coordinator = coordinator;
  auto reader = Reader::Open(connect, options);
  run.status = reader.status();
  while (run.status.ok() && run.steps.size() < max_steps) {
    absl::StatusOr<Batch> batch = (*reader)->Next(absl::Seconds(60));
    if (absl::IsOutOfRange(batch.status())) break;
    run.status = batch.status();
    if (!batch.ok()) break;
    std::vector<Row>& rows = run.steps.emplace_back(batch->rows());
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] = {batch->ids()[i].shard, batch->ids()[i].record, batch->valid()[i] != 0,
                 Slice(batch->column("image"), i), Slice(batch->column("label"), i)};
    }
    run.state = (*reader)->SaveState();
  }
  return run;
}

std::vector<Reading> ReadRanks(const std::string& coordinator, ReaderOptions options, uint32_t world_size) {
  std::vector<Reading> ranks(world_size);
  std::vector<std::thread> trainers;
  options.world_size = world_size;
  options.group = "of " + std::to_string(world_size);
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    trainers.emplace_back([&ranks, &coordinator, options, rank]() mutable {
      options.rank = rank;
      ranks[rank] = ReadRows(coordinator, options);
    });
  }
  for (std::thread& trainer : trainers) trainer.join();
  return ranks;
}

void AddTo(const std::vector<Row>& rows, batch::BatchDigest* digest) {
  for (const Row& row : rows) {
    digest->BeginRow(row.shard, row.record, row.valid);
    digest->AddFixed(row.image);
    digest->AddFixed(row.label);
  }
}

std::vector<Row> ValidRows(const std::vector<std::vector<Row>>& steps) {
  std::vector<Row> rows;
  for (const std::vector<Row>& step : steps) {
    for (const Row& row : step) {
      if (row.valid) rows.push_back(row);
    }
  }
  return rows;
}

class MixingTest : public ::testing::Test {
 protected:
  // 5 shards of 39 images in steps of 16: 12 steps, and 3 rows left over.
  MixingTest() : dataset_(support::MakeImageDataset({.shards = 5, .records_per_shard = 39}, folder_.path())) {
    v1::JobSpec& job = dataset_.job;
    job.mutable_batch()->set_size(16);
    job.mutable_batch()->set_last(v1::PAD);
    job.mutable_mix()->set_mixup_alpha(0.4f);
    job.mutable_mix()->set_cutmix_alpha(1);
    job.mutable_mix()->set_classes(10);
    job.mutable_mix()->set_smoothing(0.1f);
    options_.job = job.name();
    options_.epochs = 2;
    options_.prefetch_steps = 4;
  }

  std::unique_ptr<support::InProcessCluster> Serve(int workers = 2) {
    support::ClusterOptions options;
    options.workers = workers;
    auto cluster = std::make_unique<support::InProcessCluster>(options, dataset_.roots);
    const absl::Status submitted = cluster->control().Submit(dataset_.job);
    EXPECT_TRUE(submitted.ok()) << submitted;
    return cluster;
  }

  // The steps of the plain loop, which does not mix. This function mixes them.
  std::vector<std::vector<Row>> Expected(uint64_t epochs) {
    const auto job = support::OpenJob(dataset_.job, dataset_.roots);
    EXPECT_TRUE(job.ok()) << job.status();
    const batch::RowSchema& schema = (*job)->schema();
    const auto plain = support::PlainSteps(**job, {.epochs = epochs});
    EXPECT_TRUE(plain.ok()) << plain.status();
    const auto plan = batch::MakeMixPlan(dataset_.job.mix(), schema);
    EXPECT_TRUE(plan.ok()) << plan.status();
    std::vector<std::vector<Row>> steps;
    for (const support::PlainStep& step : *plain) {
      std::vector<Row>& rows = steps.emplace_back(step.rows.size());
      for (size_t i = 0; i < rows.size(); ++i) {
        const support::PlainRow& row = step.rows[i];
        rows[i].shard = static_cast<int64_t>(row.id.shard);
        rows[i].record = static_cast<int64_t>(row.id.record);
        rows[i].valid = row.valid;
        rows[i].image = row.columns[plan->image].bytes;
        rows[i].label = row.columns[plan->label].bytes;
        if (!plan->integer_labels) continue;
        const int64_t label =
            batch::LoadInteger(plan->label_type, reinterpret_cast<const std::byte*>(rows[i].label.data()));
        rows[i].label.resize(plan->tensors.classes * sizeof(float));
        batch::WriteSoftLabel(row.masked ? -1 : label, plan->tensors.classes, plan->smoothing,
                              reinterpret_cast<std::byte*>(rows[i].label.data()));
      }
      for (size_t first = 0; first + plan->group <= rows.size(); first += plan->group) {
        std::vector<std::byte*> images, labels;
        bool whole = true;
        for (size_t i = first; i < first + plan->group; ++i) {
          whole = whole && rows[i].valid;
          images.push_back(reinterpret_cast<std::byte*>(rows[i].image.data()));
          labels.push_back(reinterpret_cast<std::byte*>(rows[i].label.data()));
        }
        if (!whole) continue;
        const batch::MixDraw draw =
            batch::DrawMix(plan->law, dataset_.job.order().seed(), step.span.epoch, step.span.begin + first,
                           plan->tensors.pixels.height, plan->tensors.pixels.width);
        ++kinds_[draw.kind];
        batch::MixGroup(plan->tensors, draw, images, labels);
      }
    }
    return steps;
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
  ReaderOptions options_;
  std::map<batch::MixDraw::Kind, int> kinds_;
};

TEST_F(MixingTest, ServedRowsAreTheRowsOfTheJobMixedInGroups) {
  for (const uint32_t group : {2u, 4u}) {
    for (const v1::LastBatch last : {v1::PAD, v1::PARTIAL, v1::DROP}) {
      SCOPED_TRACE(testing::Message() << "groups of " << group << ", last batch " << v1::LastBatch_Name(last));
      dataset_.job.mutable_mix()->set_group(group);
      dataset_.job.mutable_batch()->set_last(last);
      kinds_.clear();
      const std::vector<std::vector<Row>> expected = Expected(2);
      EXPECT_GT(kinds_[batch::MixDraw::Kind::kMixup], 10);
      EXPECT_GT(kinds_[batch::MixDraw::Kind::kCutmix], 10);
      const auto cluster = Serve();
      const Reading run = ReadRows(cluster->address(), options_);
      ASSERT_TRUE(run.status.ok()) << run.status;
      ASSERT_EQ(run.steps.size(), expected.size());
      for (size_t step = 0; step < expected.size(); ++step) EXPECT_EQ(run.steps[step], expected[step]) << step;
    }
  }
}

TEST_F(MixingTest, ThePublicColumnsShowSoftLabels) {
  const auto cluster = Serve(1);
  ConnectOptions connect;
  connect.coordinator = cluster->address();
  const auto reader = Reader::Open(connect, options_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_EQ((*reader)->columns().size(), 2u);
  const ColumnInfo& label = (*reader)->columns()[1];
  EXPECT_EQ(label.name, "label");
  EXPECT_EQ(label.type, ElementType::kFloat32);
  EXPECT_THAT(label.shape, ElementsAre(10));
  const auto batch = (*reader)->Next(absl::Seconds(60));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->column("label").info().shape, label.shape);
  const auto labels = batch->column("label").data<float>();
  ASSERT_EQ(labels.size(), 160u);
  for (size_t row = 0; row < 16; ++row) {
    float sum = 0;
    for (size_t k = 0; k < 10; ++k) sum += labels[row * 10 + k];
    EXPECT_NEAR(sum, 1, 1e-5) << row;
  }
}

TEST_F(MixingTest, RanksTogetherReadTheRowsAndTheDigestOfOneReaderInEachStep) {
  const auto cluster = Serve(3);
  Reading whole = ReadRows(cluster->address(), options_);
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  for (const uint32_t world_size : {2u, 4u}) {
    std::vector<Reading> ranks = ReadRanks(cluster->address(), options_, world_size);
    for (const Reading& rank : ranks) {
      ASSERT_TRUE(rank.status.ok()) << rank.status;
      ASSERT_EQ(rank.steps.size(), whole.steps.size());
    }
    for (size_t step = 0; step < whole.steps.size(); ++step) {
      std::vector<Row> joined;
      batch::BatchDigest together, alone;
      for (const Reading& rank : ranks) {
        joined.insert(joined.end(), rank.steps[step].begin(), rank.steps[step].end());
        AddTo(rank.steps[step], &together);
      }
      AddTo(whole.steps[step], &alone);
      EXPECT_EQ(joined, whole.steps[step]) << step;
      EXPECT_EQ(together.Hex(), alone.Hex()) << step;
    }
  }
}

TEST_F(MixingTest, AStateContinuesWithTheSameRowsAtOtherSizes) {
  const auto cluster = Serve();
  options_.epochs = 1;
  const Reading whole = ReadRows(cluster->address(), options_);
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  const Reading before = ReadRows(cluster->address(), options_, 5);
  ASSERT_TRUE(before.status.ok()) << before.status;
  const std::vector<std::vector<Row>> rest(whole.steps.begin() + 5, whole.steps.end());

  ReaderOptions resumed = options_;
  resumed.state = before.state;
  const Reading same = ReadRows(cluster->address(), resumed);
  ASSERT_TRUE(same.status.ok()) << same.status;
  EXPECT_EQ(same.steps, rest);

  for (const uint32_t batch_size : {6u, 24u}) {
    resumed.batch_size = batch_size;
    const Reading other = ReadRows(cluster->address(), resumed);
    ASSERT_TRUE(other.status.ok()) << other.status;
    EXPECT_EQ(ValidRows(other.steps), ValidRows(rest)) << batch_size;
  }

  resumed.batch_size = 0;
  const std::vector<Reading> ranks = ReadRanks(cluster->address(), resumed, 2);
  std::vector<std::vector<Row>> joined(rest.size());
  for (const Reading& rank : ranks) {
    ASSERT_TRUE(rank.status.ok()) << rank.status;
    ASSERT_EQ(rank.steps.size(), rest.size());
    for (size_t step = 0; step < rest.size(); ++step) {
      joined[step].insert(joined[step].end(), rank.steps[step].begin(), rank.steps[step].end());
    }
  }
  EXPECT_EQ(joined, rest);
}

TEST_F(MixingTest, SizesThatSplitGroupsAreRejectedWithTheNumbers) {
  dataset_.job.mutable_mix()->set_group(4);
  const auto cluster = Serve(1);
  ReaderOptions options = options_;
  options.world_size = 8;
  absl::Status refused = ReadRows(cluster->address(), options).status;
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("groups of 4"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("gives 2 rows to each"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("a multiple of 32"));
  options = options_;
  options.batch_size = 18;
  refused = ReadRows(cluster->address(), options).status;
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("a multiple of 4"));
}

TEST_F(MixingTest, AStateOfTheSameJobWithoutMixingIsRejected) {
  v1::JobSpec plain = dataset_.job;
  plain.clear_mix();
  plain.mutable_batch()->set_size(13);
  const auto cluster = Serve(1);
  ASSERT_TRUE(cluster->control().Submit(plain, /*replace=*/true).ok());
  const Reading before = ReadRows(cluster->address(), options_, 1);
  ASSERT_TRUE(before.status.ok()) << before.status;
  ASSERT_TRUE(cluster->control().Submit(dataset_.job, /*replace=*/true).ok());
  ReaderOptions resumed = options_;
  resumed.state = before.state;
  absl::Status refused = ReadRows(cluster->address(), resumed).status;
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  resumed.accept_new_pipeline = true;
  refused = ReadRows(cluster->address(), resumed).status;
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("position 13 is inside a group of 2 rows"));
}

TEST_F(MixingTest, OneHotLabelsAndFloatImagesAreMixed) {
  dataset_.job.mutable_mix()->clear_classes();
  dataset_.job.mutable_mix()->clear_smoothing();
  v1::Op* one_hot = dataset_.job.add_ops();
  one_hot->set_column("label");
  one_hot->mutable_one_hot()->set_classes(10);
  one_hot->mutable_one_hot()->set_smoothing(0.1f);
  v1::Op* normalize = dataset_.job.add_ops();
  normalize->mutable_normalize()->set_preset("imagenet");
  normalize->mutable_normalize()->set_channels_first(true);
  const std::vector<std::vector<Row>> expected = Expected(2);
  const auto cluster = Serve();
  const Reading run = ReadRows(cluster->address(), options_);
  ASSERT_TRUE(run.status.ok()) << run.status;
  EXPECT_EQ(run.steps, expected);
}

TEST_F(MixingTest, MaskedRowsKeepTheirGroupsUnmixed) {
  support::BreakRecord(dataset_.files[2], 7);
  dataset_.job.mutable_errors()->set_policy(v1::MASK);
  const std::vector<std::vector<Row>> expected = Expected(2);
  const auto cluster = Serve();
  const Reading run = ReadRows(cluster->address(), options_);
  ASSERT_TRUE(run.status.ok()) << run.status;
  EXPECT_EQ(run.steps, expected);
}

TEST_F(MixingTest, ALabelThatIsNoClassIsReported) {
  dataset_.job.mutable_mix()->set_classes(9);
  const auto cluster = Serve(1);
  const Reading run = ReadRows(cluster->address(), options_);
  EXPECT_EQ(run.status.code(), absl::StatusCode::kInvalidArgument) << run.status;
  EXPECT_THAT(std::string(run.status.message()), HasSubstr("is 9, which is not in [0, 9)"));
}

}  // namespace
}  // namespace penstock::integration
