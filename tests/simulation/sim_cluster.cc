#include "tests/simulation/sim_cluster.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/trace/trace_recorder.h"
#include "base/version.h"
#include "client/session/open.h"
#include "client/session/session.h"
#include "net/job_mirror.h"
#include "net/trace/trace_taker.h"
#include "pipeline/augment/conformance.h"
#include "pipeline/storage/posix_storage.h"
#include "server/coordinator/service/control_loop.h"
#include "server/worker/indexes/shard_indexes.h"
#include "server/worker/jobs/served_jobs.h"
#include "server/worker/jobs/tasks.h"
#include "server/worker/link/agent.h"
#include "server/worker/link/load_meter.h"
#include "server/worker/stream/session_acceptor.h"
#include "tests/simulation/sim_loader.h"
#include "tests/simulation/sim_process.h"
#include "tests/support/commit_facts.h"
#include "transport/peer.h"

namespace penstock {
namespace {

constexpr int kShards = 4, kRecords = 50;  // records of each shard
constexpr Nanos kCallTimeout = 2 * kSecond;

}  // namespace

struct SimCluster::Coordinator {
  explicit Coordinator(SimScheduler* sim) : process(sim) {}
  SimProcess process;
  std::unique_ptr<ControlLoop> loop;
};

// Calls to the coordinator from one process.
class SimCluster::Calls {
 public:
  Calls(SimCluster* cluster, std::string host, SimProcess* process)
      : cluster_(cluster), host_(std::move(host)), process_(process) {}

  // Runs `ask(loop, deadline, answer)` at the coordinator, if one is running.
  template <typename Rep, typename Done, typename Ask>
  void Call(Nanos timeout, Done done, Ask ask) {
    auto call = std::make_shared<Open<Rep, Done>>(std::move(done));
    std::erase_if(open_, [](const auto& weak) { return weak.expired(); });
    open_.push_back(call);
    const Nanos deadline = process_->clock()->Now() + timeout;
    process_->PostAt(deadline, [call] { call->Fail(absl::DeadlineExceededError("the coordinator does not answer")); });
    SimNetwork* const network = &cluster_->network_;
    const auto answer = [network, host = host_, alive = process_->alive(), call](absl::StatusOr<Rep> reply) {
      network->Deliver(kCoordinator, host, [alive, call, reply = std::move(reply)]() mutable {
        if (*alive) call->Answer(std::move(reply));
      });
    };
    network->Deliver(host_, kCoordinator, [cluster = cluster_, answer, ask = std::move(ask), deadline]() mutable {
      if (cluster->coordinator_ == nullptr) {
        answer(absl::UnavailableError("coordinator: connection refused"));
      } else {
        ask(cluster->coordinator_->loop.get(), deadline, answer);
      }
    });
  }

  // Sends a request that the coordinator's state answers.
  template <typename Rep, typename Req, typename Done>
  void Apply(const Req& request, Nanos timeout, Done done) {
    Call<Rep>(timeout, std::move(done), [request, host = host_](ControlLoop* loop, Nanos deadline, auto answer) {
      const auto applied = [answer](absl::Status status, Reply* made) {
        if (status.ok()) {
          answer(std::get<Rep>(*made));
        } else {
          answer(std::move(status));
        }
      };
      loop->Apply(request, deadline, applied, Peer::Simulated(host));
    });
  }

  template <typename Done>
  void Watch(const v1::WatchRequest& request, Done done) {
    Call<v1::WatchReply>(request.wait_ms() * kMillisecond + 5 * kSecond, std::move(done),
                         [request, id = ++cluster_->watches_](ControlLoop* loop, Nanos, auto answer) {
                           loop->Watch(id, request,
                                       [answer](const absl::StatusOr<std::shared_ptr<const WatchAnswer>>& told) {
                                         if (told.ok()) {
                                           answer((*told)->reply);
                                         } else {
                                           answer(told.status());
                                         }
                                       });
                         });
  }

  void Cancel() {
    for (const auto& weak : std::exchange(open_, {})) {
      if (const auto call = weak.lock()) call->Fail(absl::CancelledError("cancelled"));
    }
  }

 private:
  struct AnyOpen {
    virtual ~AnyOpen() = default;
    virtual void Fail(absl::Status why) = 0;
  };
  template <typename Rep, typename Done>
  struct Open final : AnyOpen {
    explicit Open(Done to_call) : done(std::move(to_call)) {}
    void Answer(absl::StatusOr<Rep> reply) {
      if (std::exchange(over, true)) return;
      Done once = std::move(done);
      std::move(once)(std::move(reply));
    }
    void Fail(absl::Status why) override { Answer(std::move(why)); }
    Done done;
    bool over = false;
  };

