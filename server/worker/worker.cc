#include "server/worker/worker.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/cgroup.h"
#include "base/heap.h"
#include "base/host_name.h"
#include "base/mutex.h"
#include "base/open_files.h"
#include "base/runtime/random_source.h"
#include "base/runtime/strand.h"
#include "base/runtime/thread_pool.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"
#include "base/temporaries.h"
#include "base/version.h"
#include "net/channel.h"
#include "net/message_json.h"
#include "net/trace/trace_taker.h"
#include "pipeline/host/loader_host.h"
#include "pipeline/storage/files.h"
#include "pipeline/storage/posix_storage.h"
#include "server/common/bind_check.h"
#include "server/common/guarded_server.h"
#include "server/common/log_fields.h"
#include "server/common/log_rejected.h"
#include "server/common/state_dir.h"
#include "server/common/support_files.h"
#include "server/metrics/disk_rooms.h"
#include "server/metrics/process_metrics.h"
#include "server/worker/carrier_options.h"
#include "server/worker/heap_watch.h"
#include "server/worker/indexes/index_prefetch.h"
#include "server/worker/indexes/shard_indexes.h"
#include "server/worker/jobs/record_reports.h"
#include "server/worker/jobs/served_jobs.h"
#include "server/worker/jobs/tasks.h"
#include "server/worker/link/agent.h"
#include "server/worker/link/coordinator_link.h"
#include "server/worker/link/identity.h"
#include "server/worker/link/job_loads.h"
#include "server/worker/link/load_meter.h"
#include "server/worker/link/support_sender.h"
#include "server/worker/link/tuning_load.h"
#include "server/worker/metrics/snapshot.h"
#include "server/worker/metrics/stage_sums.h"
#include "server/worker/metrics/worker_metrics.h"
#include "server/worker/milestones.h"
#include "server/worker/registration.h"
#include "server/worker/stream/session_acceptor.h"
#include "server/worker/stream/session_opening.h"
#include "server/worker/threads_needed.h"
#include "server/worker/worker_checks.h"
#include "transport/grpc/grpc_acceptor.h"
#include "transport/shared_memory/listener.h"
#include "transport/shared_memory/local_address.h"

namespace penstock::worker {
namespace {

// Pauses between attempts to fetch all indexes that may be needed.
constexpr Nanos kFirstPrefetchPause = kSecond;
constexpr Nanos kLongestPrefetchPause = 30 * kSecond;
// Limit for running work when the worker stops. Storage calls that hang longer are abandoned.
constexpr Nanos kStopWait = 5 * kSecond;
// Limit for a client's message: a fetch of the largest size, a view of thousands of workers.
constexpr int kMaxClientMessageBytes = 8 << 20;

// Limit for the record positions of one job, not part of the budget: a sixteenth of the budget, and at least this. A
// record takes about 4 bytes. If a job's positions do not fit, indexes are read repeatedly.
constexpr uint64_t kLeastIndexBytes = uint64_t{64} << 20;

}  // namespace

// In order of construction; each part uses earlier ones.
struct Worker::Parts {
  WorkerOptions options;
  std::optional<server::StateDir> dir;
  std::string id;
  std::string name;  // for display
  std::unique_ptr<CoordinatorLink> link;
  std::unique_ptr<ShardIndexes> indexes;
  SessionShared shared;
  std::unique_ptr<host::LoaderHost> host;
  std::unique_ptr<ServedJobs> jobs;
  BadRecordLog bad_records{
      [](const std::string& job, const std::string& line) { server::LogWarn({.job = job}, "{}", line); }};
  std::shared_ptr<TraceRecorder> trace = std::make_shared<TraceRecorder>();
  std::unique_ptr<ThreadPool> executor;
  std::unique_ptr<SessionAcceptor> acceptor;
  std::unique_ptr<grpc::Service> service;
  transport::AdmitPeer admit;  // for the streams of both carriers
  net::RunningServer running;
  std::unique_ptr<transport::SharedMemoryListener> local;  // null: none
  Mutex meter_mutex;
  LoadMeter meter ABSL_GUARDED_BY(meter_mutex);
  Mutex stages_mutex;
  StageSums stages ABSL_GUARDED_BY(stages_mutex);
  std::unique_ptr<server::DiskRooms> rooms;  // state directory, disk cache
  std::string no_socket;                     // why there is no socket for this host, or ""
  std::unique_ptr<server::SelfCheckThreads> checks;
  uint64_t memory_budget_bytes = 0;
  const Nanos created = Clock::Real()->Now();
  std::optional<HeapWatch> heap;  // used by the task that runs it
  std::stop_source stop_work;
  std::unique_ptr<ThreadPool> tasks;
  std::unique_ptr<IndexPrefetch> prefetch;  // used by the prefetch thread only
  std::unique_ptr<ThreadPool> prefetch_thread;
  std::shared_ptr<RecordReports> reports;
  std::shared_ptr<Agent> agent;
  std::unique_ptr<net::TraceTaker> traces;
  std::unique_ptr<SupportSender> support;
  std::unique_ptr<Strand> leaving;
  std::unique_ptr<StrandTimer> drain_deadline;  // both belong to `leaving`
  bool left_said = false;

