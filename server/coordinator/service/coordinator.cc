#include "server/coordinator/service/coordinator.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/runtime/random_source.h"
#include "base/runtime/thread_pool.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"
#include "net/channel.h"
#include "server/common/bind_check.h"
#include "server/common/guarded_server.h"
#include "server/common/log_rejected.h"
#include "server/common/state_dir.h"
#include "server/common/support_files.h"
#include "server/coordinator/metrics/coordinator_metrics.h"
#include "server/coordinator/service/collect_metrics.h"
#include "server/coordinator/service/coordinator_service.h"
#include "server/coordinator/store/sqlite_store.h"
#include "server/metrics/disk_rooms.h"
#include "server/metrics/process_metrics.h"
#include "server/self_checks/folder_checks.h"
#include "server/self_checks/process_checks.h"
#include "server/self_checks/self_checks.h"
#include "server/tickets/ticket.h"
#include "server/tickets/ticket_gate.h"

namespace penstock::coordinator {
namespace {

constexpr auto kShutdownGrace = std::chrono::seconds(1);
// Three threads of the coordinator, two for self-checks, and those of gRPC.
constexpr int kThreads = 16;
constexpr size_t kMostSupportWork = 16;  // in the queue of the thread for files

TicketOptions TicketOptionsOf(const CoordinatorOptions& options) {
  TicketOptions tickets;
  tickets.issue = options.tokens;
  tickets.now = server::UnixMicros;
  tickets.new_key = [] {
    std::string key;
    while (key.size() < server::kSigningKeyBytes) {
      const uint64_t word = RandomSource::Real()->Next();
      for (int shift = 0; shift < 64; shift += 8) key.push_back(static_cast<char>(word >> shift));
    }
    return key;
  };
  tickets.is_known = options.is_known;
  tickets.lifetime = int64_t{options.ticket_hours} * 3600 * 1'000'000;
  return tickets;
}

int64_t UnixMillis() { return server::UnixMicros() / 1000; }

// Logs callers that are rejected for the first time, and adds them to the history while there is a loop. Thread-safe.
class RejectionNotes {
 public:
  void Set(ControlLoop* loop) {
    MutexLock lock(&mutex_);
    loop_ = loop;
  }
  void Add(const server::Rejected& rejected) {
    server::LogRejected(rejected);
    NoteRejection note;
    note.caller.set_host(rejected.host);
    note.caller.set_name(rejected.name);
    note.caller.set_reason(std::string(server::NameOf(rejected.reason)));
    note.caller.set_message(rejected.message);
    MutexLock lock(&mutex_);
    if (loop_ == nullptr) return;
    loop_->Apply(std::move(note), ControlLoop::kNoDeadline, [](const absl::Status&, Reply*) {});
  }

 private:
  Mutex mutex_;
  ControlLoop* loop_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

// Calls `done` with what `read` returns for the state, or with an error if too many requests wait.
template <typename Done, typename Read>
void ReadState(ControlLoop* loop, Done done, Read read) {
  const bool queued =
      loop->Read([done, read = std::move(read)](const CoordinatorState& state, Nanos now) { done(read(state, now)); });
  if (!queued) done(absl::ResourceExhaustedError("the coordinator has too many requests waiting; try again"));
}

// Waits until the loop has stored its facts or failed to, but not for a disk that hangs.
void StoreTheRest(ControlLoop* loop) {
  struct Closed {
    Mutex mutex;
    CondVar changed;
    bool closed ABSL_GUARDED_BY(mutex) = false;
  };
  const auto closed = std::make_shared<Closed>();
  loop->Close([closed] {
    MutexLock lock(&closed->mutex);
    closed->closed = true;
    closed->changed.NotifyAll();
  });
  const Nanos until = Clock::Real()->Now() + kSecond;
  MutexLock lock(&closed->mutex);
  while (!closed->closed && Clock::Real()->Now() < until) {
    closed->changed.WaitFor(&closed->mutex, std::chrono::nanoseconds(until - Clock::Real()->Now()));
  }
  if (!closed->closed) spdlog::error("the last changes are lost: the disk does not answer");
}

}  // namespace

// In order of construction; each part uses earlier ones.
struct Coordinator::Parts {
  std::shared_ptr<server::DiskRooms> rooms;  // state directory
  const std::shared_ptr<RejectionNotes> notes = std::make_shared<RejectionNotes>();
  const std::shared_ptr<server::Rejections> rejections =
      std::make_shared<server::Rejections>([notes = notes](const server::Rejected& rejected) { notes->Add(rejected); });
  std::shared_ptr<server::SelfCheckThreads> checks;
  std::optional<server::StateDir> dir;
  std::unique_ptr<ThreadPool> disk;  // used only by the store, because its commits wait for the disk
  std::unique_ptr<Store> store;
  std::unique_ptr<IndexBlobs> blobs;
  std::unique_ptr<ThreadPool> control;  // used only by the loop
  std::unique_ptr<ControlLoop> loop;
  std::unique_ptr<ThreadPool> files;
  std::unique_ptr<CoordinatorService> service;
  net::RunningServer running;
  // Returns a function that adds to a status what the state does not know.
  std::function<void(v1::StatusReply*)> StatusCompleter() const {
    return [rejections = rejections, checks = checks](v1::StatusReply* reply) {
      rejections->CopyTo(reply->mutable_rejected());
      checks->CopyTo(reply->mutable_findings());
      reply->set_unix_ms(UnixMillis());
    };
  }

