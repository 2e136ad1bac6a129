// Which worker walks which file if indexes are missing or files were touched: fleets of workers with the blobs and
// turns of one coordinator.
#include "server/worker/indexes/shard_indexes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "pipeline/storage/posix_storage.h"
#include "server/coordinator/state/index_turns.h"
#include "server/coordinator/store/index_blobs.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"

namespace penstock::worker {
namespace {

using ::testing::HasSubstr;

// The coordinator's side of indexes. A test can make it unreachable.
class Coordinator {
 public:
  Coordinator() : blobs_(*coordinator::IndexBlobs::Open(folder_.path(), coordinator::IndexBlobs::Limits())) {}

  absl::StatusOr<v1::GetIndexReply> Get(const v1::GetIndexRequest& request) {
    calls.fetch_add(1);
    if (away.load()) return absl::UnavailableError("connection refused");
    const FileInfo file{request.file().size(), request.file().mtime_ns(), request.file().tag()};
    const uint64_t key = coordinator::IndexTurns::KeyOf(request.content_hash(), file);
    MutexLock lock(&mutex_);  // one call at a time, like the service's single thread for files
    absl::StatusOr<std::string> blob = blobs_->Get(request.content_hash(), file);
    v1::GetIndexReply reply;
    if (blob.ok()) {
      reply.set_blob(*blob);
    } else if (request.give_up()) {
      turns_.GiveUp(key, request.worker_id());
    } else {
      const coordinator::IndexTurns::Answer answer = turns_.Ask(key, request.worker_id(), file.size, 0);
      reply.set_build(answer.build);
      reply.set_ask_again_ms(static_cast<uint32_t>(answer.ask_again / kMillisecond));
      reply.set_builder(answer.builder);
    }
    return reply;
  }
  absl::Status Put(uint64_t content_hash, const std::string& blob) {
    if (away.load()) return absl::UnavailableError("connection refused");
    if (full.load()) return absl::ResourceExhaustedError("an index of this size is not kept");
    FileInfo file;
    MutexLock lock(&mutex_);
    const absl::Status put = blobs_->Put(content_hash, blob, &file);
    turns_.End(coordinator::IndexTurns::KeyOf(content_hash, file));
    return put;
  }

  std::atomic<bool> away{false};
  std::atomic<bool> full{false};  // rejects blobs
  std::atomic<int> calls{0};

 private:
  support::TempFolder folder_;
  const std::unique_ptr<coordinator::IndexBlobs> blobs_;
  Mutex mutex_;
  coordinator::IndexTurns turns_ ABSL_GUARDED_BY(mutex_);
};

class Link final : public CoordinatorLink {
 public:
  explicit Link(Coordinator* coordinator) : coordinator_(coordinator) {}
  void Register(const v1::RegisterWorkerRequest&, Done<v1::RegisterWorkerReply> done) override { done(Never()); }
  void Heartbeat(const v1::HeartbeatRequest&, Done<v1::HeartbeatReply> done) override { done(Never()); }
  void Watch(const v1::WatchRequest&, Done<v1::WatchReply> done) override { done(Never()); }
  void ReportTask(const v1::ReportTaskRequest&, Done<v1::ReportTaskReply> done) override { done(Never()); }
  absl::Status PutIndex(uint64_t content_hash, std::string blob) override {
    return coordinator_->Put(content_hash, blob);
  }
  absl::StatusOr<v1::GetIndexReply> GetIndex(const v1::GetIndexRequest& request) override {
    return coordinator_->Get(request);
  }
  void Cancel() override {}

 private:
  static absl::Status Never() { return absl::UnimplementedError("this test does not call it"); }
  Coordinator* const coordinator_;
};

// A worker with its own state folder.
struct Worker {
  Worker(Coordinator* coordinator, int number, Clock* clock)
      : link(coordinator),
        indexes(sources::IndexStore::InStateDir(storage::LocalFiles(), state.path()), &link,
                absl::StrCat("worker-", number), clock) {}
  support::TempFolder state;
  Link link;
  ShardIndexes indexes;
};

class ShardIndexesTest : public ::testing::Test {
 protected:
  ShardIndexesTest() {
    options_.progress = [this](uint64_t) { walks_.fetch_add(1); };  // small files report once each
  }

