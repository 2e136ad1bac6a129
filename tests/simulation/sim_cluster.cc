#include "tests/simulation/sim_cluster.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/coordinator/service/control_loop.h"
#include "tests/simulation/sim_calls.h"
#include "tests/simulation/sim_process.h"
#include "tests/simulation/sim_worker.h"
#include "transport/peer.h"

namespace penstock::simulation {
namespace {

constexpr Nanos kCallTimeout = 2 * kSecond;

}  // namespace

// A user at a terminal.
struct SimCluster::Admin {
  explicit Admin(SimCluster* cluster)
      : process(&cluster->sim_), calls(&cluster->network_, &cluster->coordinator_, "admin", &process) {}

  SimProcess process;
  SimCalls calls;
};

SimCluster::SimCluster(uint64_t seed)
    : dataset_(support::MakeNumberDataset({.shards = 4, .records_per_shard = 50}, data_.path())),
      sim_(seed),
      network_(&sim_, SimNetwork::Options()),
      coordinator_(&sim_, &network_, seed) {
  spdlog::set_level(spdlog::level::off);  // deaths would log thousands of lines
  v1::JobSpec& spec = dataset_.job;
  v1::Feature id;
  for (const v1::Feature& feature : spec.features()) {
    if (feature.column() == "id") id = feature;
  }
  spec.clear_features();
  *spec.add_features() = id;
  coordinator_.Start();
}

SimCluster::~SimCluster() {
  // Tasks hold parts of processes, so the tasks are dropped first.
  sim_.DropAll();
  coordinator_.End();
  sim_.DropAll();
  network_.Finish();
  readers_.clear();
  admins_.clear();
  sim_.DropAll();
  workers_.clear();
  sim_.DropAll();
}

void SimCluster::StartWorker(const std::string& host, Nanos row_time) {
  auto& state = state_folders_[host];
  if (state == nullptr) state = std::make_unique<support::TempFolder>();
  const uint64_t incarnation = ++incarnations_;
  const SimWorker::Options options = {host, state->path(), dataset_.roots, row_time, incarnation};
  // Dead workers stay, because calls under way hold parts of them.
  workers_[absl::StrCat(host, "#", incarnation)] =
      std::make_unique<SimWorker>(&sim_, &network_, &coordinator_, options);
}

void SimCluster::KillWorker(const std::string& host) {
  for (auto& [name, worker] : workers_) {
    if (!worker->dead() && worker->host() == host) worker->Kill();
  }
}

bool SimCluster::WorkerRuns(const std::string& host) const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [&](const auto& worker) { return worker.second->runs() && worker.second->host() == host; });
}

void SimCluster::DrainWorker(const std::string& host) {
  for (auto& [name, worker] : workers_) {
    if (!worker->dead() && worker->host() == host) worker->Drain();
  }
}

SimCluster::Answer SimCluster::BeginSubmit(const v1::JobSpec& spec) {
  v1::SubmitRequest request;
  *request.mutable_spec() = spec;
  admins_.push_back(std::make_unique<Admin>(this));
  const auto answer = std::make_shared<std::optional<absl::Status>>();
  admins_.back()->calls.Apply<v1::SubmitReply>(
      request, 60 * kSecond, [answer](const absl::StatusOr<v1::SubmitReply>& reply) { *answer = reply.status(); });
  return answer;
}

bool SimCluster::HasJob(const std::string& name) {
  bool has = false;
  coordinator_.loop()->Read([&](const coordinator::CoordinatorState& state, Nanos at) {
    const v1::StatusReply status = state.Status(at);
    has = std::any_of(status.jobs().begin(), status.jobs().end(), [&](const auto& job) { return job.name() == name; });
  });
  sim_.RunFor(0);
  return has;
}

bool SimCluster::SubmitJob(int owners) {
  v1::SubmitRequest request;
  *request.mutable_spec() = dataset_.job;
  absl::Status submitted = absl::UnknownError("no answer");
  coordinator_.loop()->Apply(request, now() + kCallTimeout,
                             [&submitted](absl::Status status, coordinator::Reply*) { submitted = std::move(status); });
  int found = -1;
  const auto ready = [&] {
    coordinator_.loop()->Read([&](const coordinator::CoordinatorState& state, Nanos at) {
      found = 0;
      const v1::StatusReply status = state.Status(at);
      if (status.jobs().empty() || status.jobs(0).state() != v1::READY) return;
      for (const v1::WorkerStatus& worker : status.workers()) found += worker.owned_records() > 0 ? 1 : 0;
    });
    sim_.RunFor(50 * kMillisecond);
    return submitted.ok() && found == owners;
  };
  for (int i = 0; i < 600; ++i) {
    if (ready()) return true;
  }
  return false;
}

template <typename Rep, typename Req>
absl::StatusOr<Rep> SimCluster::Ask(const Req& request) {
  std::optional<absl::StatusOr<Rep>> answer;
  const auto done = [&answer](const absl::Status& status, coordinator::Reply* made) {
    if (status.ok()) {
      answer = std::get<Rep>(*made);
    } else {
      answer = status;
    }
  };
  coordinator_.loop()->Apply(request, coordinator::ControlLoop::kNoDeadline, done, transport::Peer::Simulated("admin"));
  sim_.RunUntil([&answer] { return answer.has_value(); }, INT64_MAX);
  return *answer;
}

absl::StatusOr<v1::GetTraceReply> SimCluster::Trace(uint32_t seconds) {
  v1::StartTraceRequest start;
  start.set_job(dataset_.job.name());
  start.set_seconds(seconds);
  PS_ASSIGN_OR_RETURN(const v1::StartTraceReply started, Ask<v1::StartTraceReply>(start));
  v1::GetTraceRequest get;
  get.set_trace(started.trace());
  v1::GetTraceReply all;
  while (!all.complete()) {
    sim_.RunFor(200 * kMillisecond);
    PS_ASSIGN_OR_RETURN(const v1::GetTraceReply reply, Ask<v1::GetTraceReply>(get));
    all.MergeFrom(reply);
  }
  return all;
}

SimReader* SimCluster::OpenReader(const std::string& host, const ReaderOptions& options, Nanos pace) {
  readers_.push_back(std::make_unique<SimReader>(&sim_, &network_, &coordinator_, dataset_, host, options, pace));
  return readers_.back().get();
}

bool SimCluster::RunReaders(Nanos within) {
  return sim_.RunUntil(
      [this] {
        return std::all_of(readers_.begin(), readers_.end(), [](const auto& reader) { return reader->ended; });
      },
      now() + within);
}

}  // namespace penstock::simulation