  Mutex stop_mutex;
  bool stopped ABSL_GUARDED_BY(stop_mutex) = false;
  std::atomic<bool> hung{false};  // a thread does not end
  Milestones milestones;

  uint64_t RingsInUse() const { return local != nullptr ? local->rings_bytes() : 0; }

  // Runs periodically on a thread of the executor, and may block it for some ten milliseconds.
  void WatchHeap() {
    const Nanos pause = heap->Look();
    executor->PostAt(executor->clock()->Now() + pause, [this] { WatchHeap(); });
  }

  v1::WorkerLoad Load() {
    MutexLock lock(&meter_mutex);
    const Nanos now = Clock::Real()->Now();
    v1::WorkerLoad load =
        meter.Measure(host->loader()->Stats(), shared.bytes_sent.load(), shared.open_sessions.load(), now);
    load.set_memory_bytes(load.memory_bytes() + RingsInUse());
    AddLoaderState(now, &load);
    return load;
  }

  void AddLoaderState(Nanos now, v1::WorkerLoad* load) {
    AddJobLoads(host->loader()->Jobs(), shared.sends.Get(now), load);
    AddTuning(host->tuning(), load->mutable_tuning());
    for (const std::string& line : jobs->FileErrorLines(kFileErrorLines, kFileErrorBytes)) load->add_troubles(line);
  }

  void AddSupportFiles(server::SupportFiles* files) {
    server::AddProcessFiles(options.configuration, files);
    server::AddSupportFile("metrics.txt",
                           absl::StrCat(WorkerMetricsText(Snapshot()), server::ProcessMetricsText("worker")), files);
    v1::WorkerLoad loader;
    AddLoaderState(Clock::Real()->Now(), &loader);
    server::AddSupportFile("loader.json", net::MessageToJson(loader), files);
    server::AddSupportFile("disks.txt", rooms->LastText(), files);
  }

  WorkerSnapshot Snapshot() {
    WorkerSnapshot snapshot = TakeSnapshot({host.get(), &shared, indexes.get(), jobs.get(), rooms.get()});
    {
      MutexLock lock(&stages_mutex);
      snapshot.stages = stages.Add(snapshot.jobs);
    }
    snapshot.memory_budget_bytes = memory_budget_bytes;
    snapshot.rings_bytes = RingsInUse();
    snapshot.max_sessions = options.max_sessions;
    snapshot.coordinator_age = Clock::Real()->Now() - std::max(agent->answered(), created);
    snapshot.draining = milestones.Reached(Milestone::kDraining);
    return snapshot;
  }

  void JobsChanged(const net::JobChanges& changes) {
    // Jobs with a new view. Other changes, such as decisions about records, do not affect indexes.
    std::vector<net::WatchedJob> moved;
    for (const net::WatchedJob& job : changes.jobs) {
      if (job.record.state() == v1::READY && !jobs->HasView(job)) moved.push_back(job);
    }
    if (jobs->Update(changes)) host->loader()->PausesChanged();
    bad_records.Keep(jobs->names());
    for (const net::WatchedJob& job : moved) {
      prefetch_thread->Post([this, job] { Prefetch(net::ToJob(job), kFirstPrefetchPause); });
    }
  }