  SimCluster* const cluster_;
  const std::string host_;
  SimProcess* const process_;
  std::vector<std::weak_ptr<AnyOpen>> open_;
};

class SimCluster::WorkerCalls final : public CoordinatorLink {
 public:
  WorkerCalls(SimCluster* cluster, const std::string& host, SimProcess* process) : calls_(cluster, host, process) {}
  void Register(const v1::RegisterWorkerRequest& request, Done<v1::RegisterWorkerReply> done) override {
    calls_.Apply<v1::RegisterWorkerReply>(request, kCallTimeout, std::move(done));
  }
  void Heartbeat(const v1::HeartbeatRequest& request, Done<v1::HeartbeatReply> done) override {
    calls_.Apply<v1::HeartbeatReply>(request, kCallTimeout, std::move(done));
  }
  void Watch(const v1::WatchRequest& request, Done<v1::WatchReply> done) override {
    calls_.Watch(request, std::move(done));
  }
  void ReportTask(const v1::ReportTaskRequest& request, Done<v1::ReportTaskReply> done) override {
    calls_.Apply<v1::ReportTaskReply>(request, kCallTimeout, std::move(done));
  }
  void PutTrace(const v1::PutTraceRequest& request, Done<v1::PutTraceReply> done) override {
    calls_.Apply<v1::PutTraceReply>(request, kCallTimeout, std::move(done));
  }
  // Workers have the indexes, and simulated rows need none.
  absl::Status PutIndex(uint64_t, std::string) override { return absl::OkStatus(); }
  absl::StatusOr<v1::GetIndexReply> GetIndex(const v1::GetIndexRequest&) override {
    return absl::NotFoundError("none here");
  }
  void Cancel() override { calls_.Cancel(); }

 private:
  Calls calls_;
};

class SimCluster::ClientCalls final : public CoordinatorClient {
 public:
  ClientCalls(SimCluster* cluster, const std::string& host, SimProcess* process) : calls_(cluster, host, process) {}
  std::string name() const override { return "the coordinator of a simulation"; }
  void OpenSession(const v1::OpenSessionRequest& request, Nanos timeout, Done<v1::OpenSessionReply> done) override {
    calls_.Apply<v1::OpenSessionReply>(request, timeout, std::move(done));
  }
  void Watch(const v1::WatchRequest& request, Nanos, Done<v1::WatchReply> done) override {
    calls_.Watch(request, std::move(done));
  }
  void ReportSession(const v1::ReportSessionRequest& request, Nanos timeout,
                     Done<v1::ReportSessionReply> done) override {
    calls_.Apply<v1::ReportSessionReply>(request, timeout, std::move(done));
  }
  void CloseSession(const v1::CloseSessionRequest& request, Nanos timeout, Done<v1::CloseSessionReply> done) override {
    calls_.Apply<v1::CloseSessionReply>(request, timeout, std::move(done));
  }
  void JudgeRecords(const v1::JudgeRecordsRequest& request, Nanos timeout, Done<v1::JudgeRecordsReply> done) override {
    calls_.Apply<v1::JudgeRecordsReply>(request, timeout, std::move(done));
  }
  void PutTrace(const v1::PutTraceRequest& request, Nanos timeout, Done<v1::PutTraceReply> done) override {
    calls_.Apply<v1::PutTraceReply>(request, timeout, std::move(done));
  }
  void Cancel() override { calls_.Cancel(); }

 private:
  Calls calls_;
};

struct SimCluster::Worker {
  Worker(SimCluster* cluster, const std::string& host, const std::string& state, Nanos row_time)
      : process(&cluster->sim_),
        link(cluster, host, &process),
        indexes(IndexStore::InStateDir(LocalFiles(), state), &link, host, process.clock()),
        jobs(LocalFiles(), cluster->dataset_.roots, &indexes),
        loader(&process, row_time),
        traces(&process, trace, TracePartOf(host),
               [this](const v1::PutTraceRequest& request, TraceTaker::Done done) {
                 link.PutTrace(request, std::move(done));
               }),
        acceptor(&shared) {
    shared.worker_id = host;
    shared.loader = &loader;
    shared.jobs = &jobs;
    shared.executor = &process;
    shared.trace = trace.get();
    AgentOptions options;
    options.registration.set_id(host);
    options.registration.set_incarnation(++cluster->incarnations_);
    options.registration.set_address(host);
    options.registration.set_host(host);
    options.registration.set_threads(1);
    options.registration.set_conformance_digest(ConformanceDigest());
    options.registration.set_version(std::string(Version()));
    for (const DataRoot& root : cluster->dataset_.roots) options.registration.add_roots(root.name);
    AgentHooks hooks;
    hooks.load = [this] {
      return meter.Measure(loader.Stats(), shared.bytes_sent.load(), shared.open_sessions.load(),
                           process.clock()->Now());
    };
    hooks.jobs_changed = [this](const JobChanges& changes) { jobs.Update(changes); };
    hooks.run_task = [this, host, roots = cluster->dataset_.roots](const v1::Task& task) {
      return RunTask(task, host, {LocalFiles(), roots, &indexes, &link});
    };
    hooks.drain = [this] { Drain(); };
    hooks.trace = [this, host](const v1::TraceOrder& order) { traces.Take(order, host); };
    hooks.ready = [] {};
    agent = std::make_shared<Agent>(std::move(options), std::move(hooks), &link, &process, &process);
    agent->Start();
  }
  // Destroyed when no task of the simulation runs any longer.
  ~Worker() {
    process.Kill();
    indexes.Stop();
  }
  static v1::TracePart TracePartOf(const std::string& host) {
    v1::TracePart part;
    part.set_worker(true);
    part.set_host(host);
    part.set_version(std::string(Version()));
    return part;
  }
  // Does the same as Worker::Drain.
  void Drain() {
    agent->SetDraining();
    acceptor.SendDraining();
    acceptor.WhenIdle([this] { agent->SayLeaving([this] { left = true; }); });
  }

