// `penstock delete --purge` with real processes: two workers with disk caches, and two jobs that share half of their
// shards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "pipeline/cache/disk/cache_folder.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"
#include "tests/support/wait_until.h"

namespace penstock::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uint64_t kRecordsOfJob = 40;

class PurgeTest : public ::testing::Test {
 protected:
  PurgeTest() : dataset_(support::MakeNumberDataset({.shards = 3, .records_per_shard = 20}, data_.path())) {}

  void Start(uint32_t dead_after_ms = 1000) {
    support::ProcessClusterOptions options;
    options.workers = 0;
    options.dead_after_ms = dead_after_ms;
    options.worker_flags = {"--memory-budget", "64MiB", "--record-cache", "8MiB", "--row-cache", "1MiB"};
    cluster_ = std::make_unique<support::ProcessCluster>(options, dataset_.roots);
    for (int i = 0; i < 2; ++i) {
      cluster_->AddWorker({"--disk-cache", DiskFolder(i), "--disk-cache-size", "100MiB"});
    }
    ASSERT_TRUE(cluster_->control().WaitForLive(2));
    ASSERT_TRUE(cluster_->control().Submit(JobOf("purged", 0)).ok());
    ASSERT_TRUE(cluster_->control().Submit(JobOf("kept", 1)).ok());
  }

  // A job with two of the three shards.
  v1::JobSpec JobOf(const std::string& name, size_t first) const {
    v1::JobSpec job = dataset_.job;
    job.set_name(name);
    job.mutable_dataset(0)->clear_files();
    job.mutable_dataset(0)->add_files(dataset_.files[first]);
    job.mutable_dataset(0)->add_files(dataset_.files[first + 1]);
    return job;
  }

  std::string DiskFolder(int worker) const { return home_.File(absl::StrCat("disk-", worker)); }

  // Reads one epoch and returns its digest.
  std::string Read(const std::string& job) {
    support::ReadPlan plan;
    plan.options.job = job;
    plan.options.epochs = 1;
    const support::ReadResult result = support::ReadThrough(cluster_->address(), plan);
    EXPECT_TRUE(result.status.ok()) << result.status << cluster_->Logs();
    EXPECT_TRUE(support::EveryRecordOncePerEpoch(result, kRecordsOfJob, 1));
    return result.digest;
  }

  struct Outcome {
    int code = -1;
    std::string out, err;
  };
  Outcome Run(const std::string& arguments) {
    const std::string command = absl::StrCat("cd '", home_.path(), "' && PENSTOCK_COORDINATOR=", cluster_->address(),
                                             " '", PENSTOCK, "' ", arguments, " >out 2>err </dev/null");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadWholeFile(home_.File("out")).value_or(""),
            ReadWholeFile(home_.File("err")).value_or("")};
  }

  // Sums over the workers of their last heartbeats, and of files.
  struct Kept {
    uint64_t memory = 0, disk = 0, bytes_read = 0, rows = 0, sessions = 0;
    uint64_t disk_files = 0, disk_records = 0;  // as `penstock cache list`
    uint64_t indexes = 0, index_files = 0;      // with those of the coordinator
  };
  Kept Now() {
    Kept kept;
    const v1::StatusReply status = cluster_->control().Status().value_or(v1::StatusReply());
    for (const v1::WorkerStatus& worker : status.workers()) {
      for (const v1::CacheLoad& cache : worker.load().caches()) {
        (cache.of() == v1::CacheLoad::RECORDS_ON_DISK ? kept.disk : kept.memory) += cache.bytes();
      }
      kept.bytes_read += worker.load().bytes_read();
      kept.rows += worker.load().rows();
      kept.sessions += worker.load().sessions();
    }
    std::vector<std::string> folders{cluster_->coordinator_dir()};
    for (int i = 0; i < 2; ++i) {
      const auto entries = cache::ListDiskCache(DiskFolder(i));
      for (const cache::DiskCacheEntry& entry : *entries) {
        kept.disk_files += entry.bytes;
        kept.disk_records += entry.records;
      }
      folders.push_back(cluster_->worker(static_cast<size_t>(i)).state_dir);
    }
    for (const std::string& folder : folders) {
      for (const auto& file : fs::recursive_directory_iterator(folder)) {
        if (file.path().extension() != ".psidx") continue;
        kept.indexes += file.file_size();
        ++kept.index_files;
      }
    }
    return kept;
  }
  // Waits until both jobs are in all caches, and both workers and the coordinator have all indexes. Then the heartbeats
  // report these bytes.
  Kept FillAll() {
    for (const char* job : {"purged", "kept"}) Read(job);
    Kept kept;
    EXPECT_TRUE(support::WaitUntil([&] {
      kept = Now();
      return kept.disk_records == 2 * kRecordsOfJob && kept.disk == kept.disk_files && kept.sessions == 0 &&
             kept.rows >= 2 * kRecordsOfJob && kept.index_files == 9;
    })) << kept.disk_records
        << " " << kept.disk << " " << kept.disk_files << " " << kept.index_files;
    return kept;
  }

  // Returns a number of the last object with this name in the output of --json.
  static uint64_t Number(const std::string& json, const std::string& name) {
    const size_t total = json.rfind("\"freed_bytes\"");
    const size_t at = total == std::string::npos ? total : json.find(absl::StrCat("\"", name, "\": "), total);
    uint64_t number = 0;
    if (at != std::string::npos) {
      const size_t begin = at + name.size() + 4;
      EXPECT_TRUE(absl::SimpleAtoi(json.substr(begin, json.find_first_not_of("0123456789", begin) - begin), &number));
    } else {
      ADD_FAILURE() << "no " << name << " in " << json;
    }
    return number;
  }

  support::TempFolder data_, home_;
  support::TestDataset dataset_;
  std::unique_ptr<support::ProcessCluster> cluster_;
};

