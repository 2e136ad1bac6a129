// Each verdict from an input that causes it, and another verdict from an input that differs only in the cause.
#include "server/coordinator/explain/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "server/coordinator/explain/fleet_use.h"
#include "server/coordinator/explain/number_text.h"

namespace penstock::coordinator {
namespace {

using Limit = v1::Explanation;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

WorkerInput BusyWorker(const std::string& id) {
  WorkerInput worker;
  worker.id = id;
  worker.threads = 4;
  worker.seconds = 9;
  worker.rows_per_second = 1000;
  worker.computing = 0.95;
  worker.unrequested = 0.05;
  worker.capacity = 1050;
  worker.owned_bytes = 1e9;
  worker.memory_budget = 4'000'000'000;
  worker.stages = {{"read", 0.02},  {"parse", 0.01},       {"decode", 0.6},
                   {"resize", 0.2}, {"color_jitter", 0.3}, {"send", 0.05}};
  return worker;
}

// One trainer that waits half of its time for one worker whose threads are busy.
ExplainInput CpuBound() {
  ExplainInput input;
  input.job = "train";
  input.data_bytes = 1e9;
  input.row_bytes = 150528;
  input.decodes = input.crops = true;
  input.workers = {BusyWorker("w1")};
  SessionInput trainer;
  trainer.seconds = 9;
  trainer.rows_per_second = 1000;
  trainer.steps_per_second = 4;
  trainer.waited = 0.5;
  trainer.waited_on = {{"w1", 1.0}};
  trainer.copy_threads = 2;
  trainer.copying = 0.1;
  trainer.copy_ms = 0.05;
  trainer.seal_ms = 0.01;
  trainer.window_steps = 16;
  input.sessions = {trainer};
  return input;
}

// The worker's threads are idle most of the time.
ExplainInput Idle(double storage, double memory, double unrequested) {
  ExplainInput input = CpuBound();
  WorkerInput& worker = input.workers[0];
  worker.computing = 1 - storage - memory - unrequested;
  worker.storage = storage;
  worker.memory = memory;
  worker.unrequested = unrequested;
  return input;
}

std::string AllWords(const v1::Explanation& explanation) {
  std::string words = explanation.headline();
  for (const std::string& sentence : explanation.sentences()) words += "\n" + sentence;
  for (const v1::Explanation::Gain& gain : explanation.gains()) words += "\n" + gain.change();
  return words;
}

struct Case {
  std::string name;
  ExplainInput input;
  v1::Explanation::Limit limit;
  std::string says;  // text that the explanation contains
  std::function<void(ExplainInput*)> opposite;
  v1::Explanation::Limit opposite_limit;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const auto add = [&](std::string name, ExplainInput input, v1::Explanation::Limit limit, std::string says,
                       std::function<void(ExplainInput*)> opposite, v1::Explanation::Limit opposite_limit) {
    cases.push_back({std::move(name), std::move(input), limit, std::move(says), std::move(opposite), opposite_limit});
  };
  ExplainInput fed = CpuBound();
  fed.sessions[0].waited = 0.01;
  add(
      "a fed trainer", fed, Limit::TRAINER, "Between batches it computes for 248 ms",
      [](ExplainInput* in) { in->sessions[0].waited = 0.5; }, Limit::CPU);
  add(
      "busy threads", CpuBound(), Limit::CPU, "The longest stage of a row is decode: 50 %",
      [](ExplainInput* in) { *in = Idle(0, 0, 0.9); }, Limit::WINDOW);
  add(
      "reads on read threads, which rows wait for", Idle(0.8, 0, 0.1), Limit::STORAGE, "wait for storage in 80 %",
      [](ExplainInput* in) { *in = Idle(0.1, 0, 0.1); }, Limit::CPU);
  ExplainInput blocking = CpuBound();
  blocking.workers[0].computing = 0.2;
  blocking.workers[0].reading = 0.75;
  add(
      "reads that threads are in", blocking, Limit::STORAGE, "--read-threads 64",
      [](ExplainInput* in) { std::swap(in->workers[0].computing, in->workers[0].reading); }, Limit::CPU);
  add(
      "no room for rows", Idle(0, 0.7, 0.1), Limit::MEMORY, "a larger memory_budget_bytes (now 4.0 GB)",
      [](ExplainInput* in) { *in = Idle(0, 0.1, 0.1); }, Limit::CPU);
  ExplainInput many = Idle(0, 0.7, 0);  // many threads on few CPUs
  many.workers[0].cpu = 0.2;
  add(
      "no CPU for more rows at once", many, Limit::CPU, "a CPU for only 20 %",
      [](ExplainInput* in) { in->workers[0].cpu = 0.9; }, Limit::MEMORY);
  add(
      "nothing asked", Idle(0, 0, 0.8), Limit::WINDOW, "prefetch_steps of",
      [](ExplainInput* in) { in->sessions[0].waited = 0; }, Limit::TRAINER);
  ExplainInput narrow = Idle(0, 0, 0.8);
  narrow.workers[0].blocked = 0.9;
  narrow.workers[0].sent_per_second = 12e6;
  narrow.floats = true;
  add(
      "full streams", narrow, Limit::NETWORK, "the stream carries 12 MB/s",
      [](ExplainInput* in) { in->workers[0].blocked = 0.05; }, Limit::WINDOW);
  ExplainInput here = narrow;
  here.workers[0].shared_memory = true;
  add(
      "rows that wait in shared memory", here, Limit::SHARED_MEMORY, "not through a network",
      [](ExplainInput* in) { in->workers[0].shared_memory = false; }, Limit::NETWORK);
  ExplainInput capped = CpuBound();  // another job keeps the threads busy
  capped.caps = "cpu_share 0.25";
  capped.workers[0].held = 0.7;
  add(
      "rows that the job's cap holds", capped, Limit::CAP, "the job's own caps: cpu_share 0.25",
      [](ExplainInput* in) { in->workers[0].held = 0.1; }, Limit::CPU);
  ExplainInput copying = Idle(0, 0, 0.8);
  copying.sessions[0].copying = 0.95;
  copying.workers[0].blocked = 0.9;  // because the trainer does not read the sent rows
  add(
      "a trainer's host that cannot take more", copying, Limit::COPYING, "more copy_threads of the reader (now 2)",
      [](ExplainInput* in) { in->sessions[0].copying = 0.2; }, Limit::NETWORK);
  ExplainInput slow = CpuBound();
  slow.workers = {BusyWorker("w1"), BusyWorker("w2"), BusyWorker("w3")};
  slow.workers[1].capacity = 200;
  slow.sessions[0].waited_on = {{"w1", 0.05}, {"w2", 0.9}, {"w3", 0.05}};
  add(
      "one slow worker of three", slow, Limit::SLOW_WORKER, "It waits for worker w2 in 90 % of its waiting",
      [](ExplainInput* in) {
        in->workers[1].capacity = 1050;
        in->sessions[0].waited_on = {{"w1", 0.3}, {"w2", 0.4}, {"w3", 0.3}};
      },
      Limit::CPU);
  ExplainInput lost = CpuBound();
  lost.sessions[0].failed = {"w1"};
  add(
      "a worker out of reach", lost, Limit::LOST_WORKER, "worker w1, which the trainer cannot reach",
      [](ExplainInput* in) { in->sessions[0].failed.clear(); }, Limit::CPU);
  ExplainInput nobody = CpuBound();
  nobody.workers[0].live = false;
  add(
      "no worker", nobody, Limit::NO_WORKER, "no worker is live", [](ExplainInput* in) { in->workers[0].live = true; },
      Limit::CPU);
  ExplainInput gone = CpuBound();
  gone.workers[0].file_errors = {"/data/train-00003: cannot be opened: No such file or directory"};
  add(
      "a vanished file", gone, Limit::FILES, "/data/train-00003: cannot be opened",
      [](ExplainInput* in) { in->workers[0].file_errors.clear(); }, Limit::CPU);
  ExplainInput gone_unfelt = fed;
  gone_unfelt.workers[0].file_errors = gone.workers[0].file_errors;
  add(
      "a vanished file that no trainer waits for yet", gone_unfelt, Limit::FILES, "does not wait for them yet",
      [](ExplainInput* in) { in->workers[0].file_errors.clear(); }, Limit::TRAINER);
  ExplainInput young = CpuBound();
  young.sessions[0].seconds = 1.2;
  add(
      "too short a look", young, Limit::LIMIT_UNKNOWN, "The readers have been open for 1 s; an answer needs 3 s",
      [](ExplainInput* in) { in->sessions[0].seconds = 4; }, Limit::CPU);
  ExplainInput silent = CpuBound();
  silent.workers[0].seconds = 0;
  add(
      "workers without a report", silent, Limit::LIMIT_UNKNOWN, "No worker has reported yet",
      [](ExplainInput* in) { in->workers[0].seconds = 9; }, Limit::CPU);
  return cases;
}

TEST(Explain, EachVerdictHasAnInputThatCausesItAndOneThatDoesNot) {
  for (Case& example : Cases()) {
    SCOPED_TRACE(example.name);
    const v1::Explanation explained = Explain(example.input);
    EXPECT_EQ(explained.limit(), example.limit) << AllWords(explained);
    EXPECT_THAT(AllWords(explained), HasSubstr(example.says));
    EXPECT_NE(explained.headline(), "");
    example.opposite(&example.input);
    const v1::Explanation other = Explain(example.input);
    EXPECT_EQ(other.limit(), example.opposite_limit) << AllWords(other);
  }
}

TEST(Explain, FailingFilesExcludeTheTrainerAsTheLimit) {
  for (double waited = 0; waited <= 1; waited += 0.05) {
    ExplainInput input = CpuBound();
    input.sessions[0].waited = waited;
    input.workers[0].file_errors = {"/data/a: gone"};
    EXPECT_EQ(Explain(input).limit(), Limit::FILES);
  }
}

TEST(Explain, ATrainerThatWaitsForAStepIsNotTheLimit) {
  ExplainInput input = Idle(0, 0, 1);
  input.sessions[0].waited = 0.01;  // the wait has just begun
  input.sessions[0].waiting_for = "waiting 4 s: the step at epoch 0, position 0 lacks 3 of 8 rows";
  EXPECT_NE(Explain(input).limit(), Limit::TRAINER);
  EXPECT_THAT(AllWords(Explain(input)), HasSubstr("lacks 3 of 8 rows"));
}

TEST(Explain, ANewReaderDoesNotHideAnEquallyWaitingReader) {
  ExplainInput input = CpuBound();
  input.sessions[0].waited = 0;
  input.sessions.insert(input.sessions.begin(), SessionInput());
  const v1::Explanation explained = Explain(input);
  EXPECT_EQ(explained.limit(), Limit::TRAINER) << AllWords(explained);
  EXPECT_EQ(explained.seconds(), 9);
}

TEST(FleetUse, TunesReadsIfAllWorkersWithReportsDo) {
  WorkerInput silent = BusyWorker("w1"), first = BusyWorker("w2"), second = BusyWorker("w3");
  silent.seconds = 0;
  first.finds_reads = second.finds_reads = true;
  EXPECT_TRUE(UseOf({&first, &second}, {}).finds_reads);
  EXPECT_TRUE(UseOf({&silent, &first, &second}, {}).finds_reads);
  second.finds_reads = false;
  EXPECT_FALSE(UseOf({&silent, &first, &second}, {}).finds_reads);
  EXPECT_FALSE(UseOf({&second, &first}, {}).finds_reads);
  EXPECT_FALSE(UseOf({&silent}, {}).finds_reads);
}

TEST(Explain, CountsTheWorkersThatWouldFeedTheTrainer) {
  ExplainInput input = CpuBound();  // waits half of the time: 2000 rows/s would suffice
  EXPECT_EQ(Explain(input).workers_needed(), 2u);
  input.sessions[0].waited = 0.75;
  EXPECT_EQ(Explain(input).workers_needed(), 4u);
  input.sessions[0].waited = 0.99;  // the trainer takes every row at once
  EXPECT_EQ(Explain(input).workers_needed(), 0u);
  EXPECT_THAT(AllWords(Explain(input)), HasSubstr("takes rows at any rate"));
  input = CpuBound();
  input.sessions[0].waited = 0.01;
  input.workers = {BusyWorker("w1"), BusyWorker("w2"), BusyWorker("w3")};
  EXPECT_EQ(Explain(input).workers_needed(), 1u);
}

TEST(Explain, NoGainExceedsTheNeedOfTheTrainer) {
  for (double waited = 0.06; waited < 0.95; waited += 0.05) {
    for (ExplainInput input : {CpuBound(), Idle(0.8, 0, 0.1), Idle(0, 0.7, 0.1), Idle(0, 0, 0.8)}) {
      input.sessions[0].waited = waited;
      const v1::Explanation explained = Explain(input);
      for (const v1::Explanation::Gain& gain : explained.gains()) {
        EXPECT_LE(gain.times(), 1 / (1 - waited) + 1e-9) << gain.change();
        EXPECT_TRUE(gain.times() == 0 || gain.times() > 1) << gain.change();
      }
    }
  }
}

TEST(Explain, NamesTheChangesThatSaveCpuTime) {
  ExplainInput input = CpuBound();
  input.sessions[0].waited = 0.9;
  std::string words = AllWords(Explain(input));
  EXPECT_THAT(words, AllOf(HasSubstr("one more worker"), HasSubstr("decoded_cache_bytes"), HasSubstr("restart index"),
                           HasSubstr("--longer-side"), HasSubstr("without color_jitter")));
  input.workers[0].decoded = {false, 1, 1};
  input.crops = false;
  words = AllWords(Explain(input));
  EXPECT_THAT(words, AllOf(Not(HasSubstr("decoded_cache_bytes")), Not(HasSubstr("restart index"))));
  input.decodes = false;
  EXPECT_THAT(AllWords(Explain(input)), Not(HasSubstr("--longer-side")));
}

// The input with one worker that chooses all its caches itself.
ExplainInput Choosing(ExplainInput input, uint64_t budget, uint64_t decoded) {
  input.sessions[0].waited = 0.9;
  WorkerInput& worker = input.workers[0];
  worker.memory_budget = budget;
  worker.records = {true, budget / 4, budget / 8};
  worker.decoded = {true, decoded, decoded / 2};
  worker.rows = {true, budget / 16, 0};
  return input;
}

TEST(Explain, DoesNotAdviseCacheSizesThatTheWorkerChoosesItself) {
  // 10 GB of decoded images fit.
  std::string words = AllWords(Explain(Choosing(CpuBound(), 20'000'000'000, 0)));
  EXPECT_THAT(words,
              AllOf(Not(HasSubstr("decoded_cache_bytes")), Not(HasSubstr("memory_budget_bytes")),
                    HasSubstr("Worker w1 chooses the sizes of its caches: no decoded images, 1.3 GB for finished "
                              "rows (0 MB held), 5.0 GB for records (2.5 GB held)."),
                    HasSubstr("about 10.0 GB, would fit. It keeps them when it knows")));
  words = AllWords(Explain(Choosing(CpuBound(), 20'000'000'000, 11'000'000'000)));
  EXPECT_THAT(words, AllOf(Not(HasSubstr("memory_budget_bytes")), Not(HasSubstr("would fit")),
                           HasSubstr("11.0 GB for decoded images (5.5 GB held)")));
  words = AllWords(Explain(Choosing(Idle(0.8, 0, 0.1), 20'000'000'000, 0)));
  EXPECT_THAT(words, AllOf(Not(HasSubstr("record_cache_bytes")), Not(HasSubstr("memory_budget_bytes"))));
}

TEST(Explain, NamesTheBudgetThatChosenCachesNeed) {
  v1::Explanation explained = Explain(Choosing(CpuBound(), 4'000'000'000, 2'000'000'000));
  EXPECT_THAT(
      AllWords(explained),
      AllOf(Not(HasSubstr("decoded_cache_bytes")),
            HasSubstr("take about 10.0 GB, more than its memory budget of 4.0 GB allows"),
            HasSubstr("memory_budget_bytes of 14.7 GB at each worker (now 4.0 GB), which then keeps all decoded "
                      "images that it needs")));
  const auto times = [](const v1::Explanation& from) {
    for (const v1::Explanation::Gain& gain : from.gains()) {
      if (gain.change().find("memory_budget_bytes") != std::string::npos) return gain.times();
    }
    return 0.0;
  };
  EXPECT_GT(times(Explain(Choosing(CpuBound(), 4'000'000'000, 0))), times(explained))
      << "a part of the images is cached already";
  ExplainInput far = Choosing(Idle(0.8, 0, 0.1), 1'000'000'000, 0);
  EXPECT_THAT(AllWords(Explain(far)),
              AllOf(Not(HasSubstr("record_cache_bytes")), HasSubstr("keeps all records that it needs, about 1.0 GB")));
}

TEST(NumberText, BytesAreNeverRoundedDown) {
  EXPECT_EQ(Bytes(67'108'864), "68 MB");
  EXPECT_EQ(Bytes(1e9), "1.0 GB");
  EXPECT_EQ(Bytes(1'000'000'001), "1.1 GB");
  EXPECT_EQ(Bytes(14'620'000'000), "14.7 GB");
  EXPECT_EQ(Bytes(1.1 * 3e9), "3.3 GB") << "the product is a little more than 3.3e9";
}

TEST(Explain, AdvisesToChangeASizeThatTheUserSet) {
  ExplainInput input = Choosing(CpuBound(), 4'000'000'000, 0);
  input.workers[0].decoded = {false, 0, 0};
  EXPECT_THAT(AllWords(Explain(input)), HasSubstr("decoded_cache_bytes, or no --decoded-cache 0"));
  input = Choosing(Idle(0.8, 0, 0.1), 4'000'000'000, 0);
  input.workers[0].records.chosen = false;
  EXPECT_THAT(AllWords(Explain(input)), HasSubstr("record_cache_bytes of 1.0 GB"));
}

TEST(Explain, AdvisesToPinChosenCachesIfRowsLackMemory) {
  ExplainInput input = Choosing(Idle(0, 0.7, 0.1), 4'000'000'000, 0);
  EXPECT_THAT(AllWords(Explain(input)), HasSubstr("or --record-cache 0 (its default is a quarter of the budget)"));
  input.workers[0].records.chosen = false;
  EXPECT_THAT(AllWords(Explain(input)), HasSubstr("or smaller caches inside it"));
}

// Records of remote storage are one request each, because a window is larger than the memory.
TEST(Explain, AdvisesAWindowThatFitsTheMemoryIfRecordsAreReadOneByOne) {
  ExplainInput input = Choosing(Idle(0.8, 0, 0.1), 4'000'000'000, 0);
  input.chunk_bytes = 7e6;
  input.window_chunks = 1024;
  input.workers[0].remote_requests = 0.95;
  EXPECT_THAT(AllWords(Explain(input)), HasSubstr("order { window_chunks: 142 } (now 1024)"));
  ExplainInput other = input;
  other.workers[0].remote_requests = 0.03;
  EXPECT_THAT(AllWords(Explain(other)), Not(HasSubstr("window_chunks"))) << "few records take a request of their own";
  other = input;
  other.window_chunks = 100;
  EXPECT_THAT(AllWords(Explain(other)), Not(HasSubstr("window_chunks"))) << "the window fits the memory";
  other = input;
  other.data_bytes = other.workers[0].owned_bytes = 5e8;
  EXPECT_THAT(AllWords(Explain(other)), Not(HasSubstr("window_chunks"))) << "all data fit the memory";
  other = input;
  other.chunk_bytes = 0;
  EXPECT_THAT(AllWords(Explain(other)), Not(HasSubstr("window_chunks"))) << "the order has no chunks";
  other = input;
  other.workers[0].memory_budget = 100'000'000;
  EXPECT_THAT(AllWords(Explain(other)), Not(HasSubstr("window_chunks"))) << "a window of 3 chunks would hardly shuffle";
}

TEST(Explain, NamesTheDataSetThatTakesMoreTimeThanItsShare) {
  ExplainInput input = CpuBound();
  input.datasets = {"code", "web"};
  input.workers[0].datasets = {{1, 8700, 27}, {0, 1300, 0.26}};
  EXPECT_THAT(AllWords(Explain(input)),
              HasSubstr("\nRows of web take 3.1 ms, those of code 0.2 ms; web takes 99 % of the "
                        "workers' time at 87 % of the rows."));
  input.datasets.push_back("books");
  input.workers.push_back(BusyWorker("w2"));
  input.workers[1].datasets = {{2, 1300, 0.26}};
  EXPECT_THAT(AllWords(Explain(input)),
              HasSubstr("Rows of web take 3.1 ms, those of the other data sets 0.2 ms; web takes"));
  input.workers[0].datasets = {{1, 8700, 8.7}, {0, 1300, 1.4}};
  input.workers[1].datasets = {};
  EXPECT_THAT(AllWords(Explain(input)), Not(HasSubstr("Rows of"))) << "its time is that of its share";
  input.workers[0].datasets = {{1, 8700, 27}};
  EXPECT_THAT(AllWords(Explain(input)), Not(HasSubstr("Rows of"))) << "nothing to compare with";
  ExplainInput idle = Idle(0.8, 0, 0.1);
  idle.datasets = {"code", "web"};
  idle.workers[0].datasets = {{1, 8700, 27}, {0, 1300, 0.26}};
  EXPECT_THAT(AllWords(Explain(idle)), Not(HasSubstr("Rows of"))) << "the CPU is not the limit";
}

TEST(Explain, ReportsThreadsWithoutACpu) {
  ExplainInput input = CpuBound();
  EXPECT_THAT(AllWords(Explain(input)), Not(HasSubstr("other work on the host")));
  input.workers[0].cpu = 0.4;
  EXPECT_THAT(AllWords(Explain(input)), HasSubstr("a CPU for only 40 % of the time: other work on the host"));
}

TEST(Explain, NamesTheRankThatWaitsMost) {
  ExplainInput input = CpuBound();
  SessionInput other = input.sessions[0];
  input.sessions[0].world_size = other.world_size = 2;
  other.rank = 1;
  other.waited = 0.8;
  input.sessions.push_back(other);
  const v1::Explanation explained = Explain(input);
  EXPECT_THAT(AllWords(explained), HasSubstr("The trainer of rank 1, which waits most, waited 80 %"));
  EXPECT_EQ(explained.rows_per_second(), 2000);
}

TEST(Explain, StagesCoverTheWholeLifeOfARow) {
  const v1::Explanation explained = Explain(CpuBound());
  std::vector<std::string> names;
  double all = 0;
  for (const v1::Explanation::Share& share : explained.shares()) {
    names.push_back(share.stage());
    all += share.share();
  }
  // parse and seal take less than a hundredth.
  EXPECT_THAT(names, ::testing::ElementsAre("read", "decode", "resize", "color_jitter", "other", "send", "copy"));
  EXPECT_NEAR(all, 1, 1e-9);
}

}  // namespace
}  // namespace penstock::coordinator