  void TakeTicketRules(const v1::TicketRules& rules) {
    if (options.tickets == nullptr) return;
    options.tickets->Update(rules);
    acceptor->CloseRevoked(*options.tickets);
  }

  // Retries until all indexes are here or the job has changed.
  void Prefetch(const v1::Job& job, Nanos pause) {
    if (prefetch->Run(job, stop_work.get_token(), [&] { return jobs->IsCurrent(job); })) return;
    prefetch_thread->PostAt(prefetch_thread->clock()->Now() + pause,
                            [this, job, pause] { Prefetch(job, std::min(2 * pause, kLongestPrefetchPause)); });
  }

  void Drain() {
    if (!milestones.BeginDraining()) return;
    server::LogInfo({.worker = name}, "draining: serving until {} streams have moved away", acceptor->sessions());
    leaving->Post([this] {
      agent->SetDraining();
      acceptor->SendDraining();
      const Nanos timeout = std::chrono::duration_cast<std::chrono::nanoseconds>(options.drain_timeout).count();
      drain_deadline->Set(leaving->clock()->Now() + timeout, [this] {
        server::LogWarn({.worker = name}, "{} streams are still open after drain_timeout; leaving all the same",
                        acceptor->sessions());
        Leave();
      });
      acceptor->WhenIdle([this] { leaving->Post([this] { Leave(); }); });
    });
  }

  // Runs on `leaving`.
  void Leave() {
    if (std::exchange(left_said, true)) return;
    drain_deadline->Cancel();
    reports->Flush([this] { agent->SayLeaving([this] { milestones.Reach(Milestone::kLeft); }); });
  }

  void SetNoSocket(const std::string& why) {
    no_socket = absl::StrCat("clients of this host get their rows over the network, not through shared memory: ", why);
    spdlog::info("{}", no_socket);
  }

  // Listens for clients of this host. If the default socket directory cannot be used, logs that and returns OK without
  // a socket.
  absl::Status ListenLocally() {
    if (options.socket_dir.empty()) return absl::OkStatus();
    absl::Status status = transport::PrepareSocketDir(options.socket_dir, options.socket_users);
    if (status.ok()) {
      transport::SharedMemoryListenerOptions listener = ListenerOptionsOf(options, shared.rejections);
      listener.worker = id;
      listener.files = host->shared_row_files();
      listener.rings_bytes = host->memory().rings;
      listener.ring_bytes = host->memory().ring;
      listener.user_rings_bytes = host->memory().rings / 4;
      listener.admit = admit;
      auto started = transport::SharedMemoryListener::Start(listener, acceptor.get(), executor.get());
      if (started.ok()) {
        local = *std::move(started);
        return absl::OkStatus();
      }
      status = started.status();
    }
    if (!options.socket_dir_guessed) return status;
    SetNoSocket(std::string(status.message()));
    return absl::OkStatus();
  }

