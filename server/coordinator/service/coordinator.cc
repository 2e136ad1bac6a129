#include "server/coordinator/service/coordinator.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/runtime/thread_pool.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"
#include "net/channel.h"
#include "server/common/bind_check.h"
#include "server/common/state_dir.h"
#include "server/coordinator/service/coordinator_service.h"
#include "server/coordinator/store/sqlite_store.h"

namespace penstock {
namespace {

constexpr auto kShutdownGrace = std::chrono::seconds(1);
// Two threads of the coordinator, and those of gRPC.
constexpr int kThreads = 12;

}  // namespace

// In order of construction; each part uses earlier ones.
struct Coordinator::Parts {
  std::optional<StateDir> dir;
  std::unique_ptr<Store> store;
  std::unique_ptr<IndexBlobs> blobs;
  std::unique_ptr<ThreadPool> control;  // used only by the loop, because its commits wait for the disk
  std::unique_ptr<ControlLoop> loop;
  std::unique_ptr<ThreadPool> files;
  std::unique_ptr<CoordinatorService> service;
  RunningServer running;
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
  PS_RETURN_IF_ERROR(CheckPlaintextBind(options.listen, options.insecure));
  PS_ASSIGN_OR_RETURN(const Address listen, ParseAddress(options.listen));
  PS_RETURN_IF_ERROR(CheckThreads(kThreads, "a coordinator"));

  auto parts = std::make_unique<Parts>();
  PS_ASSIGN_OR_RETURN(parts->dir, StateDir::Open(options.state_dir, "coordinator"));
  const std::string store_path = absl::StrCat(options.state_dir, "/coordinator.db");
  PS_ASSIGN_OR_RETURN(parts->store, OpenSqliteStore(store_path));
  PS_ASSIGN_OR_RETURN(const v1::StoredState stored, parts->store->Load());
  const uint64_t term = stored.term() + 1;
  std::vector<v1::StoreEvent> begin(1);
  begin[0].set_begin_term(term);
  PS_ASSIGN_OR_RETURN(const uint64_t revision, parts->store->Commit(begin, stored.revision()));
  StateOptions state_options;
  state_options.heartbeat = options.heartbeat_ms * kMillisecond;
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
  parts->loop = std::make_unique<ControlLoop>(*std::move(state), parts->store.get(), revision, parts->control.get(),
                                              ControlLoop::Options());
  parts->files = std::make_unique<ThreadPool>(1, "index-files");
  parts->service =
      std::make_unique<CoordinatorService>(parts->loop.get(), parts->blobs.get(), parts->files.get(), options.rule);
  PS_ASSIGN_OR_RETURN(parts->running, StartServer(listen, {parts->service.get()}));
  spdlog::info("coordinator listens on {}, term {}, {} jobs, {} workers remembered", parts->running.address.ToString(),
               term, stored.jobs_size(), stored.workers_size());
  return std::unique_ptr<Coordinator>(new Coordinator(std::move(parts)));
}

int Coordinator::port() const { return parts_->running.address.port; }

std::string Coordinator::address() const { return parts_->running.address.ToString(); }

void Coordinator::Shutdown() {
  MutexLock lock(&parts_->shutdown_mutex);
  if (parts_->down) return;
  parts_->down = true;
  parts_->loop->ReleaseWatches();
  // Calls in progress are answered within the grace period. After that, file work that has not begun is dropped, which
  // answers its calls.
  parts_->running.server->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
  parts_->files->Stop();
  parts_->running.server->Wait();
  parts_->running.server.reset();
  parts_->service.reset();
  parts_->files.reset();
  parts_->control->Stop();
  parts_->loop.reset();
  parts_->control.reset();
  parts_->blobs.reset();
  parts_->store.reset();
  parts_->dir.reset();
}

}  // namespace penstock
