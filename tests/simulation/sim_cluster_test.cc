// Simulates the real shells: coordinator, workers and clients in one thread on virtual time, through joins and deaths.
#include "tests/simulation/sim_cluster.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace penstock::simulation {
namespace {

constexpr uint64_t kEpochs = 12;

ReaderOptions Rank(const SimCluster& cluster, uint32_t rank, uint32_t world_size) {
  ReaderOptions options;
  options.job = cluster.dataset().job.name();
  options.rank = rank;
  options.world_size = world_size;
  options.epochs = kEpochs;
  options.prefetch_steps = 8;
  return options;
}

struct Outcome {
  std::vector<uint64_t> digests;
  std::vector<std::string> wrong;
  std::vector<absl::Status> ends;
  Nanos longest_wait = 0;
  uint64_t order_hash = 0;
  bool finished = false;
  std::string events;
};

// Three workers and two ranks. Meanwhile workers die, return, drain and join, the coordinator dies and returns, and
// connections are cut. The seed draws all events.
Outcome Play(uint64_t seed, bool with_faults) {
  SimCluster cluster(seed);
  SimScheduler& sim = *cluster.sim();
  Outcome out;
  const std::vector<std::string> hosts = {"w0", "w1", "w2", "w3"};
  for (int i = 0; i < 3; ++i) cluster.StartWorker(hosts[i]);
  if (!cluster.SubmitJob(3)) {
    out.events = "the job did not become ready";
    return out;
  }
  const Nanos start = cluster.now();
  std::vector<SimReader*> readers;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    readers.push_back(cluster.OpenReader("client" + std::to_string(rank), Rank(cluster, rank, 2), 20 * kMillisecond));
  }
  bool coordinator_runs = true;
  for (int i = 0; with_faults && i < 6; ++i) {
    if (cluster.RunReaders(kSecond + static_cast<Nanos>(sim.Draw(kSecond)))) break;
    const std::string host = hosts[sim.Draw(hosts.size())];
    const std::string client = "client" + std::to_string(sim.Draw(2));
    int running = 0;
    for (const std::string& other : hosts) running += cluster.WorkerRuns(other) ? 1 : 0;
    std::string what;
    switch (sim.Draw(5)) {
      case 0:
      case 1:
        if (!cluster.WorkerRuns(host)) {
          what = "start " + host;
          cluster.KillWorker(host);  // removes a process that has left
          cluster.StartWorker(host);
        } else if (running > 1) {
          what = "kill " + host;
          cluster.KillWorker(host);
        }
        break;
      case 2:
        if (cluster.WorkerRuns(host) && running > 1) {
          what = "drain " + host;
          cluster.DrainWorker(host);
        }
        break;
      case 3:
        what = coordinator_runs ? "kill coordinator" : "start coordinator";
        coordinator_runs ? cluster.KillCoordinator() : cluster.StartCoordinator();
        coordinator_runs = !coordinator_runs;
        break;
      default:
        what = "cut " + client + " - " + host;
        cluster.network()->Cut(client, host);
        cluster.RunReaders(static_cast<Nanos>(sim.Draw(10 * kSecond)));
        cluster.network()->Heal(client, host);
    }
    out.events += " " + std::to_string((cluster.now() - start) / kMillisecond) + ":" + what + ";";
  }
  if (!coordinator_runs) cluster.StartCoordinator();
  out.finished = cluster.RunReaders(300 * kSecond);
  for (const SimReader* reader : readers) {
    out.digests.push_back(reader->digest);
    out.wrong.push_back(reader->wrong);
    out.ends.push_back(reader->end);
    out.longest_wait = std::max(out.longest_wait, reader->longest_wait);
    EXPECT_EQ(reader->batches, kEpochs * 25) << "seed " << seed << out.events;
  }
  out.order_hash = sim.order_hash();
  return out;
}

TEST(SimCluster, EveryRowArrivesOnceInItsPlaceUnderAllFaults) {
  const Outcome quiet = Play(1, false);
  ASSERT_TRUE(quiet.finished) << quiet.events;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Outcome run = Play(seed, true);
    SCOPED_TRACE("seed " + std::to_string(seed) + ":" + run.events);
    ASSERT_TRUE(run.finished);
    EXPECT_EQ(run.digests, quiet.digests);
    for (const std::string& wrong : run.wrong) EXPECT_EQ(wrong, "");
    for (const absl::Status& end : run.ends) EXPECT_EQ(end.code(), absl::StatusCode::kOutOfRange) << end;
    // A single death or cut costs a second or two. Several at once, or those of the only worker, cost some more.
    EXPECT_LT(run.longest_wait, 12 * kSecond);
  }
}