  SimProcess process;
  WorkerCalls link;
  ShardIndexes indexes;
  ServedJobs jobs;
  SimLoader loader;
  SessionShared shared;
  LoadMeter meter;
  const std::shared_ptr<TraceRecorder> trace = std::make_shared<TraceRecorder>();
  TraceTaker traces;
  std::shared_ptr<Agent> agent;
  SessionAcceptor acceptor;
  bool dead = false;
  bool left = false;
};

struct SimCluster::Reader::Parts {
  Parts(SimCluster* cluster, std::string on_host, Nanos between)
      : host(std::move(on_host)), pace(between), process(&cluster->sim_) {}
  ~Parts() { process.Kill(); }

  const std::string host;
  const Nanos pace;
  SimProcess process;
  std::shared_ptr<ClientCalls> calls;
  std::unique_ptr<SessionOpener> opener;
  std::unique_ptr<Session> session;
  bool pausing = false;  // pausing between two batches
  Nanos asked_at = 0;
  std::map<uint64_t, std::vector<int>> seen;  // how often each record arrived, by epoch
  std::function<void()> poll;
};

SimCluster::Reader::Reader(std::unique_ptr<Parts> made) : parts(std::move(made)) {}
SimCluster::Reader::~Reader() = default;

// A user at a terminal.
struct SimCluster::Admin {
  explicit Admin(SimCluster* cluster) : process(&cluster->sim_), calls(cluster, "admin", &process) {}

  SimProcess process;
  Calls calls;
};

SimCluster::SimCluster(uint64_t seed)
    : dataset_(MakeNumberDataset({.shards = kShards, .records_per_shard = kRecords}, data_.path())),
      sim_(seed),
      random_(seed),
      network_(&sim_, SimNetwork::Options()) {
  spdlog::set_level(spdlog::level::off);  // deaths would log thousands of lines
  v1::JobSpec& spec = dataset_.job;
  v1::Feature id;
  for (const v1::Feature& feature : spec.features()) {
    if (feature.column() == "id") id = feature;
  }
  spec.clear_features();
  *spec.add_features() = id;
  StartCoordinator();
}

SimCluster::~SimCluster() {
  // Tasks hold parts of processes, so the tasks are dropped first.
  sim_.DropAll();
  coordinator_.reset();
  sim_.DropAll();
  network_.Finish();
  readers_.clear();
  admins_.clear();
  sim_.DropAll();
  workers_.clear();
  sim_.DropAll();
}

void SimCluster::StartCoordinator() {
  PS_CHECK(coordinator_ == nullptr);
  const v1::StoredState stored = *store_.Load();
  std::vector<v1::StoreEvent> begin(1);
  begin[0].set_begin_term(stored.term() + 1);
  PS_CHECK(CommitFacts(&store_, begin, stored.revision()).kind == CommitOutcome::kStored);
  auto state = CoordinatorState::Restore(StateOptions(), now(), stored.term() + 1, stored);
  PS_CHECK(state.ok());
  coordinator_ = std::make_unique<Coordinator>(&sim_);
  ControlLoop::Options options;
  options.random = &random_;
  options.on_superseded = [this, of = coordinator_.get()](const absl::Status& why) {
    coordinator_exits_.push_back(why);
    // The process ends after its calls are answered.
    sim_.PostAt(now() + 100 * kMillisecond, [this, of] {
      if (coordinator_.get() == of) KillCoordinator();
    });
  };
  coordinator_->loop =
      std::make_unique<ControlLoop>(*std::move(state), &store_, stored.revision() + 1, &coordinator_->process, options);
}

void SimCluster::KillCoordinator() {
  PS_CHECK(coordinator_ != nullptr);
  coordinator_->process.Kill();
  network_.Kill(kCoordinator);
  coordinator_.reset();
}

void SimCluster::StartWorker(const std::string& host, Nanos row_time) {
  auto& state = state_folders_[host];
  if (state == nullptr) state = std::make_unique<TempFolder>();
  auto worker = std::make_unique<Worker>(this, host, state->path(), row_time);
  network_.Listen(host, &worker->acceptor);
  // Dead workers stay, because calls under way hold parts of them.
  workers_[absl::StrCat(host, "#", incarnations_)] = std::move(worker);
}

void SimCluster::KillWorker(const std::string& host) {
  for (auto& [name, worker] : workers_) {
    if (worker->dead || worker->shared.worker_id != host) continue;
    worker->dead = true;
    worker->process.Kill();
    network_.Kill(host);
  }
}

bool SimCluster::WorkerRuns(const std::string& host) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& worker) {
    return !worker.second->dead && !worker.second->left && worker.second->shared.worker_id == host;
  });
}

