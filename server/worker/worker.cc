#include "server/worker/worker.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "base/cgroup.h"
#include "base/host_name.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "net/channel.h"
#include "server/common/bind_check.h"
#include "server/common/state_dir.h"
#include "server/worker/indexes/index_prefetch.h"
#include "server/worker/indexes/shard_indexes.h"
#include "server/worker/jobs/conformance.h"
#include "server/worker/jobs/served_jobs.h"
#include "server/worker/jobs/tasks.h"
#include "server/worker/link/agent.h"
#include "server/worker/link/coordinator_link.h"
#include "server/worker/link/identity.h"
#include "server/worker/link/load_meter.h"
#include "server/worker/stream/data_service.h"

namespace penstock {
namespace {

// Opening jobs, grants, and closing sessions, which waits for the rows that are being made.
constexpr int kExecutorThreads = 4;
constexpr Nanos kStreamsEnd = 10 * kSecond;
// Between tries to have all indexes that may be needed.
constexpr Nanos kFirstPrefetchPause = kSecond;
constexpr Nanos kLongestPrefetchPause = 30 * kSecond;
// Of troubles, to the coordinator.
constexpr size_t kTroubleLines = 8;
constexpr size_t kTroubleBytes = 300;

}  // namespace

// In the order of their making; what comes later uses what comes earlier.
struct Worker::Parts {
  WorkerOptions options;
  std::optional<StateDir> dir;
  std::string id;
  std::unique_ptr<CoordinatorLink> link;
  std::unique_ptr<ShardIndexes> indexes;
  std::unique_ptr<ServedJobs> jobs;
  std::unique_ptr<Loader> loader;
  SessionShared shared;
  std::unique_ptr<WorkerThreads> executor;
  std::unique_ptr<DataService> service;
  RunningServer running;
  Mutex meter_mutex;
  LoadMeter meter ABSL_GUARDED_BY(meter_mutex);
  std::unique_ptr<IndexPrefetch> prefetch;  // of the prefetch thread alone
  std::unique_ptr<WorkerThreads> prefetch_thread;
  std::unique_ptr<Agent> agent;

  Mutex stop_mutex;
  bool stopped ABSL_GUARDED_BY(stop_mutex) = false;
  Mutex mutex;  // taken after stop_mutex
  CondVar changed;
  bool draining ABSL_GUARDED_BY(mutex) = false;
  bool stopping ABSL_GUARDED_BY(mutex) = false;
  bool left ABSL_GUARDED_BY(mutex) = false;
  std::thread drain_thread ABSL_GUARDED_BY(mutex);

  v1::WorkerLoad Load() {
    MutexLock lock(&meter_mutex);
    v1::WorkerLoad load =
        meter.Measure(loader->Stats(), shared.bytes_sent.load(), shared.open_sessions.load(), Clock::Real()->Now());
    for (const std::string& line : jobs->Troubles(kTroubleLines, kTroubleBytes)) load.add_troubles(line);
    return load;
  }

  void JobsChanged(const JobChanges& changes) {
    jobs->Update(changes);
    for (const WatchedJob& job : changes.jobs) {
      if (job.record.state() == v1::READY) prefetch_thread->Post([this, job] { Prefetch(ToJob(job), kFirstPrefetchPause); });
    }
  }

  // Again and again, until all is here or the job has changed.
  void Prefetch(const v1::Job& job, Nanos pause) {
    if (prefetch->Run(job) || !jobs->IsCurrent(job)) return;
    prefetch_thread->PostAfter(pause,
                               [this, job, pause] { Prefetch(job, std::min(2 * pause, kLongestPrefetchPause)); });
  }

  void Drain() {
    {
      MutexLock lock(&mutex);
      if (draining || stopping) return;
      draining = true;
      drain_thread = std::thread([this] { Leave(); });
    }
    spdlog::info("draining: serving until {} streams have moved away", service->streams());
  }

  void Leave() {
    agent->SetDraining();
    service->SendDraining();
    const Nanos deadline =
        Clock::Real()->Now() + std::chrono::duration_cast<std::chrono::nanoseconds>(options.drain_timeout).count();
    for (;;) {
      const bool idle = service->WaitUntilIdle(std::min(deadline, Clock::Real()->Now() + 50 * kMillisecond));
      {
        MutexLock lock(&mutex);
        if (stopping) return;
      }
      if (idle) break;
      if (Clock::Real()->Now() >= deadline) {
        spdlog::warn("{} streams are still open after drain_timeout; leaving all the same", service->streams());
        break;
      }
    }
    agent->SayLeaving();
    MutexLock lock(&mutex);
    left = true;
    changed.NotifyAll();
  }