TEST_F(PurgeTest, FreesWhatOnlyTheJobUsesAndReportsTheBytes) {
  Start();
  const std::string purged = Read("purged"), kept = Read("kept");
  const Kept before = FillAll();
  const Outcome refused = Run("delete purged --purge");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--running"));

  const Outcome done = Run("delete purged --purge --running --json");
  ASSERT_EQ(done.code, 0) << done.err << done.out << cluster_->Logs();
  EXPECT_THAT(done.out, HasSubstr("\"deleted\": true"));
  EXPECT_THAT(done.out, HasSubstr("\"shards\": 2, \"kept_shards\": 1, \"kept_records\": false"));
  Kept after;
  EXPECT_TRUE(support::WaitUntil([&] {  // heartbeats follow
    after = Now();
    return after.memory == before.memory - Number(done.out, "memory") && after.disk == after.disk_files;
  })) << after.memory
      << " of " << before.memory << " " << done.out;
  EXPECT_GT(Number(done.out, "memory"), 0u);
  EXPECT_EQ(after.disk_records, kRecordsOfJob);
  EXPECT_EQ(before.disk_files - after.disk_files, Number(done.out, "disk"));
  EXPECT_EQ(after.index_files, 6u);
  EXPECT_EQ(before.indexes - after.indexes, Number(done.out, "indexes"));

  // The other job reads nothing from storage.
  EXPECT_EQ(Read("kept"), kept);
  EXPECT_TRUE(support::WaitUntil([&] {
    const Kept now = Now();
    return now.sessions == 0 && now.bytes_read == before.bytes_read && now.memory == after.memory;
  }));
  ASSERT_TRUE(cluster_->control().Submit(JobOf("purged", 0)).ok());
  EXPECT_EQ(Read("purged"), purged);

  EXPECT_EQ(Run("delete purged --purge --running").code, 0);
  const Outcome gone = Run("delete purged --purge");
  EXPECT_EQ(gone.code, 1);
  EXPECT_THAT(gone.err, HasSubstr("no job \"purged\""));
}

TEST_F(PurgeTest, ReadersEndAndTheirCachesAreFreed) {
  Start();
  FillAll();
  support::Process reader({PENSTOCK, "read", "purged", "--epochs", "1000000", "--pace", "20"}, home_.File("read.log"),
                          {absl::StrCat("PENSTOCK_COORDINATOR=", cluster_->address())});
  ASSERT_TRUE(support::WaitUntil([&] { return absl::StrContains(Run("status").out, "1 reader"); }));
  const Outcome done = Run("delete purged --purge --running");
  EXPECT_EQ(done.code, 0) << done.err << done.out << cluster_->Logs();
  EXPECT_THAT(done.out, HasSubstr("deleted and purged: purged\n  coordinator: "));
  EXPECT_THAT(done.out, HasSubstr("1 of 2 shards are in use by other jobs"));
  EXPECT_EQ(reader.WaitForExit(), 1);
  EXPECT_EQ(Now().disk_records, kRecordsOfJob);
}

TEST_F(PurgeTest, AStoppedWorkerIsNamedAndThePurgeIsRepeated) {
  Start();
  FillAll();
  cluster_->worker(1).process->Signal(SIGSTOP);
  const Outcome part = Run("delete purged --purge --running --timeout 60");
  cluster_->worker(1).process->Signal(SIGCONT);
  EXPECT_EQ(part.code, 1) << part.out;
  EXPECT_THAT(part.out, HasSubstr("not purged completely: purged\n"));
  EXPECT_THAT(part.err, HasSubstr("the purge of job purged lacks worker "));
  EXPECT_THAT(part.err, HasSubstr("Repeat `penstock delete purged --purge`"));
  EXPECT_EQ(cluster_->control().GetJob("purged")->state(), v1::CANCELLED);
  ASSERT_TRUE(support::WaitUntil([&] { return Run("delete purged --purge").code == 0; })) << cluster_->Logs();
  EXPECT_EQ(Now().disk_records, kRecordsOfJob);
  EXPECT_EQ(Now().index_files, 6u);
}

TEST_F(PurgeTest, ARestartOfTheCoordinatorDelaysThePurge) {
  Start(60'000);
  FillAll();
  cluster_->worker(1).process->Signal(SIGSTOP);
  support::Process purge({PENSTOCK, "delete", "purged", "--purge", "--running", "--timeout", "120"},
                         home_.File("purge.log"), {absl::StrCat("PENSTOCK_COORDINATOR=", cluster_->address())});
  ASSERT_TRUE(support::WaitUntil([&] {
    const auto job = cluster_->control().GetJob("purged");
    return job.ok() && job->state() == v1::CANCELLED;
  }));
  cluster_->RestartCoordinator();
  cluster_->worker(1).process->Signal(SIGCONT);
  EXPECT_EQ(purge.WaitForExit(std::chrono::seconds(120)), 0) << ReadWholeFile(home_.File("purge.log")).value_or("");
  EXPECT_EQ(Now().disk_records, kRecordsOfJob);
  EXPECT_EQ(Now().index_files, 6u);
}

}  // namespace
}  // namespace penstock::integration