void SimCluster::DrainWorker(const std::string& host) {
  for (auto& [name, worker] : workers_) {
    if (!worker->dead && worker->shared.worker_id == host) worker->Drain();
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
  coordinator_->loop->Read([&](const CoordinatorState& state, Nanos at) {
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
  coordinator_->loop->Apply(request, now() + kCallTimeout,
                            [&submitted](absl::Status status, Reply*) { submitted = std::move(status); });
  int found = -1;
  const auto ready = [&] {
    coordinator_->loop->Read([&](const CoordinatorState& state, Nanos at) {
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
  const auto done = [&answer](const absl::Status& status, Reply* made) {
    if (status.ok()) {
      answer = std::get<Rep>(*made);
    } else {
      answer = status;
    }
  };
  coordinator_->loop->Apply(request, ControlLoop::kNoDeadline, done, Peer::Simulated("admin"));
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

SimCluster::Reader* SimCluster::OpenReader(const std::string& host, const ReaderOptions& options, Nanos pace) {
  auto parts = std::make_unique<Reader::Parts>(this, host, pace);
  parts->calls = std::make_shared<ClientCalls>(this, host, &parts->process);
  parts->opener = std::make_unique<SessionOpener>(&parts->process, parts->calls, options);
  readers_.push_back(std::make_unique<Reader>(std::move(parts)));
  Reader* const reader = readers_.back().get();
  Reader::Parts* const p = reader->parts.get();
  const auto end = [reader, p](const absl::Status& why) {
    reader->end = why;
    reader->ended = true;
    if (p->session != nullptr) p->session->Close([] {});
  };
  p->poll = [this, reader, p, end] {
    if (p->pausing || reader->ended) return;
    std::optional<absl::StatusOr<Batch>> next = p->session->TryNext();
    if (!next.has_value()) return;
    if (!next->ok()) return end(next->status());
    const Batch batch = **std::move(next);
    if (reader->batches++ > 0) reader->longest_wait = std::max(reader->longest_wait, now() - p->asked_at);
    const ColumnView& column = batch.column("id");
    std::vector<int>& seen = p->seen[batch.epoch()];
    seen.resize(kShards * kRecords);
    for (size_t row = 0; row < batch.ids().size(); ++row) {
      const RowId id = batch.ids()[row];
      const int64_t record = id.shard * kRecords + id.record;
      const int64_t holds = column.data<int64_t>()[row];
      if (holds != record || batch.valid()[row] == 0) {
        reader->wrong = absl::StrCat("epoch ", batch.epoch(), ", position ", batch.position(), ", row ", row,
                                     ": record ", record, " holds ", holds);
      }
      if (++seen[static_cast<size_t>(record)] > 1) {
        reader->wrong = absl::StrCat("record ", record, " came again in epoch ", batch.epoch());
      }
      reader->digest = HashWords({reader->digest, batch.epoch(), static_cast<uint64_t>(holds)});
    }
    p->pausing = true;
    p->process.PostAt(now() + p->pace, [this, p] {
      p->pausing = false;
      p->asked_at = now();
      p->poll();
    });
  };
  p->opener->Open(60 * kSecond, [this, p, end](absl::StatusOr<OpenedSession> opened) {
    if (!opened.ok()) return end(opened.status());
    p->session = std::make_unique<Session>(std::move(opened->job), opened->steps, std::move(opened->options), p->calls,
                                           SessionRuntime{&p->process, &p->process, network_.TransportOf(p->host)});
    p->asked_at = now();
    p->session->Start(std::move(opened->view), [p] { p->process.Post([p] { p->poll(); }); });
    p->process.Post([p] { p->poll(); });
  });
  return reader;
}

bool SimCluster::RunReaders(Nanos within) {
  return sim_.RunUntil(
      [this] {
        return std::all_of(readers_.begin(), readers_.end(), [](const auto& reader) { return reader->ended; });
      },
      now() + within);
}

}  // namespace penstock
