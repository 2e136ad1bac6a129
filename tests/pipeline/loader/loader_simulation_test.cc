// The real loader in one thread on virtual time: its makers are tasks of a SimScheduler, and so is its storage. Two
// sessions read from slow storage with a budget that does not hold their rows. Each seed draws another order of events.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/runtime/sim_scheduler.h"
#include "tests/pipeline/loader/slow_reads_testing.h"

namespace penstock::loader {
namespace {

constexpr uint64_t kStepRows = 8;
constexpr uint64_t kEpochs = 2;
#ifdef PENSTOCK_FEW_SEEDS  // a sanitizer makes each seed many times slower
constexpr uint64_t kSeeds = 60;
#else
constexpr uint64_t kSeeds = 1000;
#endif

// Local files behind a network on virtual time. Some reads fail.
class SimStorage final : public LocalBehind {
 public:
  explicit SimStorage(SimScheduler* sim) : sim_(*sim) {}
  bool HasLowLatency(const std::string&) const override { return false; }
  // Ends inside the call: the task of the executor that opens a shard waits for it.
  void Open(const std::string& name, const storage::CallOptions& options,
            storage::CallDone<std::unique_ptr<storage::StoredFile>> done) override {
    absl::StatusOr<std::unique_ptr<storage::StoredFile>> file = storage::LocalFiles()->OpenAndWait(name, options);
    if (!file.ok()) return std::move(done)(file.status());
    std::move(done)(std::make_unique<File>(this, *std::move(file)));
  }

  uint64_t longest_record = UINT64_MAX;  // longer reads are ranges
  uint64_t failing_ranges = 0;           // of 8
  uint64_t failing_reads = 0;            // of 64 reads of one record
  uint64_t reads = 0, ranges = 0;        // that were started

 private:
  class File final : public LocalFileBehind {
   public:
    File(SimStorage* storage, std::unique_ptr<storage::StoredFile> file)
        : LocalFileBehind(std::move(file)), storage_(*storage) {}
    void Read(uint64_t offset, size_t length, char* out, const storage::CallOptions& options,
              storage::CallDone<size_t> done) const override {
      const bool range = length > storage_.longest_record;
      ++(range ? storage_.ranges : storage_.reads);
      const bool fails =
          range ? storage_.sim_.Draw(8) < storage_.failing_ranges : storage_.sim_.Draw(64) < storage_.failing_reads;
      storage_.Later([this, offset, length, out, fails, stop = options.stop, done = std::move(done)]() mutable {
        if (stop.stop_requested()) return std::move(done)(absl::CancelledError("stopped"));
        if (fails) return std::move(done)(absl::UnavailableError("the read failed"));
        std::move(done)(file_->ReadAt(offset, length, out));
      });
    }

   private:
    SimStorage& storage_;
  };

  void Later(Task task) { sim_.PostAt(sim_.clock()->Now() + 1 + sim_.Draw(3 * kMillisecond), std::move(task)); }

  SimScheduler& sim_;
};

using Rows = std::map<std::pair<uint64_t, uint64_t>, std::string>;  // by epoch and position

// A trainer: it requests rows some steps ahead, and takes each step when it is complete.
class Trainer final : public RowSink {
 public:
  Trainer(SimScheduler* sim, std::shared_ptr<const LoadJob> job, uint64_t ahead)
      : sim_(*sim), job_(std::move(job)), ahead_(ahead), rows_(job_->positions()) {}

  void Open(Loader* loader, const JobCaps& caps) {
    LoaderSessionOptions options;
    options.caps = caps;
    options.largest_step_rows = kStepRows;
    options.end_epoch = kEpochs;
    options.expected = ExpectAll(*job_, kEpochs);
    options.counts_all = true;
    auto session = loader->OpenSession(job_, options, this);
    PS_CHECK(session.ok());
    session_ = *std::move(session);
    session_->SetHead(0);
    Ask();
  }
  // Makes the trainer close its session after `steps` steps.
  void CloseAfter(uint64_t steps) { last_step_ = std::min(last_step_, steps); }

  void OnRow(RowResult row) override {
    if (session_ == nullptr) return;  // it was in progress when the session closed
    if (row.status.ok()) {
      held_.emplace(row.request.tag, std::move(row));
    } else {
      EXPECT_TRUE(absl::IsUnavailable(row.status)) << row.status;
      to_ask_.push_back(row.request);  // its reads failed too often
    }
    sim_.PostAt(sim_.clock()->Now() + sim_.Draw(kMillisecond), [this] { Look(); });
  }
  size_t Revoke(size_t bytes, bool) override {
    ++revocations;
    size_t freed = 0;
    while (freed < bytes && !held_.empty() && held_.rbegin()->second.request.step > head_) {
      auto last = std::prev(held_.end());
      freed += last->second.bytes->bytes();
      to_ask_.push_back(last->second.request);
      held_.erase(last);
    }
    if (freed > 0) sim_.Post([this] { Look(); });
    return freed;
  }

