// Jobs that select records, in the coordinator's state: tasks for workers, the workers that may serve, and the status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CoordinatorSelection : public ::testing::Test {
 protected:
  CoordinatorSelection() { spec_.mutable_dataset(0)->add_select()->set_filter("label > 3"); }

  void Register(const std::string& id, uint32_t protocol) {
    v1::RegisterWorkerRequest worker = WorkerCalled(id);
    worker.mutable_protocols()->set_oldest(1);
    worker.mutable_protocols()->set_newest(protocol);
    h.Do<v1::RegisterWorkerReply>(worker);
  }
  // The worker's report; each shard has 100 records, of which the selection keeps `kept`.
  v1::ReportTaskRequest Done(const std::string& id, const v1::Task& task, uint64_t kept) const {
    v1::ReportTaskRequest report = DoneBy(id, task, StateHarness::kShards, kept);
    if (task.has_prepare()) *report.mutable_selection() = selection_;
    if (task.has_index()) report.mutable_shard()->set_whole_records(100);
    return report;
  }
  void Work(const std::string& id, uint64_t kept) {
    for (bool any = true; any;) {
      any = false;
      for (const v1::Task& task : TasksIn(h.Beat(id))) {
        EXPECT_TRUE(!task.has_index() || task.index().selection().steps_size() == 1);
        EXPECT_TRUE(!task.has_probe() || task.probe().job().snapshot().selection().features_size() == 1);
        h.Report(Done(id, task, kept));
        any = true;
      }
    }
  }
  void Submit() { h.Do<v1::SubmitReply>(SubmitOf(spec_)); }

  StateHarness h;
  v1::JobSpec spec_ = SimpleSpec("train");
  v1::Selection selection_ = [] {
    v1::Selection selection;
    selection.add_steps()->set_filter("label > 3");
    v1::SelectedFeature* const feature = selection.add_features();
    feature->set_key("label");
    feature->set_type(v1::Feature::INT64);
    return selection;
  }();
};

TEST_F(CoordinatorSelection, TheTypesOfFeaturesReachEachWorkerAndTrainerAndSurviveARestart) {
  Register("a", 2);
  Submit();
  Work("a", 25);
  EXPECT_EQ(h.Job("train").state(), v1::READY);
  EXPECT_EQ(h.Job("train").snapshot().selection().SerializeAsString(), selection_.SerializeAsString());
  EXPECT_EQ(h.JobStatus("train").records(), StateHarness::kShards * 25u);
  EXPECT_EQ(h.JobStatus("train").whole_records(), StateHarness::kShards * 100u);
  h.Restart();
  EXPECT_EQ(h.Job("train").snapshot().selection().SerializeAsString(), selection_.SerializeAsString());
  EXPECT_EQ(h.JobStatus("train").whole_records(), StateHarness::kShards * 100u);
}

TEST_F(CoordinatorSelection, StepsThatCountSliceTheShardsInOrderAndSurviveARestart) {
  static_assert(StateHarness::kShards >= 3);
  selection_.add_steps()->set_skip(30);
  spec_.mutable_dataset(0)->add_select()->set_skip(30);
  Register("a", 2);
  Submit();
  for (bool any = true; any;) {
    any = false;
    for (const v1::Task& task : TasksIn(h.Beat("a"))) {
      h.Report(Done("a", task, 25));
      any = true;
    }
  }
  const auto check = [this] {
    EXPECT_EQ(h.JobStatus("train").records(), StateHarness::kShards * 25u - 30);
    EXPECT_EQ(h.JobStatus("train").whole_records(), StateHarness::kShards * 100u);
    const v1::Job job = h.Job("train");
    EXPECT_EQ(job.snapshot().shards(0).records(), 0u);
    EXPECT_EQ(job.snapshot().shards(1).records(), 20u);
    EXPECT_EQ(job.snapshot().shards(1).indexed_records(), 25u);
    EXPECT_EQ(job.snapshot().shards(1).slice_first(), 5u);
    EXPECT_EQ(job.snapshot().shards(1).slice_stride(), 1u);
    EXPECT_EQ(job.snapshot().shards(2).slice_stride(), 0u);
  };
  check();
  h.Restart();
  check();
}

// It would serve all records.
TEST_F(CoordinatorSelection, AnOlderWorkerNeitherPreparesNorServesTheJob) {
  Register("old", 1);
  Submit();
  EXPECT_THAT(TasksIn(h.Beat("old")), IsEmpty());
  EXPECT_THAT(h.JobStatus("train").waiting(),
              HasSubstr("no live worker knows dataset.select, names of data sets, "
                        "blend, JSONL, TEXT, CSV, TSV, NPY, MANIFEST, MEGATRON, windows, pad, batch.change, "
                        "UINT32 or UINT64; upgrade the workers"));
  Register("new", 2);
  Work("new", 25);
  EXPECT_THAT(h.OwnersOf("train"), ::testing::ElementsAre("new"));
  EXPECT_THAT(TasksIn(h.Beat("old")), IsEmpty());
}