  // Called once.
  void Stop() {
    std::thread drain;
    {
      MutexLock lock(&mutex);
      stopping = true;
      drain = std::move(drain_thread);
    }
    if (drain.joinable()) drain.join();
    indexes->Stop();  // what others wait for below
    agent->Stop();
    prefetch_thread.reset();
    running.server->Shutdown(std::chrono::system_clock::now());
    running.server->Wait();
    if (!service->WaitUntilIdle(Clock::Real()->Now() + kStreamsEnd)) {
      spdlog::error("{} streams did not end", service->streams());
    }
    running.server.reset();
    service.reset();
    executor.reset();  // closes what sessions there are
    loader.reset();
    MutexLock lock(&mutex);
    left = true;
    changed.NotifyAll();
  }
};

Worker::Worker(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Worker::~Worker() { Stop(); }

absl::StatusOr<std::unique_ptr<Worker>> Worker::Start(WorkerOptions options) {
  PS_RETURN_IF_ERROR(CheckPlaintextBind(options.listen, options.insecure));
  PS_ASSIGN_OR_RETURN(const Address listen, ParseAddress(options.listen));
  if (!options.advertise.empty()) PS_RETURN_IF_ERROR(ParseAddress(options.advertise).status());

  auto parts = std::make_unique<Parts>();
  PS_ASSIGN_OR_RETURN(parts->dir, StateDir::Open(options.state_dir, "worker"));
  PS_ASSIGN_OR_RETURN(parts->id, LoadOrMakeWorkerId(options.state_dir));
  parts->link = ConnectToCoordinator(options.coordinator);
  parts->indexes = std::make_unique<ShardIndexes>(
      options.index_beside_shards ? IndexStore::BesideShards() : IndexStore::InStateDir(options.state_dir),
      parts->link.get(), parts->id);
  parts->jobs = std::make_unique<ServedJobs>(options.roots, parts->indexes.get());
  if (options.loader.threads == 0) options.loader.threads = AvailableCpus();
  PS_ASSIGN_OR_RETURN(parts->loader, Loader::Create(options.loader));
  parts->executor = std::make_unique<WorkerThreads>(kExecutorThreads);
  parts->shared.worker_id = parts->id;
  parts->shared.loader = parts->loader.get();
  parts->shared.jobs = parts->jobs.get();
  parts->shared.executor = parts->executor.get();
  parts->shared.max_sessions = options.max_sessions;
  parts->service = std::make_unique<DataService>(&parts->shared);
  PS_ASSIGN_OR_RETURN(parts->running, StartServer(listen, {parts->service.get()}));
  parts->prefetch = std::make_unique<IndexPrefetch>(parts->id, options.roots, parts->indexes.get());
  parts->prefetch_thread = std::make_unique<WorkerThreads>(1);

  Address address = parts->running.address;
  // Nobody can connect to "any address".
  if (address.host == "0.0.0.0" || address.host == "::") address.host = HostName();
  AgentOptions agent;
  agent.registration.set_id(parts->id);
  agent.registration.set_incarnation(NewIncarnation());
  agent.registration.set_address(options.advertise.empty() ? address.ToString() : options.advertise);
  agent.registration.set_host(HostName());
  agent.registration.set_threads(static_cast<uint32_t>(options.loader.threads));
  agent.registration.set_memory_budget_bytes(options.loader.memory_budget_bytes);
  agent.registration.set_conformance_digest(ConformanceDigest());
  for (const DataRoot& root : options.roots) agent.registration.add_roots(root.name);
  agent.registration.set_version(PENSTOCK_VERSION);
  TaskTools tools;
  tools.roots = options.roots;
  tools.indexes = parts->indexes.get();
  tools.link = parts->link.get();
  Parts* self = parts.get();
  AgentHooks hooks;
  hooks.load = [self] { return self->Load(); };
  hooks.jobs_changed = [self](const JobChanges& changes) { self->JobsChanged(changes); };
  hooks.run_task = [id = parts->id, tools](const v1::Task& task) { return RunTask(task, id, tools); };
  hooks.drain = [self] { self->Drain(); };
  parts->options = std::move(options);
  parts->agent = std::make_unique<Agent>(std::move(agent), std::move(hooks), parts->link.get());
  parts->agent->Start();
  spdlog::info("worker {} listens on {}", parts->id, parts->running.address.ToString());
  return std::unique_ptr<Worker>(new Worker(std::move(parts)));
}

const std::string& Worker::id() const { return parts_->id; }

std::string Worker::address() const { return parts_->running.address.ToString(); }

int Worker::port() const { return parts_->running.address.port; }

bool Worker::WaitUntilReady(std::chrono::nanoseconds timeout) { return parts_->agent->WaitUntilReady(timeout); }

void Worker::Drain() { parts_->Drain(); }

void Worker::WaitUntilLeft() {
  MutexLock lock(&parts_->mutex);
  while (!parts_->left) parts_->changed.Wait(&parts_->mutex);
}

void Worker::Stop() {
  MutexLock lock(&parts_->stop_mutex);
  if (std::exchange(parts_->stopped, true)) return;
  parts_->Stop();
}

LoaderStats Worker::Stats() const { return parts_->loader->Stats(); }

}  // namespace penstock