  // Makes `shards` small files, and the frozen form of them that a job has.
  void MakeShards(int shards) {
    for (int i = 0; i < shards; ++i) {
      const std::string name = absl::StrCat("shard-", 1000 + i);
      files_.push_back(folder_.File(name));
      support::WriteShard(files_.back(), {absl::StrCat("record of ", i), "another"});
      const auto index = sources::BuildShardIndex(**OpenFile(files_.back()));
      PS_CHECK(index.ok());
      frozen_.push_back({.root = "data",
                         .relative_path = name,
                         .size = index->file_size,
                         .record_count = index->record_count(),
                         .content_hash = index->content_hash,
                         .data_bytes = index->data_bytes()});
    }
  }
  // Makes the workers, each with a link to the coordinator.
  void MakeWorkers(int workers) {
    for (int i = 0; i < workers; ++i) workers_.emplace_back(&coordinator_, i, &clock_);
  }
  absl::Status Get(int worker, size_t shard) {
    return workers_[static_cast<size_t>(worker)].indexes.Get(frozen_[shard], files_[shard], options_).status();
  }
  void Touch(const std::string& file, int hours = 1) {
    std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::hours(hours));
  }
  // Every worker requests every shard, each in its own order, on some threads.
  void AllGetAll() {
    std::vector<std::thread> threads;
    constexpr int kThreads = 4;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, t] {
        for (int w = t; w < static_cast<int>(workers_.size()); w += kThreads) {
          for (size_t i = 0; i < files_.size(); ++i) {
            const size_t shard = (i * 7 + static_cast<size_t>(w) * 13) % files_.size();
            absl::Status got = Get(w, shard);
            while (absl::IsUnavailable(got)) {
              std::this_thread::yield();
              got = Get(w, shard);
            }
            EXPECT_TRUE(got.ok()) << got;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  support::TempFolder folder_;
  ManualClock clock_;
  Coordinator coordinator_;
  std::vector<std::string> files_;
  std::vector<sources::SnapshotShard> frozen_;
  std::deque<Worker> workers_;
  sources::IndexOptions options_;
  std::atomic<int> walks_{0};
};

TEST_F(ShardIndexesTest, AFleetWalksEachFileOnceAndEachTouchedFileOnceMore) {
  MakeShards(100);
  MakeWorkers(20);
  AllGetAll();
  EXPECT_EQ(walks_.load(), 100);
  for (const std::string& file : files_) Touch(file);
  AllGetAll();
  EXPECT_EQ(walks_.load(), 200);
  AllGetAll();  // from sidecars
  EXPECT_EQ(walks_.load(), 200);
  ShardIndexes::Counts all;
  for (Worker& worker : workers_) {
    const ShardIndexes::Counts counts = worker.indexes.counts();
    all.built += counts.built;
    all.coordinator += counts.coordinator;
    all.sidecar += counts.sidecar;
  }
  EXPECT_EQ(all.built, 200u);
  EXPECT_EQ(all.coordinator, 3800u);
  EXPECT_EQ(all.sidecar, 2000u);
}

TEST_F(ShardIndexesTest, ColdWorkersWalkNoIndexedFileWhileTheCoordinatorIsAway) {
  MakeShards(20);
  MakeWorkers(101);
  for (size_t shard = 0; shard < files_.size(); ++shard) ASSERT_TRUE(Get(0, shard).ok());
  EXPECT_EQ(walks_.load(), 20);
  coordinator_.away = true;
  coordinator_.calls = 0;
  for (int worker = 1; worker <= 100; ++worker) {
    for (size_t shard = 0; shard < files_.size(); ++shard) {
      const absl::Status got = Get(worker, shard);
      EXPECT_EQ(got.code(), absl::StatusCode::kUnavailable) << got;
      EXPECT_THAT(std::string(got.message()), HasSubstr(files_[shard]));
      EXPECT_THAT(std::string(got.message()), HasSubstr("connection refused"));
    }
  }
  EXPECT_EQ(walks_.load(), 20);
  EXPECT_EQ(coordinator_.calls.load(), 100) << "one call a worker, then a pause";
  // The pauses grow to a few seconds.
  for (int second = 0; second < 60; ++second) {
    clock_.Advance(kSecond);
    for (size_t shard = 0; shard < files_.size(); ++shard) Get(1, shard).IgnoreError();
  }
  EXPECT_LT(coordinator_.calls.load(), 100 + 25);
  EXPECT_GT(coordinator_.calls.load(), 100 + 8);
  coordinator_.away = false;
  clock_.Advance(10 * kSecond);
  for (size_t shard = 0; shard < files_.size(); ++shard) EXPECT_TRUE(Get(1, shard).ok());
  EXPECT_EQ(walks_.load(), 20);
}

TEST_F(ShardIndexesTest, AWorkerWhoseIndexIsRejectedReleasesItsTurn) {
  MakeShards(1);
  MakeWorkers(2);
  coordinator_.full = true;
  EXPECT_TRUE(Get(0, 0).ok());
  const FileInfo file = storage::LocalFiles()->StatAndWait(files_[0])->info;
  v1::GetIndexRequest ask;
  ask.set_content_hash(frozen_[0].content_hash);
  ask.set_worker_id("worker-1");
  ask.mutable_file()->set_size(file.size);
  ask.mutable_file()->set_mtime_ns(file.mtime_ns);
  ask.mutable_file()->set_tag(file.tag);
  EXPECT_TRUE(coordinator_.Get(ask)->build());
}

TEST_F(ShardIndexesTest, ATouchedFileDoesNotStopTheJob) {
  MakeShards(1);
  MakeWorkers(1);
  ASSERT_TRUE(Get(0, 0).ok());
  Touch(files_[0]);
  EXPECT_TRUE(Get(0, 0).ok());
  EXPECT_EQ(walks_.load(), 2);
}

TEST_F(ShardIndexesTest, ChangedContentIsRejectedAfterOneWalkUntilTheContentIsRestored) {
  MakeShards(1);
  MakeWorkers(2);
  ASSERT_TRUE(Get(0, 0).ok());
  const std::string right = *ReadWholeFile(files_[0]);
  support::WriteShard(files_[0], {"Record of 0", "another"});  // the same length
  const int before = walks_.load();
  for (int i = 0; i < 5; ++i) {
    const absl::Status got = Get(0, 0);
    EXPECT_EQ(got.code(), absl::StatusCode::kFailedPrecondition) << got;
    EXPECT_THAT(std::string(got.message()), HasSubstr(files_[0]));
  }
  EXPECT_EQ(walks_.load(), before + 1);
  // The next worker does not wait for a builder that found other content.
  EXPECT_EQ(Get(1, 0).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(WriteFileAtomically(files_[0], right).ok());
  EXPECT_TRUE(Get(0, 0).ok());
  EXPECT_TRUE(Get(1, 0).ok());
}

TEST_F(ShardIndexesTest, CopiesWithDifferentTimesAreWalkedOnceEach) {
  MakeShards(1);
  MakeWorkers(4);
  support::TempFolder elsewhere;
  const std::string copy = elsewhere.File("shard-1000");
  std::filesystem::copy_file(files_[0], copy);
  Touch(copy, 5);
  for (int round = 0; round < 2; ++round) {
    for (int worker = 0; worker < 4; ++worker) {
      const std::string& path = worker % 2 == 0 ? files_[0] : copy;
      EXPECT_TRUE(workers_[static_cast<size_t>(worker)].indexes.Get(frozen_[0], path, options_).ok());
    }
  }
  EXPECT_EQ(walks_.load(), 2);
}

TEST_F(ShardIndexesTest, ARecompressedShardHoldsTheSameRecords) {
  MakeShards(1);
  MakeWorkers(1);
  support::WriteShard(files_[0], {"record of 0", "another"}, sources::Compression::kGzip);
  EXPECT_TRUE(Get(0, 0).ok()) << Get(0, 0);
}

TEST_F(ShardIndexesTest, AStoppedWorkerWalksNothing) {
  MakeShards(2);
  MakeWorkers(1);
  workers_[0].indexes.Stop();
  EXPECT_EQ(Get(0, 0).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(workers_[0].indexes.Build(files_[1], options_).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(walks_.load(), 0);
}

TEST_F(ShardIndexesTest, StoppingEndsAWalkInProgress) {
  MakeShards(1);
  // The walk reports progress several times. The first report stops the worker.
  support::WriteShard(files_[0], std::vector<std::string>(40, std::string(1 << 20, 'x')));
  MakeWorkers(1);
  options_.verify_data = true;
  options_.progress = [this](uint64_t) {
    if (walks_.fetch_add(1) == 0) workers_[0].indexes.Stop();
  };
  EXPECT_EQ(workers_[0].indexes.Build(files_[0], options_).status().code(), absl::StatusCode::kCancelled);
  EXPECT_LT(walks_.load(), 3);
}

}  // namespace
}  // namespace penstock::worker
