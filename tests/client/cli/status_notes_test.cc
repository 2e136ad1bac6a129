#include "client/cli/status_notes.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/cli/status_tables.h"

namespace penstock::cli {
namespace {

TEST(StatusNotes, EachFileErrorHasALineWithItsWorker) {
  v1::StatusReply status;
  EXPECT_EQ(FileErrorLines(status), "");
  status.add_workers()->set_id("well");
  v1::WorkerStatus* worker = status.add_workers();
  worker->set_id("w1");
  worker->mutable_load()->add_troubles("/data/train-7: No such file or directory; trying again");
  worker->mutable_load()->add_troubles("/data/train-9: Permission denied; trying again");
  EXPECT_EQ(FileErrorLines(status),
            "  worker w1: /data/train-7: No such file or directory; trying again\n"
            "  worker w1: /data/train-9: Permission denied; trying again\n");
}

TEST(StatusNotes, TheSourceOfAMemoryBudgetHasALine) {
  v1::StatusReply status;
  v1::WorkerStatus* worker = status.add_workers();
  worker->set_id("w1");
  worker->set_memory_budget_bytes(uint64_t{256} << 20);
  EXPECT_EQ(BudgetLines(status), "");
  worker->set_memory_budget_source("half of 512 MiB, /sys/fs/cgroup/job/memory.high");
  EXPECT_EQ(BudgetLines(status),
            "  worker w1: memory budget 256 MiB (half of 512 MiB, /sys/fs/cgroup/job/memory.high)\n");
  EXPECT_NE(WorkersTable(status).find("/sys/fs/cgroup/job/memory.high"), std::string::npos);
  worker->set_state(v1::WorkerStatus::DEAD);
  EXPECT_EQ(BudgetLines(status), "");
}

TEST(StatusNotes, ShowsStorageRequestsPerThousandRows) {
  v1::StatusReply status;
  v1::WorkerStatus* worker = status.add_workers();
  worker->set_id("w1");
  v1::WorkerLoad* load = worker->mutable_load();
  load->set_rows(2000);
  EXPECT_EQ(CacheLines(status), "");
  load->set_remote_requests(50);
  load->set_remote_bytes(1300);
  load->set_remote_used_bytes(1000);
  EXPECT_EQ(CacheLines(status), "  worker w1: storage 25 requests for 1000 rows, 1.30 bytes read per byte used\n");
  load->set_remote_hedges(3);
  EXPECT_EQ(CacheLines(status),
            "  worker w1: storage 25 requests for 1000 rows, 1.30 bytes read per byte used, 3 late requests were sent "
            "twice\n");
}

TEST(StatusNotes, AUsedCacheHasALineWithItsSizeHitsAndSavings) {
  v1::StatusReply status;
  v1::WorkerStatus* worker = status.add_workers();
  worker->set_id("w1");
  v1::CacheLoad* cache = worker->mutable_load()->add_caches();
  cache->set_of(v1::CacheLoad::DECODED_IMAGES);
  cache->set_limit(uint64_t{2} << 30);
  EXPECT_EQ(CacheLines(status), "") << "no lookup yet";
  cache->set_misses(1);
  EXPECT_EQ(CacheLines(status), "  worker w1: decoded cache 0 B of 2.0 GiB, 0 % hits\n");
  cache->set_bytes(uint64_t{1} << 30);
  cache->set_hits(3);
  cache->set_served_bytes(uint64_t{3} << 30);
  cache->set_saved_seconds(12);
  v1::CacheLoad* disk = worker->mutable_load()->add_caches();
  disk->set_of(v1::CacheLoad::RECORDS_ON_DISK);
  disk->set_limit(uint64_t{40} << 30);
  EXPECT_EQ(CacheLines(status),
            "  worker w1: decoded cache 1.0 GiB of 2.0 GiB, 75 % hits, 3.0 GiB served, 12.0 s of decoding saved\n"
            "  worker w1: disk cache 0 B of 40 GiB\n");
  worker->set_state(v1::WorkerStatus::LEFT);
  EXPECT_EQ(CacheLines(status), "");
}

TEST(StatusNotes, AnAutomaticChangeHasALineWithItsEffect) {
  v1::StatusReply status;
  v1::WorkerStatus* worker = status.add_workers();
  worker->set_id("w1");
  v1::Tuning* tuning = worker->mutable_load()->mutable_tuning();
  tuning->set_threads(2);
  tuning->set_most_threads(2);
  EXPECT_EQ(TuningLines(status), "") << "no change since the start";
  tuning->set_read_threads(48);
  tuning->set_changes(1);
  tuning->set_last_change("read threads 0 -> 48: 92 rows/s before, 981 now; reads take 20 ms");
  EXPECT_EQ(
      TuningLines(status),
      "  worker w1: 2 threads, 48 more read (read threads 0 -> 48: 92 rows/s before, 981 now; reads take 20 ms)\n");
  tuning->set_threads(1);
  EXPECT_NE(TuningLines(status).find("worker w1: 1 thread of 2, 48 more read"), std::string::npos);
  tuning->set_read_threads(0);
  tuning->set_requests(120);
  EXPECT_NE(TuningLines(status).find("worker w1: 1 thread of 2, 120 requests at once ("), std::string::npos);
  worker->set_state(v1::WorkerStatus::LEFT);
  EXPECT_EQ(TuningLines(status), "");
}

TEST(StatusNotes, AWaitingReaderHasALineWithItsReason) {
  v1::StatusReply status;
  auto* job = status.add_jobs();
  job->set_name("train");
  job->add_sessions()->set_id("s1-1");
  EXPECT_EQ(WaitLines(status), "");
  auto* session = job->add_sessions();
  session->set_id("s1-2");
  session->set_rank(1);
  session->set_waiting_for("12 rows of step 40 from w1");
  EXPECT_EQ(WaitLines(status), "  train/s1-2, rank 1: 12 rows of step 40 from w1\n");
  session->set_note("two readers have rank 1 of 4: this and reader s1-3");
  EXPECT_EQ(WaitLines(status),
            "  train/s1-2, rank 1: two readers have rank 1 of 4: this and reader s1-3\n"
            "  train/s1-2, rank 1: 12 rows of step 40 from w1\n");
}

TEST(StatusNotes, AFailedJobsErrorIsWrappedBelowTheTable) {
  v1::StatusReply status;
  auto* job = status.add_jobs();
  job->set_name("train");
  job->set_state(v1::FAILED);
  std::string error = "/data/train-00007: record 4 at offset 300:";
  for (int i = 0; i < 30; ++i) error += " word" + std::to_string(i);
  job->set_error(error + "\nsecond line");
  status.add_jobs()->set_name("other");
  const std::string table = JobsTable(status);
  const std::string first = table.substr(0, table.find("\n\n"));
  EXPECT_EQ(first.find("offset"), std::string::npos) << table;
  EXPECT_NE(table.find("\n  train: /data/train-00007: record 4 at offset 300:"), std::string::npos) << table;
  EXPECT_NE(table.find("\n    second line\n"), std::string::npos) << table;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110u) << line;
  EXPECT_NE(table.find("word29"), std::string::npos);
}

TEST(StatusNotes, ShowsAReplacementsProgressAndError) {
  v1::StatusReply status;
  auto* job = status.add_jobs();
  job->set_name("train");
  job->set_state(v1::READY);
  job->mutable_next()->set_state(v1::PREPARING);
  job->mutable_next()->set_shards_indexed(3);
  job->mutable_next()->set_shards_total(8);
  EXPECT_EQ(JobNote(*job), "0 readers; its replacement: 3 of 8 shards indexed");
  EXPECT_EQ(FailureLines(status), "");
  job->mutable_next()->set_waiting("no worker is live");
  EXPECT_EQ(JobNote(*job), "0 readers; its replacement: waits: no worker is live");
  job->mutable_next()->set_state(v1::FAILED);
  job->mutable_next()->set_error("features[1].key: none");
  EXPECT_EQ(JobNote(*job), "0 readers; its replacement failed, see below");
  EXPECT_EQ(FailureLines(status), "\n  train continues unchanged; its replacement failed: features[1].key: none\n");
}

TEST(StatusNotes, ADeadOrLeftWorkerHasNoRateAndNoLoad) {
  v1::StatusReply status;
  for (const auto state : {v1::WorkerStatus::LIVE, v1::WorkerStatus::LEFT, v1::WorkerStatus::DEAD}) {
    auto* worker = status.add_workers();
    worker->set_id(v1::WorkerStatus::State_Name(state));
    worker->set_state(state);
    worker->set_threads(3);
    worker->mutable_load()->set_rows_per_second(1234);
    worker->mutable_load()->set_memory_bytes(4096);
  }
  std::istringstream lines(WorkersTable(status));
  for (std::string line; std::getline(lines, line);) {
    const bool live = line.rfind("LIVE", 0) == 0;
    EXPECT_EQ(line.find("1234") != std::string::npos, live) << line;
    EXPECT_EQ(line.find("4.0 KiB") != std::string::npos, live) << line;
  }
}

TEST(StatusNotes, AJobsNoteHasItsReadersBadRecordsAndWaits) {
  v1::StatusReply::JobStatus job;
  job.set_state(v1::READY);
  job.add_sessions();
  EXPECT_EQ(JobNote(job), "1 reader");
  job.set_bad_records(12);
  for (const auto& [reason, count] : {std::pair("truncated image", 9), std::pair("missing feature", 3)}) {
    v1::ReasonCount* add = job.add_bad_reasons();
    add->set_reason(reason);
    add->set_records(static_cast<uint64_t>(count));
  }
  EXPECT_EQ(JobNote(job), "1 reader, 12 bad records (9 truncated image, 3 missing feature)");
  job.clear_bad_records();
  job.set_waiting("no worker is live");
  EXPECT_EQ(JobNote(job), "1 reader; waits: no worker is live");
  job.set_state(v1::PREPARING);
  EXPECT_EQ(JobNote(job), "waits: no worker is live");
  job.clear_waiting();
  job.set_shards(8);
  EXPECT_EQ(JobNote(job), "0 of 8 shards indexed");
}

TEST(StatusNotes, NamesWorkersOfAnotherReleaseThanTheCoordinator) {
  v1::StatusReply status;
  status.set_version("0.4.0");
  for (const std::string version : {"0.4.0", "0.3.0"}) {
    v1::WorkerStatus* const worker = status.add_workers();
    worker->set_id("w-" + version);
    worker->set_state(v1::WorkerStatus::LIVE);
    worker->set_version(version);
    worker->mutable_protocols()->set_oldest(1);
    worker->mutable_protocols()->set_newest(version == "0.3.0" ? 1 : 2);
  }
  EXPECT_EQ(ReleaseLines(status), "  worker w-0.3.0: penstock 0.3.0, protocol 1; the coordinator is penstock 0.4.0\n");
  status.mutable_workers(1)->set_state(v1::WorkerStatus::LEFT);
  EXPECT_EQ(ReleaseLines(status), "");
}

}  // namespace
}  // namespace penstock::cli
