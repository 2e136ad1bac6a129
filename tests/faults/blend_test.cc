// Jobs with plan version 2 on real processes: a worker that is killed, one that drains, and a coordinator that
// restarts.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::faults {
namespace {

// Reads two epochs, and expects the rows of a local job in at least `least` steps.
void ExpectItsRowsThroughFaults(const support::TestDataset& dataset, size_t least) {
  const std::string expected = support::PlainDigest(dataset, dataset.job, 2);
  support::ProcessCluster cluster({.workers = 3}, dataset.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset.job).ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset.job.name(), 3)) << cluster.Logs();
  support::ReadPlan plan;
  plan.options.job = dataset.job.name();
  plan.options.epochs = 2;
  plan.options.prefetch_steps = 2;
  plan.timeout = absl::Seconds(90);
  plan.after_step = [&](uint64_t steps) {
    if (steps == 3) cluster.worker(1).process->Signal(SIGKILL);
    if (steps == 10) cluster.RestartCoordinator();
    if (steps == 20) cluster.RestartWorker(1);
    EXPECT_TRUE(steps != 25 || cluster.control().Drain(cluster.worker(0).id).ok());
  };
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_GE(result.steps.size(), least);
  EXPECT_EQ(result.digest, expected);
}

// Data sets have selections and ops of their own, batches are exact, and weights change.
TEST(BlendedJob, KeepsItsRowsWhileWorkersAndTheCoordinatorDie) {
  const support::TempFolder folder;
  support::TestDataset dataset = support::MakeImageDataset({.shards = 6, .records_per_shard = 40}, folder.path());
  dataset.job.clear_dataset();
  for (const int set : {0, 1, 2}) {
    v1::Dataset* const added = dataset.job.add_dataset();
    added->set_name(std::string(1, static_cast<char>('a' + set)));
    added->set_weight(set + 0.5);
    for (size_t file = static_cast<size_t>(set); file < 6; file += 2) added->add_files(dataset.files[file]);
  }
  dataset.job.mutable_dataset(0)->add_select()->mutable_sample()->set_fraction(0.7);
  dataset.job.mutable_dataset(2)->add_select()->mutable_every()->set_n(2);
  *dataset.job.mutable_dataset(1)->mutable_ops() = dataset.job.ops();
  dataset.job.mutable_dataset(1)->add_ops()->mutable_random_vertical_flip();
  dataset.job.mutable_blend()->set_epoch_rows(320);  // several passes of the small data sets
  dataset.job.mutable_blend()->set_batches(v1::Blend::EXACT);
  v1::WeightChange* const change = dataset.job.mutable_blend()->add_change();
  change->set_at_rows(400);  // after the faults have begun
  v1::SetWeight* const weight = change->add_weights();
  weight->set_key("a");
  weight->set_value(2);
  dataset.job.mutable_batch()->set_size(16);
  ExpectItsRowsThroughFaults(dataset, 40);
}

TEST(BalancedJob, KeepsItsRowsWhileWorkersAndTheCoordinatorDie) {
  const support::TempFolder folder;
  support::TestDataset dataset = support::MakeImageDataset({.shards = 6, .records_per_shard = 40}, folder.path());
  dataset.job.mutable_dataset(0)->add_select()->mutable_sample()->set_fraction(0.8);
  v1::Balance* const balance = dataset.job.mutable_dataset(0)->add_select()->mutable_balance();
  balance->set_by("hash(col('image/encoded')) % 23 // (1 + hash(col('image/encoded')) % 5)");  // groups of many sizes
  balance->set_power(0.25);
  dataset.job.mutable_batch()->set_size(8);
  ExpectItsRowsThroughFaults(dataset, 31);
}

TEST(BucketedJob, KeepsItsRowsWhileWorkersAndTheCoordinatorDie) {
  const support::TempFolder folder;
  support::TestDataset dataset = support::MakeImageDataset({.shards = 6, .records_per_shard = 40}, folder.path());
  v1::Bucket* const bucket = dataset.job.mutable_dataset(0)->add_select()->mutable_bucket();
  bucket->set_by("bytes(col('image/encoded'))");
  bucket->set_bins(9);
  dataset.job.mutable_order()->clear_repeats();
  dataset.job.mutable_batch()->set_size(7);
  ExpectItsRowsThroughFaults(dataset, 68);
}

// The sizes of batches follow the bytes of their images.
TEST(BudgetedJob, KeepsItsRowsWhileWorkersAndTheCoordinatorDie) {
  const support::TempFolder folder;
  support::TestDataset dataset = support::MakeImageDataset({.shards = 6, .records_per_shard = 40}, folder.path());
  v1::Bucket* const bucket = dataset.job.mutable_dataset(0)->add_select()->mutable_bucket();
  bucket->set_by("hash(col('image/encoded')) % 100");
  bucket->set_bins(20);
  bucket->set_budget(400);
  dataset.job.mutable_order()->clear_repeats();
  dataset.job.mutable_batch()->set_size(20);
  ExpectItsRowsThroughFaults(dataset, 50);
}

// Each data set of the blend is packed in its own way.
TEST(PackedBlend, KeepsItsRowsWhileWorkersAndTheCoordinatorDie) {
  const support::TempFolder folder;
  support::TestDataset dataset = support::MakeNumberDataset({.shards = 6, .records_per_shard = 200}, folder.path());
  for (v1::Feature& feature : *dataset.job.mutable_features()) feature.set_variable_length(true);
  dataset.job.clear_dataset();
  for (const int set : {0, 1}) {
    v1::Dataset* const added = dataset.job.add_dataset();
    added->set_name(std::string(1, static_cast<char>('a' + set)));
    added->set_weight(set + 1);
    for (size_t file = static_cast<size_t>(set); file < 6; file += 2) added->add_files(dataset.files[file]);
    added->add_select()->mutable_sample()->set_fraction(0.9);
    v1::Pack* const pack = added->add_select()->mutable_pack();
    pack->set_length(12);
    pack->add_features("values");
    pack->set_concatenate(set == 1);
    pack->add_outputs(v1::Pack::SEGMENT_IDS);
    pack->add_outputs(v1::Pack::RECORDS);
  }
  dataset.job.mutable_blend()->set_epoch_rows(170);  // several passes of the small data set
  dataset.job.mutable_batch()->set_size(4);
  ExpectItsRowsThroughFaults(dataset, 50);
}

// The windows of a data set overlap, and those of the other one have steps.
TEST(WindowedBlend, KeepsItsRowsWhileWorkersAndTheCoordinatorDie) {
  const support::TempFolder folder;
  support::TestDataset dataset = support::MakeNumberDataset({.shards = 6, .records_per_shard = 100}, folder.path());
  dataset.job.clear_dataset();
  for (const int set : {0, 1}) {
    v1::Dataset* const added = dataset.job.add_dataset();
    added->set_name(std::string(1, static_cast<char>('a' + set)));
    added->set_weight(set + 1);
    for (size_t file = static_cast<size_t>(set); file < 6; file += 2) added->add_files(dataset.files[file]);
    v1::RecordWindow* const window = added->add_select()->mutable_window();
    window->set_size(6);
    window->set_stride(set == 0 ? 1 : 4);
    window->set_step(set == 0 ? 1 : 3);
    window->set_by("id // 23");
    window->set_records("numbers");
  }
  dataset.job.mutable_blend()->set_epoch_rows(170);
  dataset.job.mutable_batch()->set_size(4);
  ExpectItsRowsThroughFaults(dataset, 50);
}

}  // namespace
}  // namespace penstock::faults
