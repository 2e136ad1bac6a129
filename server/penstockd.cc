// penstockd: the daemon. Coordinator, worker, or both.
#include <grp.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/commit.h"
#include "base/file.h"
#include "base/heap.h"
#include "base/mutex.h"
#include "base/open_files.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"
#include "config/flags.h"
#include "config/manual/manual_files.h"
#include "net/access/access_list.h"
#include "net/access/token.h"
#include "net/grpc_log.h"
#include "net/resolver.h"
#include "net/tls/client_security.h"
#include "net/tls/live_certificates.h"
#include "pipeline/storage/files.h"
#include "server/audit/audit_log.h"
#include "server/common/bind_check.h"
#include "server/common/core_dumps.h"
#include "server/common/library_logs.h"
#include "server/common/logging.h"
#include "server/common/rpc_gate.h"
#include "server/common/rpc_roles.h"
#include "server/common/sd_notify.h"
#include "server/common/signals.h"
#include "server/coordinator/service/coordinator.h"
#include "server/daemon_http.h"
#include "server/daemon_options.h"
#include "server/http/http_server.h"
#include "server/peers/peer_limits.h"
#include "server/self_checks/process_checks.h"
#include "server/self_checks/self_checks.h"
#include "server/worker/worker.h"
#include "transport/shared_memory/local_address.h"