  // Stops the worker. Call it once. Takes a bounded time, whatever storage does: it starts no new work, sessions end
  // without waiting for rows in the making, and a thread that hangs in a system call remains with all its resources.
  void Stop() {
    const Nanos deadline = Clock::Real()->Now() + kStopWait;
    milestones.Reach(Milestone::kStopping);
    stop_work.request_stop();
    indexes->Stop();  // unblocks the steps below
    reports->Stop();
    agent->Stop();
    traces->Stop();
    support->Stop();
    if (local != nullptr) local->StopListening();
    acceptor->CloseAll(absl::UnavailableError("this worker stops"));
    running.Shutdown();
    running.server->Wait();
    acceptor->WhenIdle([this] { milestones.Reach(Milestone::kIdle); });
    const bool quiet = milestones.WaitFor(Milestone::kIdle, deadline, true);
    if (local != nullptr) local->Stop();
    const bool worked = tasks->StopBy(deadline);
    const bool prefetched = prefetch_thread->StopBy(deadline);
    const bool opened = jobs->StopBy(deadline);
    const bool read = host->StopBy(deadline);
    executor->Stop();
    dir.reset();
    if (quiet && worked && prefetched && opened && read) {
      reports.reset();
      agent.reset();
      running.server.reset();
      service.reset();
      local.reset();
      acceptor.reset();
      jobs.reset();
      host.reset();
    } else {
      hung = true;
      spdlog::error("storage hangs: {} is left to the end of this process", !quiet || !read ? "a row that is being read"
                                                                            : !worked       ? "a task"
                                                                            : !prefetched   ? "the fetching of an index"
                                                                                            : "the opening of a shard");
    }
    milestones.Reach(Milestone::kLeft);
  }
};

Worker::Worker(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Worker::~Worker() {
  Stop();
  if (!parts_->hung) return;
  // Keep it reachable, so that leak checkers do not report it.
  static auto* const kept = new std::vector<std::unique_ptr<Parts>>;
  static Mutex mutex;
  MutexLock lock(&mutex);
  kept->push_back(std::move(parts_));
}

absl::StatusOr<std::unique_ptr<Worker>> Worker::Start(WorkerOptions options) {
  if (options.certificates == nullptr) {
    PS_RETURN_IF_ERROR(server::CheckPlaintextBind(options.listen, {options.insecure, options.tokens}));
  }
  PS_ASSIGN_OR_RETURN(const net::Address listen, net::ParseAddress(options.listen));
  if (!options.advertise.empty()) PS_RETURN_IF_ERROR(net::ParseAddress(options.advertise).status());

  loader::LoaderOptions& loader = options.host.loader;
  if (loader.threads == 0) loader.threads = AvailableCpus();
  PS_RETURN_IF_ERROR(CheckThreads(ThreadsNeeded(options), "a worker with these settings"));
  auto parts = std::make_unique<Parts>();
  PS_ASSIGN_OR_RETURN(parts->dir, server::StateDir::Open(options.state_dir, "worker"));
  std::vector<std::string> folders{options.state_dir};
  if (!options.host.disk_cache.folder.empty()) folders.push_back(options.host.disk_cache.folder);
  parts->rooms = std::make_unique<server::DiskRooms>(std::move(folders));
  RemoveTemporariesIn(absl::StrCat(options.state_dir, "/indexes"));
  PS_ASSIGN_OR_RETURN(parts->id, LoadOrMakeWorkerId(options.state_dir, RandomSource::Real()));
  parts->link = options.coordinator_channel != nullptr
                    ? LinkToCoordinator(options.coordinator_channel, options.coordinator)
                    : ConnectToCoordinator(options.coordinator, {options.certificates, options.token});
  storage::Storage* const storage = options.host.storage;
  parts->indexes = std::make_unique<ShardIndexes>(options.index_beside_shards
                                                      ? sources::IndexStore::BesideShards(storage)
                                                      : sources::IndexStore::InStateDir(storage, options.state_dir),
                                                  parts->link.get(), parts->id);
  // Start its threads now, not with the first job, so that the start fails if the system refuses them.
  storage::LocalFiles();
  const uint64_t budget_bytes = loader.memory_budget_bytes;
  parts->memory_budget_bytes = budget_bytes;
  options.host.rings = !options.socket_dir.empty();
  if (const uint64_t ring = host::DivisionOf(options.host).ring; ring > FileSizeLimit()) {
    parts->SetNoSocket(absl::StrCat("RLIMIT_FSIZE (ulimit -f) allows files of ", FileSizeLimit(),
                                    " bytes, and shared memory needs ", ring));
    options.socket_dir.clear();
    options.host.rings = false;
  }
  loader.trace = parts->trace;
  options.host.disk_cache.warn = [](const std::string& text) { spdlog::warn("{}", text); };
  const int threads = loader.threads;
  options.host.tuning.set = [shared = &parts->shared, threads](const tuning::TuningSetting& to) {
    const int requests = to.requests != tuning::TuningSetting().requests ? to.requests : 0;
    shared->rows_for_slow_reads.store(RowsForReads(std::max(to.read_threads, requests), threads));
  };
  options.host.tuning.tell = [](const std::string& line) { spdlog::info("tuning: {}", line); };
  parts->shared.rows_for_slow_reads.store(RowsForReads(options.host.read_threads.value_or(0), threads));
  PS_ASSIGN_OR_RETURN(parts->host, host::LoaderHost::Create(options.host));
  if (const std::string& folder = options.host.disk_cache.folder; !folder.empty()) {
    const cache::CacheStats cache = parts->host->loader()->Stats().disk_cache;
    spdlog::info("disk cache {}: {} of {} bytes are in use", folder, cache.bytes, cache.limit);
  }
  parts->jobs = std::make_unique<ServedJobs>(parts->host->storage(), options.roots, parts->indexes.get(),
                                             std::max(kLeastIndexBytes, budget_bytes / 16));
  parts->executor = std::make_unique<ThreadPool>(kExecutorThreads, "ps-strand");
  parts->shared.worker_id = parts->id;
  parts->shared.loader = parts->host->loader();
  parts->shared.jobs = parts->jobs.get();
  parts->shared.bad_records = &parts->bad_records;
  parts->shared.trace = parts->trace.get();
  parts->shared.executor = parts->executor.get();
  parts->shared.tickets = options.tickets;
  parts->shared.rejections = std::make_shared<server::Rejections>(server::LogRejected);
  parts->shared.max_sessions = options.max_sessions;
  parts->shared.hoard_time = options.limits.unread_time;
  parts->shared.streams_of_peer = std::make_unique<server::PeerCounts>(options.limits.sessions);
  parts->shared.compression = options.wire_compression;
  parts->shared.ahead.busy_rows = std::max(parts->shared.ahead.busy_rows, static_cast<size_t>(2 * threads));
  parts->shared.ahead.parked_rows = RowsForReads(tuning::TuningSetting().requests, threads);
  parts->shared.message_bytes = kMaxClientMessageBytes;
  parts->acceptor = std::make_unique<SessionAcceptor>(&parts->shared);
  const auto calls = std::make_shared<server::CallLimits>(options.limits.calls_per_second);
  parts->admit = server::RpcGate(options.rule, parts->shared.rejections, calls, options.record_call)
                     .ForStreams(server::Rpc::kStream);
  parts->service = transport::MakeGrpcStreamService(parts->acceptor.get(), parts->executor.get(),
                                                    LanesOf(options, parts->shared.rejections), parts->admit);
  net::ServerOptions server;
  server.use = net::ChannelUse::kRows;
  server.max_receive_bytes = kMaxClientMessageBytes;
  server.certificates = options.certificates;
  PS_ASSIGN_OR_RETURN(parts->running,
                      server::StartGuardedServer(listen, parts->service.get(), std::move(server), options.limits,
                                                 parts->shared.rejections, calls.get()));
  parts->options = options;
  PS_RETURN_IF_ERROR(parts->ListenLocally());
  parts->checks = std::make_unique<server::SelfCheckThreads>(
      ChecksOf(options, parts->local == nullptr ? "" : parts->local->local_address(), parts->no_socket));
  parts->leaving = std::make_unique<Strand>(parts->executor.get());
  parts->drain_deadline = std::make_unique<StrandTimer>(parts->leaving.get());
  parts->tasks = std::make_unique<ThreadPool>(kTaskThreads, "ps-task");
  parts->prefetch = std::make_unique<IndexPrefetch>(parts->id, options.roots, parts->indexes.get());
  parts->prefetch_thread = std::make_unique<ThreadPool>(1, "ps-prefetch");

  AgentOptions agent;
  PS_ASSIGN_OR_RETURN(agent.registration, RegistrationOf(options, parts->id, parts->running.address,
                                                         parts->local == nullptr ? "" : parts->local->local_address()));
  parts->name = agent.registration.name();
  parts->reports = std::make_shared<RecordReports>(agent.registration, parts->link.get(), parts->executor.get());
  parts->shared.reports = parts->reports.get();
  const TaskTools tools{.storage = storage,
                        .roots = options.roots,
                        .indexes = parts->indexes.get(),
                        .link = parts->link.get(),
                        .jobs = parts->jobs.get(),
                        .loader = parts->host->loader(),
                        .slow_work = parts->jobs->slow_work()};
  Parts* self = parts.get();
  AgentHooks hooks;
  hooks.load = [self] { return self->Load(); };
  hooks.jobs_changed = [self](const net::JobChanges& changes) { self->JobsChanged(changes); };
  hooks.run_task = [id = parts->id, tools](const v1::Task& task) { return RunTask(task, id, tools); };
  hooks.drain = [self] { self->Drain(); };
  v1::TracePart part;
  part.set_worker(true);
  part.set_host(HostName());
  part.set_version(PENSTOCK_VERSION);
  parts->traces = std::make_unique<net::TraceTaker>(
      parts->executor.get(), parts->trace, std::move(part),
      [link = parts->link.get()](const v1::PutTraceRequest& request, net::TraceTaker::Done done) {
        link->PutTrace(request, std::move(done));
      });
  hooks.trace = [self](const v1::TraceOrder& order) { self->traces->Take(order, self->id); };
  parts->support = std::make_unique<SupportSender>(
      agent.registration, [self](server::SupportFiles* files) { self->AddSupportFiles(files); }, parts->link.get());
  hooks.support = [self](const v1::SupportOrder& order) { self->support->Take(order); };
  hooks.tickets = [self](const v1::TicketRules& rules) { self->TakeTicketRules(rules); };
  hooks.complete_beat = [self](v1::HeartbeatRequest* beat) {
    self->shared.rejections->CopyTo(beat->mutable_rejected());
    self->checks->CopyTo(beat->mutable_findings());
    beat->set_unix_ms(server::UnixMicros() / 1000);
  };
  hooks.ready = [self] { self->milestones.Reach(Milestone::kReady); };
  parts->agent = std::make_shared<Agent>(std::move(agent), std::move(hooks), parts->link.get(), parts->executor.get(),
                                         parts->tasks.get());
  const auto counted = [self] { return self->host->loader()->Stats().memory_bytes + self->RingsInUse(); };
  parts->heap.emplace(budget_bytes, HeapWatch::Heap{OwnMemory, counted, ReleaseFreedMemory});
  parts->executor->Post([self] { self->WatchHeap(); });
  parts->agent->Start();
  server::LogInfo({.worker = parts->name}, "worker {} ({}) listens on {}{}", parts->name, parts->id,
                  parts->running.address.ToString(),
                  parts->local != nullptr ? absl::StrCat(" and in ", parts->options.socket_dir) : "");
  spdlog::info("the memory budget is {} MiB ({}); at most {} threads make rows", budget_bytes >> 20,
               options.memory_budget_source, threads);
  return std::unique_ptr<Worker>(new Worker(std::move(parts)));
}

const std::string& Worker::id() const { return parts_->id; }

std::string Worker::address() const { return parts_->running.address.ToString(); }

int Worker::port() const { return parts_->running.address.port; }

bool Worker::WaitUntilReady(std::chrono::nanoseconds timeout) {
  return parts_->milestones.WaitFor(Milestone::kReady, Clock::Real()->Now() + timeout.count(), false);
}

void Worker::CheckAlive(std::function<void(absl::Status)> done) {
  parts_->agent->CheckRegistered([done = std::move(done)](const absl::Status&) { done(absl::OkStatus()); });
}

void Worker::CheckReady(std::function<void(absl::Status)> done) {
  if (parts_->milestones.Reached(Milestone::kDraining)) return done(absl::UnavailableError("the worker is draining"));
  parts_->agent->CheckRegistered(std::move(done));
}

void Worker::Drain() { parts_->Drain(); }

void Worker::WaitUntilLeft() { parts_->milestones.WaitFor(Milestone::kLeft); }

void Worker::Stop() {
  MutexLock lock(&parts_->stop_mutex);
  if (std::exchange(parts_->stopped, true)) return;
  parts_->Stop();
}

std::shared_ptr<server::Rejections> Worker::rejections() const { return parts_->shared.rejections; }

std::string Worker::Metrics() const { return WorkerMetricsText(parts_->Snapshot()); }

loader::LoaderStats Worker::Stats() const { return parts_->host->loader()->Stats(); }

}  // namespace penstock::worker