  Mutex shutdown_mutex;
  bool down ABSL_GUARDED_BY(shutdown_mutex) = false;
};

Coordinator::Coordinator(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Coordinator::~Coordinator() { Shutdown(); }

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Start(const CoordinatorOptions& options) {
  if (options.heartbeat_ms == 0 || options.dead_after_ms < 2 * uint64_t{options.heartbeat_ms}) {
    return absl::InvalidArgumentError(absl::StrCat("dead_after_ms (", options.dead_after_ms,
                                                   ") must be at least twice heartbeat_ms (", options.heartbeat_ms,
                                                   "), which must be positive"));
  }
  if (options.certificates == nullptr) {
    PS_RETURN_IF_ERROR(server::CheckPlaintextBind(options.listen, {options.insecure, options.tokens}));
  }
  PS_ASSIGN_OR_RETURN(const net::Address listen, net::ParseAddress(options.listen));
  PS_RETURN_IF_ERROR(CheckThreads(kThreads, "a coordinator"));

  auto parts = std::make_unique<Parts>();
  PS_ASSIGN_OR_RETURN(parts->dir, server::StateDir::Open(options.state_dir, "coordinator"));
  parts->rooms = std::make_shared<server::DiskRooms>(std::vector<std::string>{options.state_dir});
  std::vector<server::SelfCheck> checks = options.checks;
  checks.push_back(server::GroupLimitsCheck(0));
  checks.push_back(server::WritableFolderCheck("state directory", options.state_dir));
  parts->checks = std::make_shared<server::SelfCheckThreads>(std::move(checks));
  const std::string store_path = absl::StrCat(options.state_dir, "/coordinator.db");
  parts->disk = std::make_unique<ThreadPool>(1, "store");
  PS_ASSIGN_OR_RETURN(parts->store, OpenSqliteStore(store_path, parts->disk.get()));
  PS_ASSIGN_OR_RETURN(v1::StoredState stored, parts->store->Load());
  const TicketOptions tickets = TicketOptionsOf(options);
  const uint64_t term = stored.term() + 1;
  v1::StoreEvent begin;
  begin.set_begin_term(term);
  StoreCommit commit{RandomHexId(RandomSource::Real()), stored.revision(), {}};
  commit.events.push_back(std::make_shared<const v1::StoreEvent>(std::move(begin)));
  if (tickets.issue && stored.ticket_keys().empty()) {  // before the first session needs it
    for (const v1::StoreEvent& first : TicketDesk(tickets).Due()) {
      *stored.add_ticket_keys() = first.put_ticket_key();
      commit.events.push_back(std::make_shared<const v1::StoreEvent>(first));
    }
  }
  const CommitOutcome begun =
      WaitForOutcome([&](Store::Done done) { parts->store->Commit(std::move(commit), std::move(done)); });
  if (begun.kind != CommitOutcome::kStored) return begun.why;
  StateOptions state_options;
  state_options.may_act = options.may_act;
  state_options.tickets = tickets;
  state_options.unix_ms = UnixMillis;
  state_options.heartbeat = options.heartbeat_ms * kMillisecond;
  state_options.sessions_of_peer = options.limits.sessions;
  state_options.dead_after = options.dead_after_ms * kMillisecond;
  absl::StatusOr<CoordinatorState> state = CoordinatorState::Restore(state_options, Clock::Real()->Now(), term, stored);
  if (!state.ok()) {
    return absl::DataLossError(absl::StrCat(store_path, ": ", std::string(state.status().message()),
                                            "; move it away and start again: workers register by themselves, jobs "
                                            "must be submitted again"));
  }
  PS_ASSIGN_OR_RETURN(parts->blobs,
                      IndexBlobs::Open(absl::StrCat(options.state_dir, "/indexes/content"), IndexBlobs::Limits()));
  parts->control = std::make_unique<ThreadPool>(1, "control");
  ControlLoop::Options loop_options;
  loop_options.on_superseded = options.on_superseded;
  parts->loop = std::make_unique<ControlLoop>(*std::move(state), parts->store.get(), stored.revision() + 1,
                                              parts->control.get(), loop_options);
  parts->files = std::make_unique<ThreadPool>(1, "index-files");
  const auto calls = std::make_shared<server::CallLimits>(options.limits.calls_per_second);
  parts->service = std::make_unique<CoordinatorService>(
      parts->loop.get(), parts->control->clock(), parts->blobs.get(), parts->files.get(),
      server::RpcGate(options.rule, parts->rejections, calls, options.record_call), options.record_call,
      parts->rejections, parts->StatusCompleter());
  parts->service->SetCollectFiles(
      [loop = parts->loop.get(), files = parts->files.get(),
       configuration = options.configuration](std::function<void(v1::PutSupportRequest)> done) {
        coordinator::CollectMetrics(loop, [files, configuration, done = std::move(done)](
                                              absl::StatusOr<std::shared_ptr<CoordinatorSnapshot>> snapshot) {
          files->TryPost(
              [configuration, done, snapshot = std::move(snapshot)] {
                v1::PutSupportRequest put;
                server::AddProcessFiles(configuration, put.mutable_files());
                server::AddSupportFile("metrics.txt",
                                       snapshot.ok() ? absl::StrCat(CoordinatorMetricsText(**snapshot),
                                                                    server::ProcessMetricsText("coordinator"))
                                                     : std::string(snapshot.status().message()),
                                       put.mutable_files());
                done(std::move(put));
              },
              kMostSupportWork);
        });
      });
  net::ServerOptions server;
  server.certificates = options.certificates;
  PS_ASSIGN_OR_RETURN(parts->running, server::StartGuardedServer(listen, parts->service.get(), std::move(server),
                                                                 options.limits, parts->rejections, calls.get()));
  parts->notes->Set(parts->loop.get());
  spdlog::info("coordinator listens on {}, term {}, {} jobs, {} workers remembered", parts->running.address.ToString(),
               term, stored.jobs_size(), stored.workers_size());
  return std::unique_ptr<Coordinator>(new Coordinator(std::move(parts)));
}

int Coordinator::port() const { return parts_->running.address.port; }

std::shared_ptr<grpc::Channel> Coordinator::ChannelInProcess() const { return net::ChannelInProcess(parts_->running); }

std::shared_ptr<server::Rejections> Coordinator::rejections() const { return parts_->rejections; }

std::string Coordinator::address() const { return parts_->running.address.ToString(); }

void Coordinator::CollectMetrics(std::function<void(absl::StatusOr<MetricsText>)> done) {
  coordinator::CollectMetrics(parts_->loop.get(),
                              [done = std::move(done), rooms = parts_->rooms, rejections = parts_->rejections](
                                  absl::StatusOr<std::shared_ptr<CoordinatorSnapshot>> snapshot) {
                                if (!snapshot.ok()) return done(snapshot.status());
                                done([rooms, rejections, snapshot = *std::move(snapshot)] {
                                  const server::DiskRoom disk = rooms->Last()[0];
                                  snapshot->service.disk_free_bytes = disk.free_bytes;
                                  snapshot->service.disk_bytes = disk.size_bytes;
                                  snapshot->service.rejections = rejections->Get();
                                  rejections->CopyTo(&snapshot->service.callers);
                                  return CoordinatorMetricsText(*snapshot);
                                });
                              });
}

void Coordinator::CheckServing(std::function<void(absl::Status)> done) { parts_->loop->CheckServing(std::move(done)); }

void Coordinator::GetStatus(std::function<void(absl::StatusOr<v1::StatusReply>)> done) {
  ReadState(parts_->loop.get(), std::move(done),
            [complete = parts_->StatusCompleter()](const CoordinatorState& state, Nanos now) {
              v1::StatusReply reply = state.Status(now);
              complete(&reply);
              return reply;
            });
}

void Coordinator::Explain(v1::ExplainRequest request, std::function<void(absl::StatusOr<v1::ExplainReply>)> done) {
  ReadState(
      parts_->loop.get(), std::move(done),
      [request = std::move(request)](const CoordinatorState& state, Nanos now) { return state.Explain(request, now); });
}

void Coordinator::ListShards(v1::ListShardsRequest request,
                             std::function<void(absl::StatusOr<v1::ListShardsReply>)> done) {
  ReadState(parts_->loop.get(), std::move(done),
            [request = std::move(request)](const CoordinatorState& state, Nanos) { return state.ListShards(request); });
}

void Coordinator::GetQuarantine(v1::QuarantineRequest request,
                                std::function<void(absl::StatusOr<v1::QuarantineReply>)> done) {
  ReadState(parts_->loop.get(), std::move(done), [request = std::move(request)](const CoordinatorState& state, Nanos) {
    return state.GetQuarantine(request);
  });
}

void Coordinator::Shutdown() {
  MutexLock lock(&parts_->shutdown_mutex);
  if (parts_->down) return;
  parts_->down = true;
  parts_->loop->ReleaseWatches();
  // Calls in progress are answered within the grace period. After that, file work that has not begun is dropped, which
  // answers its calls.
  parts_->running.Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
  parts_->files->Stop();
  parts_->running.server->Wait();
  parts_->running.server.reset();
  parts_->service.reset();
  StoreTheRest(parts_->loop.get());
  parts_->notes->Set(nullptr);
  parts_->control->Stop();
  parts_->loop.reset();
  parts_->files.reset();  // a query of the loop may still post to it
  parts_->control.reset();
  parts_->blobs.reset();
  parts_->disk->Stop();
  parts_->store.reset();
  parts_->disk.reset();
  parts_->dir.reset();
}

}  // namespace penstock::coordinator