  bool closed() const { return closed_; }
  const Rows& taken() const { return taken_; }
  uint64_t steps() const { return head_; }
  uint64_t revocations = 0;

 private:
  uint64_t total_rows() const { return rows_ * kEpochs; }
  uint64_t StepEnd(uint64_t step) const { return std::min((step + 1) * kStepRows, total_rows()); }

  void Ask() {
    while (next_ < std::min(total_rows(), (head_ + ahead_) * kStepRows)) {
      RowRequest row;
      row.epoch = next_ / rows_;
      row.position = next_ % rows_;
      row.step = next_ / kStepRows;
      row.tag = next_++;
      to_ask_.push_back(row);
    }
    const size_t taken = session_->Request({to_ask_.begin(), to_ask_.end()});
    to_ask_.erase(to_ask_.begin(), to_ask_.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  // Takes the head step if it is complete.
  void Look() {
    if (session_ == nullptr) return;
    const uint64_t begin = head_ * kStepRows, end = StepEnd(head_);
    const auto first = held_.lower_bound(begin), last = held_.lower_bound(end);
    if (static_cast<uint64_t>(std::distance(first, last)) == end - begin) {
      for (auto row = first; row != last; ++row) {
        const RowRequest& request = row->second.request;
        const bool added = taken_.emplace(std::pair(request.epoch, request.position), Told(row->second, *job_)).second;
        PS_CHECK(added);
      }
      held_.erase(first, last);
      ++head_;
      if (head_ >= last_step_ || head_ * kStepRows >= total_rows()) {
        held_.clear();
        session_->Close([this] { closed_ = true; });
        session_.reset();
        return;
      }
      session_->SetHead(head_);
      session_->NowRevocable();
      sim_.Post([this] { Look(); });  // the next step may be complete too
    }
    Ask();
  }

  SimScheduler& sim_;
  const std::shared_ptr<const LoadJob> job_;
  const uint64_t ahead_;
  const uint64_t rows_;
  std::unique_ptr<Loader::Session> session_;
  std::map<uint64_t, RowResult> held_;
  std::deque<RowRequest> to_ask_;
  uint64_t next_ = 0, head_ = 0, last_step_ = UINT64_MAX;
  bool closed_ = false;
  Rows taken_;
};

class LoaderSimulation : public ::testing::Test {
 protected:
  LoaderSimulation() {
    support::NumberDatasetOptions numbers;
    numbers.shards = kShards;
    numbers.records_per_shard = kShardRecords;
    set_ = support::MakeNumberDataset(numbers, folder_.path());
    // MemoryPipeline reads records that are numbers as text.
    for (uint64_t shard = 0; shard < kShards; ++shard) {
      std::vector<std::string> records;
      for (uint64_t record = 0; record < kShardRecords; ++record) {
        records.push_back(absl::StrCat(shard * kShardRecords + record, std::string(40 + 20 * (record % 7), ' ')));
        longest_ = std::max<uint64_t>(longest_, records.back().size() + kFrameBytes);
      }
      support::WriteShard(set_.files[shard], records);
    }
    auto frozen = OpenDataset(storage::LocalFiles(), set_.job, set_.roots, std::nullopt, 1);
    PS_CHECK(frozen.ok());
    snapshot_ = std::make_unique<sources::Snapshot>((*frozen)->snapshot());
    const auto job = JobIn(nullptr, storage::LocalFiles());
    auto loader = LoaderOf(1);
    HoldingSink sink;
    auto session = SessionOf(loader.get(), job, &sink, kEpochs * kShards * kShardRecords);
    for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      std::vector<RowRequest> rows;
      for (uint64_t position = 0; position < job->positions(); ++position) {
        RowRequest row;
        row.epoch = epoch;
        row.position = position;
        row.step = epoch;
        rows.push_back(row);
      }
      session->Request(rows);
      for (const RowResult& row : sink.TakeStep(epoch, rows.size())) {
        expected_[{epoch, row.request.position}] = Told(row, *job);
      }
    }
  }

  static constexpr uint64_t kShards = 3, kShardRecords = 64, kFrameBytes = 16;

  // `executor` opens the shards; null: threads.
  std::shared_ptr<const LoadJob> JobIn(Executor* executor, storage::Storage* storage) {
    DatasetReader::Options options;
    options.executor = executor;
    auto reader = DatasetReader::Create(
        storage, *snapshot_, set_.roots,
        IndexesFrom(sources::IndexStore::InStateDir(storage::LocalFiles(), state_.path()), sources::IndexOptions()),
        options);
    PS_CHECK(reader.ok());
    auto pipeline = std::make_unique<MemoryPipeline>(1000);
    pipeline->scratch = [](uint64_t record) { return 1000 + record % 5 * 1500; };
    auto job = LoadJob::Create(set_.job, *reader, std::move(pipeline));
    PS_CHECK(job.ok());
    return *job;
  }

  struct Counts {
    uint64_t revocations = 0, ranges = 0, reads = 0, row_cache_hits = 0, order_hash = 0;
  };
  // Runs two trainers with this seed, and checks their rows and the memory at the end.
  Counts Run(uint64_t seed) {
    SimScheduler sim(seed);
    SimStorage storage(&sim);
    storage.longest_record = longest_;
    storage.failing_ranges = sim.Draw(4);
    storage.failing_reads = sim.Draw(8);
    LoaderOptions options;
    options.executor = &sim;
    options.clock = sim.clock();
    options.step_time = [&sim](MakerStep step) {
      return static_cast<Nanos>(step == MakerStep::kMake ? 1000 + sim.Draw(200'000) : sim.Draw(2000));
    };
    options.threads = 1 + static_cast<int>(sim.Draw(4));
    options.memory_budget_bytes = (64 << 10) + sim.Draw(64 << 10);
    options.reads_under_way = 1 + static_cast<int>(sim.Draw(16));
    options.ranges_under_way = static_cast<int>(sim.Draw(4));
    options.record_cache_bytes = sim.Draw(2) * (2 << 10);
    options.row_cache_bytes = sim.Draw(2) * (8 << 10);
    auto loader = Loader::Create(options);
    PS_CHECK(loader.ok());
    const bool one_job = sim.Draw(2) == 0;  // both then read the same rows
    const auto first_job = JobIn(&sim, &storage);
    Trainer first(&sim, first_job, 2 + sim.Draw(4)),
        second(&sim, one_job ? first_job : JobIn(&sim, &storage), 2 + sim.Draw(4));
    if (sim.Draw(4) == 0) second.CloseAfter(1 + sim.Draw(30));
    JobCaps caps;
    if (sim.Draw(4) == 0) caps.requests_per_second = static_cast<double>(200 + sim.Draw(2000));
    if (sim.Draw(4) == 0) caps.memory_bytes = (48 << 10) + sim.Draw(48 << 10);
    for (uint64_t i = sim.Draw(4); i > 0; --i) {
      const auto pause = [&, now = i % 2 == 0] {
        first_job->paused() = now;
        (*loader)->PausesChanged();
      };
      sim.PostAt(static_cast<Nanos>((4 - i) * 5 * kMillisecond + sim.Draw(5 * kMillisecond)), pause);
    }
    first.Open(loader->get(), caps);
    sim.PostAt(static_cast<Nanos>(sim.Draw(20 * kMillisecond)), [&] { second.Open(loader->get(), caps); });
    const bool ended = sim.RunUntil([&] { return first.closed() && second.closed(); }, 3600 * kSecond);
    EXPECT_TRUE(ended) << "seed " << seed << ": the trainers wait at the steps " << first.steps() << " and "
                       << second.steps();
    if (!ended) std::exit(1);  // the loader would wait for its makers
    sim.RunAll();
    EXPECT_EQ(first.taken(), expected_) << "seed " << seed;
    for (const auto& [place, row] : second.taken()) EXPECT_EQ(row, expected_.at(place)) << "seed " << seed;
    (*loader)->Set({1, 1});
    const LoaderStats stats = (*loader)->Stats();
    const uint64_t scratch = options.memory_budget_bytes / 16 / static_cast<uint64_t>(options.threads) *
                             static_cast<uint64_t>(options.threads);
    EXPECT_EQ(stats.memory_bytes - stats.record_cache.bytes - stats.row_cache.bytes, scratch)
        << "seed " << seed << ": bytes stay reserved";
    EXPECT_LE(stats.memory_peak_bytes, options.memory_budget_bytes) << "seed " << seed;
    return {first.revocations + second.revocations, storage.ranges, storage.reads, stats.row_cache.hits,
            sim.order_hash()};
  }

  support::TempFolder folder_, state_;
  support::TestDataset set_;
  std::unique_ptr<sources::Snapshot> snapshot_;
  uint64_t longest_ = 0;
  Rows expected_;
};

TEST_F(LoaderSimulation, RowsEqualThePlanAndNoByteStaysReservedUnderAnyOrderOfEvents) {
  Counts sum;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Counts counts = Run(seed);
    sum.revocations += counts.revocations;
    sum.ranges += counts.ranges;
    sum.reads += counts.reads;
    sum.row_cache_hits += counts.row_cache_hits;
    if (HasFailure()) break;
  }
  // The seeds reach revocations, ranges, single reads and shared rows.
  EXPECT_GT(sum.revocations, 0u);
  EXPECT_GT(sum.ranges, kSeeds);
  EXPECT_GT(sum.reads, kSeeds);
  EXPECT_GT(sum.row_cache_hits, kSeeds / 10);
}

TEST_F(LoaderSimulation, ASeedRepeatsItsRun) { EXPECT_EQ(Run(7).order_hash, Run(7).order_hash); }

}  // namespace
}  // namespace penstock::loader
