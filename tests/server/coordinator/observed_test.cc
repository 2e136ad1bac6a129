// Loads that workers and trainers report, as numbers of the last seconds.
#include "server/coordinator/explain/observed.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "server/coordinator/explain/history.h"

namespace penstock::coordinator {
namespace {

TEST(History, HasAValueNearEachAgeUpToAMinuteInFewEntries) {
  History<int> history;
  EXPECT_EQ(history.Back(10), nullptr);
  for (int second = 0; second <= 300; ++second) {
    history.Add(second * kSecond, second);
    EXPECT_LE(history.size(), 20u);
    for (const int asked : {3, 5, 10, 20, 30, 45, 60}) {
      const auto* const point = history.Back(static_cast<uint32_t>(asked));
      ASSERT_NE(point, nullptr);
      EXPECT_EQ(point->at, point->value * kSecond);
      const int age = second - point->value;
      if (second < asked) {
        EXPECT_GE(age, second * 2 / 3) << asked << " s before " << second;
        continue;
      }
      EXPECT_GE(3 * age, 2 * asked) << asked << " s before " << second;
      EXPECT_LE(3 * age, 4 * asked) << asked << " s before " << second;
    }
  }
  // Frequent values need no additional entries.
  for (int i = 0; i < 6000; ++i) history.Add(301 * kSecond + i * 10 * kMillisecond, i);
  EXPECT_LE(history.size(), 24u);
}

TEST(Observed, PartsOfTheThreadsTimeSumToOne) {
  v1::WorkerLoad then, now;
  for (v1::WorkerLoad* load : {&then, &now}) {
    const double times = load == &then ? 1 : 3;
    v1::JobLoad* job = load->add_jobs();
    job->set_job("train");
    job->set_rows(static_cast<uint64_t>(1000 * times));
    job->set_making_seconds(10 * times);
    job->set_reading_seconds(2 * times);
    job->set_storage_seconds(3 * times);
    job->set_memory_seconds(1 * times);
    job->set_unrequested_seconds(4 * times);
    job->set_full_seconds(2 * times);
    job->set_streams(1);
    job->set_timed_rows(static_cast<uint64_t>(100 * times));
    v1::StageSeconds* stage = job->add_stages();
    stage->set_name("decode");
    stage->set_seconds(0.05 * times);
    v1::JobLoad* other = load->add_jobs();
    other->set_job("eval");
    other->set_making_seconds(2 * times);
    load->set_cpu_seconds(5 * times);
  }
  WorkerInput worker;
  worker.threads = 4;
  ObserveWorker(then, now, 10 * kSecond, "train", &worker);
  EXPECT_DOUBLE_EQ(worker.seconds, 10);
  EXPECT_DOUBLE_EQ(worker.rows_per_second, 200);
  EXPECT_DOUBLE_EQ(worker.computing, 16.0 / 40);
  EXPECT_DOUBLE_EQ(worker.reading, 4.0 / 40);
  EXPECT_DOUBLE_EQ(worker.storage, 6.0 / 40);
  EXPECT_DOUBLE_EQ(worker.memory, 2.0 / 40);
  EXPECT_DOUBLE_EQ(worker.unrequested, 8.0 / 40);
  EXPECT_DOUBLE_EQ(worker.others, 4.0 / 40);
  EXPECT_DOUBLE_EQ(worker.blocked, 0.4);
  EXPECT_DOUBLE_EQ(worker.cpu, 0.5);  // 10 of 20 seconds of computing
  ASSERT_EQ(worker.stages.size(), 3u);
  EXPECT_EQ(worker.stages[1].name, "decode");
  EXPECT_DOUBLE_EQ(worker.stages[1].milliseconds, 0.5);
}

TEST(Observed, TheTimeOfDataSetsIsTheGrowth) {
  v1::WorkerLoad then, now;
  const auto add = [](v1::WorkerLoad* load, uint32_t dataset, uint64_t rows, double seconds) {
    v1::JobLoad* const job = load->jobs().empty() ? load->add_jobs() : load->mutable_jobs(0);
    job->set_job("train");
    job->set_making_seconds(job->making_seconds() + seconds);
    v1::DatasetSeconds* const added = job->add_datasets();
    added->set_dataset(dataset);
    added->set_rows(rows);
    added->set_seconds(seconds);
  };
  add(&then, 0, 100, 1);
  add(&then, 3, 10, 0.5);
  add(&now, 3, 30, 2.5);
  add(&now, 0, 150, 1.25);
  add(&now, 7, 90, 0.9);  // it was not among those of `then`, so its growth is unknown
  WorkerInput out;
  ObserveWorker(then, now, 10 * kSecond, "train", &out);
  ASSERT_EQ(out.datasets.size(), 2u);
  EXPECT_EQ(out.datasets[0].dataset, 3u);
  EXPECT_EQ(out.datasets[0].rows, 20);
  EXPECT_EQ(out.datasets[0].seconds, 2);
  EXPECT_EQ(out.datasets[1].dataset, 0u);
  EXPECT_EQ(out.datasets[1].seconds, 0.25);
  WorkerInput fresh;
  ObserveWorker(v1::WorkerLoad(), now, 10 * kSecond, "train", &fresh);
  EXPECT_EQ(fresh.datasets.size(), 3u) << "the job is new here";
}

TEST(Observed, CachesAreThoseOfTheLastHeartbeat) {
  v1::WorkerLoad then, now;
  for (v1::WorkerLoad* load : {&then, &now}) {
    load->add_jobs()->set_job("train");
    load->mutable_jobs(0)->set_making_seconds(load == &then ? 0 : 5);
  }
  v1::CacheLoad* cache = now.add_caches();
  cache->set_of(v1::CacheLoad::DECODED_IMAGES);
  cache->set_chosen(true);
  cache->set_limit(500);
  cache->set_bytes(300);
  cache = now.add_caches();
  cache->set_of(v1::CacheLoad::RECORDS_ON_DISK);
  cache->set_limit(7);
  WorkerInput worker;
  ObserveWorker(then, now, 8 * kSecond, "train", &worker);
  EXPECT_TRUE(worker.decoded.chosen);
  EXPECT_EQ(worker.decoded.limit, 500u);
  EXPECT_EQ(worker.decoded.bytes, 300u);
  EXPECT_EQ(worker.records.limit, 0u);
}

TEST(Observed, ARestartedWorkerCountsFromZero) {
  v1::WorkerLoad then, now;
  then.add_jobs()->set_job("train");
  then.mutable_jobs(0)->set_rows(1'000'000);
  then.mutable_jobs(0)->set_making_seconds(1000);
  now.add_jobs()->set_job("train");
  now.mutable_jobs(0)->set_rows(500);
  now.mutable_jobs(0)->set_making_seconds(5);
  WorkerInput worker;
  ObserveWorker(then, now, 8 * kSecond, "train", &worker);
  EXPECT_DOUBLE_EQ(worker.rows_per_second, 100);
  EXPECT_DOUBLE_EQ(worker.computing, 1);
}

TEST(Observed, AReportsTimesCountSinceThePreviousReport) {
  v1::ReportSessionRequest then, now;
  for (v1::ReportSessionRequest* report : {&then, &now}) {
    const double times = report == &then ? 1 : 2;
    report->set_rows(static_cast<uint64_t>(100 * times));
    v1::SessionTimes& of = *report->mutable_times();
    of.set_seconds(10 * times);
    of.set_waited_seconds(4 * times);
    of.set_copy_seconds(5 * times);
    of.set_copy_threads(2);
    of.set_steps(static_cast<uint64_t>(10 * times));
    v1::WaitedOn* on = of.add_waited_on();
    on->set_worker("w1");
    on->set_seconds(3 * times);
    on = of.add_waited_on();
    on->set_worker("w2");
    on->set_seconds(1 * times);
  }
  SessionInput session;
  ObserveSession(then, now, &session);
  EXPECT_DOUBLE_EQ(session.rows_per_second, 10);
  EXPECT_DOUBLE_EQ(session.waited, 0.4);
  EXPECT_DOUBLE_EQ(session.copying, 0.25);
  EXPECT_DOUBLE_EQ(session.copy_ms, 50);
  EXPECT_DOUBLE_EQ(session.waited_on.at("w1"), 0.75);
  EXPECT_DOUBLE_EQ(session.waited_on.at("w2"), 0.25);
}

TEST(Observed, AnErrorsFileMatchesByItsPathBelowARoot) {
  std::set<std::string_view> tails;
  AddTails(FileOf("/mnt/data/train/a-00001: cannot be opened: gone"), &tails);
  EXPECT_TRUE(tails.contains("train/a-00001"));
  EXPECT_TRUE(tails.contains("a-00001"));
  EXPECT_FALSE(tails.contains("00001"));
}

}  // namespace
}  // namespace penstock::coordinator