TEST(SimCluster, EqualSeedsGiveEqualRuns) {
  for (uint64_t seed : {3u, 8u}) {
    const Outcome first = Play(seed, true), again = Play(seed, true);
    EXPECT_EQ(first.order_hash, again.order_hash) << seed;
    EXPECT_EQ(first.events, again.events);
    EXPECT_EQ(first.longest_wait, again.longest_wait);
  }
}

TEST(SimCluster, AKilledWorkerCostsATrainerLessThanTwoSeconds) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SimCluster cluster(seed);
    for (const char* host : {"w0", "w1", "w2"}) cluster.StartWorker(host);
    ASSERT_TRUE(cluster.SubmitJob(3));
    SimReader* const reader = cluster.OpenReader("client", Rank(cluster, 0, 1), 20 * kMillisecond);
    cluster.sim()->RunFor(3 * kSecond);
    cluster.KillWorker("w1");
    ASSERT_TRUE(cluster.RunReaders(120 * kSecond));
    EXPECT_EQ(reader->end.code(), absl::StatusCode::kOutOfRange) << reader->end;
    EXPECT_EQ(reader->wrong, "");
    EXPECT_LT(reader->longest_wait, 2 * kSecond) << seed;
  }
}

// Returns the parts of a trace in wire form, in the order of arrival. `missing` is the number of processes without one.
std::vector<std::string> PartsOfATrace(uint64_t seed, int* missing) {
  SimCluster cluster(seed);
  cluster.StartWorker("w0");
  cluster.StartWorker("w1");
  EXPECT_TRUE(cluster.SubmitJob(2));
  ReaderOptions options = Rank(cluster, 0, 1);
  options.epochs = 100;
  cluster.OpenReader("client", options, 20 * kMillisecond);
  cluster.RunReaders(2 * kSecond);
  const absl::StatusOr<v1::GetTraceReply> trace = cluster.Trace(2);
  EXPECT_TRUE(trace.ok()) << trace.status();
  *missing = trace->missing_size();
  std::vector<std::string> parts;
  for (const v1::TracePart& part : trace->parts()) parts.push_back(part.SerializeAsString());
  return parts;
}

TEST(SimCluster, ATraceHasAPartOfEachProcessAndIsTheSameForASeed) {
  int missing = -1;
  const std::vector<std::string> parts = PartsOfATrace(3, &missing);
  EXPECT_EQ(missing, 0);
  std::set<std::string> workers, trainers;
  for (const std::string& bytes : parts) {
    v1::TracePart part;
    ASSERT_TRUE(part.ParseFromString(bytes));
    (part.worker() ? workers : trainers).insert(part.process());
    EXPECT_GT(part.exchanges(), 0u) << "the clocks were compared";
  }
  EXPECT_EQ(workers, (std::set<std::string>{"w0", "w1"}));
  EXPECT_EQ(trainers.size(), 1u);
  EXPECT_EQ(PartsOfATrace(3, &missing), parts);
}

TEST(SimCluster, ADrainedWorkerLeavesWithoutAStall) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SimCluster cluster(seed);
    for (const char* host : {"w0", "w1", "w2"}) cluster.StartWorker(host);
    ASSERT_TRUE(cluster.SubmitJob(3));
    SimReader* const reader = cluster.OpenReader("client", Rank(cluster, 0, 1), 200 * kMillisecond);
    cluster.sim()->RunFor(5 * kSecond);
    cluster.DrainWorker("w2");
    ASSERT_TRUE(cluster.RunReaders(300 * kSecond));
    EXPECT_EQ(reader->end.code(), absl::StatusCode::kOutOfRange) << reader->end;
    EXPECT_EQ(reader->wrong, "");
    EXPECT_FALSE(cluster.WorkerRuns("w2"));
    EXPECT_LT(reader->longest_wait, 100 * kMillisecond) << seed;
  }
}

}  // namespace
}  // namespace penstock::simulation