TEST_F(CoordinatorSelection, AnOlderWorkerGetsNoJobOfTypesThatItLacks) {
  Register("old", 1);
  v1::JobSpec raw = SimpleSpec("raw", 30), cast = SimpleSpec("cast", 30), known = SimpleSpec("known", 30);
  v1::JobSpec padded = SimpleSpec("padded", 30), named = SimpleSpec("named", 30), tokens = SimpleSpec("tokens", 30);
  padded.mutable_features()->Add()->mutable_pad()->set_length(4);
  named.mutable_dataset(0)->set_source(v1::Source::MANIFEST);
  tokens.mutable_dataset(0)->set_source(v1::Source::MEGATRON);
  raw.add_features()->set_decode_raw(v1::UINT32);
  cast.add_ops()->mutable_cast()->set_to(v1::UINT64);
  known.add_ops()->mutable_cast()->set_to(v1::INT64);
  v1::JobSpec grown = SimpleSpec("grown", 30);
  grown.mutable_batch()->add_change()->set_at_rows(9);
  grown.mutable_batch()->mutable_change(0)->set_size(4);
  for (const v1::JobSpec& spec : {raw, cast, padded, named, tokens, grown}) h.Do<v1::SubmitReply>(SubmitOf(spec));
  EXPECT_THAT(TasksIn(h.Beat("old")), IsEmpty());
  h.Do<v1::SubmitReply>(SubmitOf(known));
  EXPECT_EQ(TasksIn(h.Beat("old")).size(), 1u);
}

TEST_F(CoordinatorSelection, AnOlderWorkerWithMoreRootsDoesNotKeepOthersFromPreparing) {
  v1::RegisterWorkerRequest old = WorkerCalled("old");
  old.add_roots("more");
  h.Do<v1::RegisterWorkerReply>(old);
  Register("new", 2);
  Submit();
  Work("new", 25);
  EXPECT_EQ(h.Job("train").state(), v1::READY);
}

TEST_F(CoordinatorSelection, AReportWithoutTheSelectionFailsTheJob) {
  Register("a", 2);
  Submit();
  const std::vector<v1::Task> tasks = TasksIn(h.Beat("a"));
  ASSERT_EQ(tasks.size(), 1u);
  h.Report(DoneBy("a", tasks[0], StateHarness::kShards, 25));
  EXPECT_EQ(h.Job("train").state(), v1::FAILED);
  EXPECT_THAT(h.Job("train").error(), HasSubstr("dataset[0].select"));
}

TEST_F(CoordinatorSelection, OfNothingFailsWithTheNumbers) {
  Register("a", 2);
  Submit();
  Work("a", 0);
  EXPECT_EQ(h.Job("train").state(), v1::FAILED);
  EXPECT_THAT(h.Job("train").error(), HasSubstr("dataset[0].select: keeps none of the 800 records in the 8 files"));
}

TEST_F(CoordinatorSelection, BadRecordsHaveTheirNumbersInTheFile) {
  spec_.mutable_errors()->set_policy(v1::MASK);
  Register("a", 2);
  Submit();
  Work("a", 25);
  v1::BadRecord bad;
  bad.set_record(30);  // the sixth selected one of the second shard
  bad.set_reason("no image");
  bad.set_message("what");
  bad.set_number_in_shard(77);
  h.ReportBad("a", "train", {bad});
  v1::QuarantineRequest request;
  request.set_job("train");
  for (int start = 0; start < 2; ++start) {
    const auto quarantine = h.state->GetQuarantine(request);
    ASSERT_TRUE(quarantine.ok());
    ASSERT_EQ(quarantine->entries_size(), 1);
    EXPECT_EQ(quarantine->entries(0).record(), 77u);
    EXPECT_EQ(quarantine->entries(0).path(), "train-100001");
    h.Restart();
  }
  Register("a", 2);
  std::vector<v1::BadRecord> more;
  for (uint64_t i = 31; i < 40; ++i) {
    bad.set_record(i);
    bad.set_number_in_shard(i + 50);
    more.push_back(bad);
  }
  h.ReportBad("a", "train", more);
  EXPECT_THAT(h.Job("train").error(), HasSubstr("record 81 of data/train-100001"));
}

}  // namespace
}  // namespace penstock::coordinator