namespace penstock::server {
namespace {

constexpr int kFailed = 1, kUsage = 2;
constexpr std::chrono::seconds kAuditFlush(2);  // time for its last lines

// Handles signals. The first one requests the end; a worker then drains. Before Begin(), while the data roots and the
// state folder are opened, it ends the process at once, because storage that hangs would keep the process forever.
class Ending {
 public:
  // Call it after starting a server that ends after Wait().
  void Begin() {
    MutexLock lock(&mutex_);
    begun_ = true;
  }
  void Ask() {
    MutexLock lock(&mutex_);
    if (!begun_) std::_Exit(kFailed);
    asked_ = true;
    changed_.NotifyAll();
  }
  // Requests the end because of an error, which the process then reports.
  void Fail(const absl::Status& why) {
    MutexLock lock(&mutex_);
    failure_ = why;
    asked_ = true;
    changed_.NotifyAll();
  }
  void Wait() {
    MutexLock lock(&mutex_);
    while (!asked_) changed_.Wait(&mutex_);
  }
  absl::Status failure() {
    MutexLock lock(&mutex_);
    return failure_;
  }
  bool asked() {
    MutexLock lock(&mutex_);
    return asked_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool begun_ ABSL_GUARDED_BY(mutex_) = false;
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

using CertificatesPtr = std::shared_ptr<const net::LiveCertificates>;

// Reads the daemon's certificates, and follows their files. Returns null without any.
absl::StatusOr<CertificatesPtr> OpenCertificates(const v1::TlsConfig& tls) {
  if (tls.cert().empty()) return nullptr;
  net::LiveCertificates::Options options;
  options.on_change = [](const net::LiveCertificates::Change& change) {
    if (change.replaced) {
      spdlog::info("new connections use the changed certificate, which is valid until {}",
                   absl::FormatTime("%Y-%m-%d %H:%M UTC", change.current->expires, absl::UTCTimeZone()));
    }
    if (!change.fault.ok()) {
      spdlog::error("{}. New connections use the certificate from before", std::string(change.fault.message()));
    } else if (!change.replaced) {
      spdlog::info("the certificate files are valid again");
    }
  };
  PS_ASSIGN_OR_RETURN(const std::shared_ptr<net::LiveCertificates> certificates,
                      net::LiveCertificates::Load({tls.cert(), tls.key(), tls.ca()}, std::move(options)));
  PS_RETURN_IF_ERROR(certificates->Watch());
  return certificates;
}

// Reads the file of --tokens, and follows it. Returns null without one.
absl::StatusOr<std::shared_ptr<const LiveAccessList>> OpenAccessList(const std::string& path) {
  if (path.empty()) return nullptr;
  const auto on_change = [path](const LiveAccessList::Change& change) {
    if (change.replaced) spdlog::info("tokens file {}: {} lines are in use", path, change.current->size());
    if (!change.fault.ok()) {
      spdlog::error("{}. The lines from before are in use", std::string(change.fault.message()));
    } else if (!change.replaced) {
      spdlog::info("tokens file {} is valid again", path);
    }
  };
  PS_ASSIGN_OR_RETURN(const std::shared_ptr<LiveAccessList> list,
                      LiveAccessList::Load([path] { return net::ReadAccessList(path); }, on_change));
  PS_RETURN_IF_ERROR(list->Watch("tokens-file"));
  return list;
}

PeerLimits PeerLimitsOf(const v1::LimitsConfig& limits) {
  PeerLimits out;
  out.connections.per_host = limits.connections_per_host();
  out.connections.per_second = limits.connections_per_second();
  out.connections.handshake_time = limits.handshake_seconds() * kSecond;
  out.calls_per_second = limits.calls_per_second();
  out.memory_bytes = limits.memory_bytes();
  out.unread_time = limits.unread_seconds() * kSecond;
  out.socket_streams_per_user = limits.socket_streams_per_user();
  out.sessions = {limits.sessions_per_host(), limits.sessions_per_name()};
  return out;
}

// What all parts of the daemon share.
struct Shared {
  CertificatesPtr certificates;                  // null: plaintext
  std::shared_ptr<const LiveAccessList> access;  // null: no roles
  std::shared_ptr<const net::LiveToken> token;   // token of a worker; null: none
  AuditLog* audit = nullptr;                     // null: none
  std::vector<SelfCheck> checks;                 // checks of the process
};

// Returns a rule that accepts what both accept. `first` may be unset.
RpcRule Both(RpcRule first, RpcRule second) {
  if (first == nullptr) return second;
  return [first = std::move(first), second = std::move(second)](const RpcLine& rpc, std::string_view credential,
                                                                transport::Peer* peer) -> absl::Status {
    PS_RETURN_IF_ERROR(first(rpc, credential, peer));
    return second(rpc, credential, peer);
  };
}

// Returns the rule for the certificates of clients, or an unset one.
RpcRule CertificateRuleOf(const v1::TlsConfig& tls, const Shared& shared) {
  if (tls.clients() == v1::TLS_CLIENTS_CERTIFICATE) return RequireCertificate();
  const bool own_ca = !tls.ca().empty() && tls.ca() != "system";
  const bool unnamed = shared.access == nullptr && own_ca && tls.clients() != v1::TLS_CLIENTS_ANY;
  return unnamed ? RequireCertificate() : nullptr;
}

RecordCall RecordCallOf(const Shared& shared) {
  if (shared.audit == nullptr) return nullptr;
  return [audit = shared.audit](const transport::Peer& peer, std::string_view call, std::string_view object,
                                const absl::Status& outcome) { audit->Record(peer, call, object, outcome); };
}

coordinator::CoordinatorOptions CoordinatorOptionsOf(const DaemonOptions& options, const Shared& shared,
                                                     Ending* ending) {
  coordinator::CoordinatorOptions out;
  out.certificates = shared.certificates;
  out.checks = shared.checks;
  out.rule = CertificateRuleOf(options.config.tls(), shared);
  if (shared.access != nullptr) {
    out.rule = Both(std::move(out.rule), RequireRole(shared.access));
    out.is_known = [list = shared.access](const std::string& name) { return list->current()->HasName(name); };
  }
  out.record_call = RecordCallOf(shared);
  out.limits = PeerLimitsOf(options.config.limits());
  out.configuration = ConfigurationForSupport(options);
  out.tokens = shared.access != nullptr;
  out.ticket_hours = options.config.coordinator_settings().ticket_hours();
  out.listen = options.config.listen();
  out.state_dir = options.config.state_dir();
  out.insecure = options.config.insecure();
  out.heartbeat_ms = options.config.coordinator_settings().heartbeat_ms();
  out.dead_after_ms = options.config.coordinator_settings().dead_after_ms();
  out.on_superseded = [ending](const absl::Status& why) {
    ending->Fail(absl::AbortedError(absl::StrCat("another coordinator has taken over: ", std::string(why.message()))));
  };
  return out;
}

// Returns the users of the worker's socket. NotFound: the system has no such group.
absl::StatusOr<transport::SocketUsers> SocketUsersOf(const v1::WorkerConfig& settings) {
  transport::SocketUsers users;
  if (settings.socket_users() == v1::SOCKET_USERS_ANY) {
    users.kind = transport::SocketUsers::kAny;
  } else if (!settings.socket_group().empty()) {
    const group* const found = getgrnam(settings.socket_group().c_str());
    if (found == nullptr) {
      return absl::NotFoundError(
          absl::StrCat("--socket-group: this host has no group '", settings.socket_group(), "'"));
    }
    users.kind = transport::SocketUsers::kGroup;
    users.group = found->gr_gid;
  }
  return users;
}

absl::StatusOr<worker::WorkerOptions> WorkerOptionsOf(const DaemonOptions& options, const Shared& shared) {
  const v1::WorkerConfig& settings = options.config.worker_settings();
  worker::WorkerOptions out;
  if (options.role == config::DaemonRole::kWorker) out.checks = shared.checks;
  PS_ASSIGN_OR_RETURN(out.socket_users, SocketUsersOf(settings));
  out.listen = options.config.listen();
  out.advertise = options.config.advertise();
  out.name = options.config.worker_settings().name();
  out.coordinator = options.config.coordinator();
  out.certificates = shared.certificates;
  out.tls_name = options.config.tls().worker_name();
  out.tickets = std::make_shared<TicketGate>(shared.access != nullptr);
  RpcRule certificate = CertificateRuleOf(options.config.tls(), shared);
  out.rule = options.config.tls().clients() == v1::TLS_CLIENTS_CERTIFICATE
                 ? Both(std::move(certificate), RequireTicket(out.tickets))
                 : RequireTicket(out.tickets, std::move(certificate));
  out.record_call = RecordCallOf(shared);
  out.limits = PeerLimitsOf(options.config.limits());
  out.configuration = ConfigurationForSupport(options);
  out.tokens = shared.access != nullptr;
  out.token = shared.token;
  out.insecure = options.config.insecure();
  out.roots = options.roots;
  out.state_dir = options.config.state_dir();
  out.host.storage = storage::AnyFiles();
  loader::LoaderOptions& loader = out.host.loader;
  loader.threads = static_cast<int>(settings.threads());
  loader.memory_budget_bytes = settings.memory_budget_bytes();
  out.memory_budget_source = options.memory_budget_source;
  loader.record_cache_bytes = settings.record_cache_bytes();
  loader.decoded_cache_bytes = settings.decoded_cache_bytes();
  loader.row_cache_bytes = settings.row_cache_bytes();
  loader.choose_record_cache = !options.record_cache_pinned;
  loader.choose_decoded_cache = !options.decoded_cache_pinned;
  loader.choose_row_cache = !options.row_cache_pinned;
  out.host.disk_cache.folder = settings.disk_cache_dir();
  out.host.disk_cache.limit_bytes = settings.disk_cache_bytes();
  out.host.threads_pinned = settings.threads() > 0;
  if (settings.has_read_threads()) out.host.read_threads = static_cast<int>(settings.read_threads());
  out.index_beside_shards = settings.index_beside_shards();
  out.socket_dir_guessed = !settings.has_socket_dir();
  out.socket_dir = settings.has_socket_dir() ? settings.socket_dir() : transport::DefaultSocketDir();
  out.wire_compression = settings.wire_compression() == v1::WIRE_COMPRESSION_OFF  ? worker::WireCompression::kOff
                         : settings.wire_compression() == v1::WIRE_COMPRESSION_ON ? worker::WireCompression::kOn
                                                                                  : worker::WireCompression::kAuto;
  out.wire_connections = settings.wire_connections();
  out.max_sessions = settings.max_sessions();
  out.drain_timeout = std::chrono::milliseconds(settings.drain_timeout_ms());
  return out;
}

// Reports that the daemon serves: to people, scripts and systemd.
absl::Status SayReady(const DaemonOptions& options, const std::string& role, const std::string& address, int port) {
  std::printf("penstockd %s ready on %s\n", role.c_str(), address.c_str());
  std::fflush(stdout);
  if (!options.port_file.empty()) {
    PS_RETURN_IF_ERROR(WriteFileAtomically(options.port_file, absl::StrCat(port, "\n")));
  }
  if (const absl::Status told = SdNotify("READY=1"); !told.ok()) {
    spdlog::warn("cannot notify systemd that the daemon is ready: {}", told.ToString());
  }
  return absl::OkStatus();
}

// Starts the HTTP port. Returns null without --http.
absl::StatusOr<std::unique_ptr<DaemonHttp>> StartHttp(const DaemonOptions& options, const Shared& shared,
                                                      DaemonParts parts) {
  if (options.config.http().empty()) return nullptr;
  HttpOptions http;
  http.listen = options.config.http();
  http.insecure = options.config.insecure();
  http.certificates = shared.certificates;
  parts.advertise = options.config.advertise();
  parts.record_call = RecordCallOf(shared);
  if (shared.access != nullptr) {
    http.admit = RequireViewer(shared.access);
    parts.tokens_fault = [list = shared.access] { return !list->fault().ok(); };
  }
  return DaemonHttp::Start(http, parts);
}

absl::Status RunCoordinator(const DaemonOptions& options, const Shared& shared, Ending* ending) {
  PS_ASSIGN_OR_RETURN(const auto coordinator,
                      coordinator::Coordinator::Start(CoordinatorOptionsOf(options, shared, ending)));
  PS_ASSIGN_OR_RETURN(std::unique_ptr<DaemonHttp> http, StartHttp(options, shared, {.coordinator = coordinator.get()}));
  ending->Begin();
  PS_RETURN_IF_ERROR(SayReady(options, "coordinator", coordinator->address(), coordinator->port()));
  ending->Wait();
  SdNotify("STOPPING=1").IgnoreError();
  http.reset();
  coordinator->Shutdown();
  return ending->failure();
}

// Serves until the worker has left, because of a signal or because an operator drained it. Health checks are answered
// until then.
absl::Status ServeAsWorker(worker::Worker* worker, std::unique_ptr<DaemonHttp> http, Ending* ending) {
  PS_ASSIGN_OR_RETURN(std::thread drainer, StartThread("ps-drain", [worker, ending] {
                        ending->Wait();
                        SdNotify("STOPPING=1").IgnoreError();
                        worker->Drain();
                      }));
  worker->WaitUntilLeft();
  ending->Ask();
  drainer.join();
  http.reset();
  worker->Stop();
  return absl::OkStatus();
}

absl::Status RunWorker(const DaemonOptions& options, const Shared& shared, Ending* ending) {
  PS_ASSIGN_OR_RETURN(worker::WorkerOptions worker_options, WorkerOptionsOf(options, shared));
  PS_ASSIGN_OR_RETURN(const auto worker, worker::Worker::Start(std::move(worker_options)));
  PS_ASSIGN_OR_RETURN(std::unique_ptr<DaemonHttp> http, StartHttp(options, shared, {.worker = worker.get()}));
  ending->Begin();
  // The worker already serves. It reports "ready" when trainers are able to find it.
  while (!ending->asked() && !worker->WaitUntilReady(std::chrono::milliseconds(200))) {
  }
  if (!ending->asked()) {
    PS_RETURN_IF_ERROR(SayReady(options, "worker", worker->address(), worker->port()));
  }
  return ServeAsWorker(worker.get(), std::move(http), ending);
}

absl::Status RunStandalone(const DaemonOptions& options, const Shared& shared, Ending* ending) {
  PS_ASSIGN_OR_RETURN(const auto coordinator,
                      coordinator::Coordinator::Start(CoordinatorOptionsOf(options, shared, ending)));
  ending->Begin();
  PS_ASSIGN_OR_RETURN(worker::WorkerOptions worker_options, WorkerOptionsOf(options, shared));
  // The worker listens on any free port of the same host; trainers get its address from the coordinator.
  const std::string& listen = options.config.listen();
  worker_options.listen = absl::StrCat(listen.substr(0, listen.rfind(':')), ":0");
  worker_options.advertise = "";
  worker_options.coordinator = coordinator->address();
  worker_options.coordinator_channel = coordinator->ChannelInProcess();
  // Clients reach the coordinator under a name in the same certificate, so any of its names will do.
  if (shared.certificates != nullptr && worker_options.tls_name.empty() &&
      !shared.certificates->current()->names.empty()) {
    worker_options.tls_name = shared.certificates->current()->names.front();
  }
  PS_ASSIGN_OR_RETURN(const auto worker, worker::Worker::Start(worker_options));
  PS_ASSIGN_OR_RETURN(std::unique_ptr<DaemonHttp> http,
                      StartHttp(options, shared, {.coordinator = coordinator.get(), .worker = worker.get()}));
  while (!ending->asked() && !worker->WaitUntilReady(std::chrono::milliseconds(200))) {
  }
  if (!ending->asked()) {
    PS_RETURN_IF_ERROR(SayReady(options, "standalone", coordinator->address(), coordinator->port()));
  }
  PS_RETURN_IF_ERROR(ServeAsWorker(worker.get(), std::move(http), ending));
  coordinator->Shutdown();
  return ending->failure();
}

absl::Status RunRole(const DaemonOptions& options, const Shared& shared, Ending* ending) {
  switch (options.role) {
    case config::DaemonRole::kStandalone:
      return RunStandalone(options, shared, ending);
    case config::DaemonRole::kCoordinator:
      return RunCoordinator(options, shared, ending);
    case config::DaemonRole::kWorker:
      return RunWorker(options, shared, ending);
  }
  return absl::InternalError("unknown role");
}

absl::Status Run(const DaemonOptions& options, Ending* ending) {
  // Before the store is opened, so that these mistakes change nothing.
  Shared shared;
  PS_ASSIGN_OR_RETURN(shared.certificates, OpenCertificates(options.config.tls()));
  PS_ASSIGN_OR_RETURN(shared.access, OpenAccessList(options.config.tokens()));
  const std::string token_path = net::TokenFileOr(options.config.token_file());
  if (options.role == config::DaemonRole::kWorker && !token_path.empty()) {
    PS_ASSIGN_OR_RETURN(shared.token, net::OpenToken(token_path));
  }
  shared.checks =
      ProcessChecks({shared.certificates, options.config.tokens(), shared.access, token_path, shared.token});
  if (const std::string& http = options.config.http(); !http.empty() && shared.certificates == nullptr) {
    PS_RETURN_IF_ERROR(CheckPlaintextBind(http, {options.config.insecure(), shared.access != nullptr}));
  }
  if (!options.config.audit().empty()) {
    // Never destroyed: its disk may hang.
    static AuditLog* audit = nullptr;
    PS_ASSIGN_OR_RETURN(std::unique_ptr<AuditLog> opened, AuditLog::Open(options.config.audit()));
    shared.audit = audit = opened.release();
  }
  const absl::Status status = RunRole(options, shared, ending);
  if (shared.audit != nullptr) shared.audit->Flush(kAuditFlush);
  return status;
}

// `penstockd manual [man|bash|zsh] [--out DIR]`: man page and shell completions.
int PrintManual(const std::vector<std::string>& args) {
  std::string out;
  config::Flags flags;
  flags.AddString("out", &out, "DIR", "write all files below this folder");
  absl::StatusOr<std::vector<std::string>> words = flags.Parse(args);
  absl::Status status = words.status();
  if (status.ok() && words->size() > 1) {
    status = absl::InvalidArgumentError(absl::StrCat("unexpected argument: ", words->at(1)));
  }
  if (status.ok()) {
    status = config::RunManual(DaemonProgramText(PENSTOCK_VERSION), words->empty() ? "" : words->front(), out);
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "penstockd manual: %s\nusage: penstockd manual [man|bash|zsh] [--out DIR]\n",
               std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) ? kUsage : kFailed;
}

int Main(const std::vector<std::string>& args) {
  if (!args.empty() && args[0] == "manual") return PrintManual({args.begin() + 1, args.end()});
  for (const std::string& arg : args) {
    if (arg == "--version") {
      std::printf("penstockd %s (commit %s)\n", PENSTOCK_VERSION, std::string(Commit()).c_str());
      return 0;
    }
    if (arg != "--help" && arg != "-h" && arg != "help") continue;
    std::string role;
    for (const std::string& word : args) {
      if (word == "standalone" || word == "coordinator" || word == "worker") role = word;
    }
    std::fputs(DaemonHelp(role).c_str(), stdout);
    return 0;
  }
  if (const absl::Status granted = CheckThreads(1, "penstockd"); !granted.ok()) {
    std::fprintf(stderr, "penstockd: %s\n", std::string(granted.message()).c_str());
    return kFailed;
  }
  Ending ending;
  SignalWaiter signals([&ending] { ending.Ask(); }, [] { std::_Exit(kFailed); });
  const absl::StatusOr<DaemonOptions> options = ParseDaemonCommandLine(args);
  if (!options.ok()) {
    std::fprintf(stderr, "penstockd: %s\n(penstockd --help lists roles and flags)\n",
                 std::string(options.status().message()).c_str());
    return absl::IsInvalidArgument(options.status()) ? kUsage : kFailed;
  }
  const v1::LogConfig& log = options->config.log();
  if (const absl::Status set = SetUpLogging(log.level(), log.json()); !set.ok()) {
    std::fprintf(stderr, "penstockd: %s\n", std::string(set.message()).c_str());
    return kUsage;
  }
  if (!options->config.core_dumps()) PreventCoreDumps();
  RouteLibraryLogs();
  for (const std::string& warning : options->warnings) spdlog::warn("{}", warning);
  const absl::Status status = Run(*options, &ending);
  if (status.ok()) return 0;
  if (log.json()) {
    spdlog::critical("penstockd: {}", std::string(status.message()));
  } else {
    std::fprintf(stderr, "penstockd: %s\n", std::string(status.message()).c_str());
  }
  return kFailed;
}

}  // namespace
}  // namespace penstock::server

int main(int argc, char** argv) {
  penstock::RaiseOpenFileLimit();
  penstock::IgnoreFileSizeSignal();
  penstock::KeepFreedMemory(size_t{16} << 20);
  penstock::server::BlockSignals();  // before anything starts a thread
  penstock::net::QuietGrpcLog();
  penstock::net::UseHostResolver();
  const int code = penstock::server::Main(std::vector<std::string>(argv + 1, argv + argc));
  // Static objects stay: a thread that hung in storage may continue now, and would use destroyed ones.
  std::fflush(nullptr);
  std::_Exit(code);
}
