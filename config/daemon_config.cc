#include "config/daemon_config.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/near_name.h"
#include "base/status_macros.h"

namespace penstock::config {
namespace {

constexpr uint64_t kMaxConfigBytes = 1 << 20;
constexpr uint64_t kLeastBudget = uint64_t{64} << 20;
constexpr uint32_t kHeartbeatMs = 1000;
constexpr uint32_t kDeadAfterMs = 3000;
constexpr uint32_t kTicketHours = 24, kMostTicketHours = 8760;
constexpr uint32_t kMaxSessions = 256;
constexpr uint32_t kDrainTimeoutMs = 60000;
constexpr uint64_t kBesidesBudget = uint64_t{256} << 20;
constexpr uint32_t kMostHandshakeSeconds = 600, kMostUnreadSeconds = 600;

// Returns whether the address is valid or empty.
bool CheckAddress(const std::string& field, const std::string& address, std::vector<Mistake>* out) {
  if (address.empty()) return true;
  const size_t colon = address.rfind(':');
  int port = -1;
  if (colon == std::string::npos || colon == 0 || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 0 ||
      port > 65535) {
    out->push_back({0, field, absl::StrCat("'", address, "' is not HOST:PORT, such as 127.0.0.1:7070")});
    return false;
  }
  return true;
}

std::string LastComponent(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const size_t slash = path.rfind('/');
  const std::string last = slash == std::string::npos ? path : path.substr(slash + 1);
  return last.empty() ? "root" : last;
}

void CheckRoots(const v1::DaemonConfig& config, std::vector<Mistake>* out) {
  std::set<std::string> names;
  for (int i = 0; i < config.data_root_size(); ++i) {
    const v1::DataRootConfig& root = config.data_root(i);
    const std::string field = absl::StrCat("data_root[", i, "]");
    if (root.path().empty()) {
      out->push_back({0, field + ".path", "the folder is missing"});
      continue;
    }
    if (root.path().front() != '/') {
      out->push_back({0, field + ".path", absl::StrCat("'", root.path(), "' must be absolute")});
      if (root.name().empty()) continue;  // its name depends on the path
    }
    const std::string name = root.name().empty() ? LastComponent(root.path()) : root.name();
    if (name.find('/') != std::string::npos || name.find('=') != std::string::npos) {
      out->push_back({0, field + ".name", absl::StrCat("'", name, "' must not contain '/' or '='")});
    }
    if (!names.insert(name).second) {
      out->push_back(
          {0, field + ".name", absl::StrCat("two roots are named '", name, "': give each a `name` of its own")});
    }
  }
}

void CheckTls(const v1::TlsConfig& tls, std::vector<Mistake>* out) {
  if (tls.cert().empty() && !tls.key().empty()) {
    out->push_back({0, "tls.cert", "the key has no certificate; name its file (--tls-cert)"});
  }
  if (!tls.cert().empty() && tls.key().empty()) {
    out->push_back({0, "tls.key", "the certificate has no private key; name its file (--tls-key)"});
  }
  if (tls.cert().empty() && tls.key().empty() && !tls.ca().empty()) {
    out->push_back({0, "tls.cert", "a daemon with a CA serves TLS, which needs a certificate (--tls-cert, --tls-key)"});
  }
  if (tls.clients() == v1::TLS_CLIENTS_CERTIFICATE && (tls.ca().empty() || tls.ca() == "system")) {
    out->push_back(
        {0, "tls.clients", "clients can be required to have certificates only with a CA file (--tls-ca FILE)"});
  }
  if (tls.worker_name().size() > 256) out->push_back({0, "tls.worker_name", "at most 256 bytes"});
  if (!tls.worker_name().empty() && tls.cert().empty() && tls.key().empty() && tls.ca().empty()) {
    out->push_back({0, "tls.worker_name", "is of no use without a certificate (--tls-cert)"});
  }
}

void CheckWorker(const v1::WorkerConfig& worker, std::vector<Mistake>* out) {
  const uint64_t budget = worker.memory_budget_bytes();
  const uint64_t caches = worker.record_cache_bytes() + worker.decoded_cache_bytes() + worker.row_cache_bytes();
  if (budget != 0 && budget < kLeastBudget) {
    out->push_back({0, "worker_settings.memory_budget_bytes",
                    absl::StrCat(budget, " bytes are too few; at least ", kLeastBudget, " (64 MiB)")});
  } else if (budget != 0 && caches > budget) {
    out->push_back({0, "worker_settings.record_cache_bytes",
                    absl::StrCat("record_cache_bytes + decoded_cache_bytes + row_cache_bytes = ", caches,
                                 " is more than memory_budget_bytes = ", budget, ", which holds them")});
  }
  if (worker.read_threads() > kMaxReadThreads) {
    out->push_back({0, "worker_settings.read_threads", absl::StrCat("at most ", kMaxReadThreads)});
  }
  const auto plain = [](char c) { return c > ' ' && c < 0x7f; };
  if (worker.name().size() > 64 || !std::all_of(worker.name().begin(), worker.name().end(), plain)) {
    out->push_back({0, "worker_settings.name", "at most 64 printable ASCII characters without spaces"});
  }
  if (worker.wire_connections() > kMaxWireConnections) {
    out->push_back({0, "worker_settings.wire_connections", absl::StrCat("at most ", kMaxWireConnections)});
  }
  if (!worker.disk_cache_dir().empty() && worker.disk_cache_dir().front() != '/') {
    out->push_back(
        {0, "worker_settings.disk_cache_dir", absl::StrCat("'", worker.disk_cache_dir(), "' must be absolute")});
  }
  if (worker.disk_cache_dir().empty() && worker.disk_cache_bytes() != 0) {
    out->push_back({0, "worker_settings.disk_cache_bytes", "is of no use without disk_cache_dir (--disk-cache DIR)"});
  }
  if (worker.threads() > 4096) out->push_back({0, "worker_settings.threads", "at most 4096"});
}

}  // namespace

std::vector<Mistake> CheckDaemonConfig(const v1::DaemonConfig& config) {
  std::vector<Mistake> out;
  CheckAddress("listen", config.listen(), &out);
  CheckAddress("advertise", config.advertise(), &out);
  const bool http = CheckAddress("http", config.http(), &out);
  if (http && !config.http().empty() && config.http() == config.listen() && !absl::EndsWith(config.http(), ":0")) {
    out.push_back({0, "http", absl::StrCat("'", config.http(), "' is the address of `listen`; choose another port")});
  }
  CheckAddress("coordinator", config.coordinator(), &out);
  CheckRoots(config, &out);
  const v1::CoordinatorConfig& times = config.coordinator_settings();
  const uint32_t heartbeat = times.heartbeat_ms() == 0 ? kHeartbeatMs : times.heartbeat_ms();
  const uint32_t dead = times.dead_after_ms() == 0 ? std::max(kDeadAfterMs, 2 * heartbeat) : times.dead_after_ms();
  if (heartbeat < 10 || heartbeat > 60000) {
    out.push_back({0, "coordinator_settings.heartbeat_ms", "between 10 and 60000"});
  } else if (dead < 2 * heartbeat) {
    out.push_back({0, "coordinator_settings.dead_after_ms",
                   absl::StrCat(dead, " must be at least twice heartbeat_ms (", heartbeat, ")")});
  }
  if (times.ticket_hours() > kMostTicketHours) {
    out.push_back({0, "coordinator_settings.ticket_hours", absl::StrCat("between 1 and ", kMostTicketHours)});
  }
  if (config.limits().handshake_seconds() > kMostHandshakeSeconds) {
    out.push_back({0, "limits.handshake_seconds", absl::StrCat("between 1 and ", kMostHandshakeSeconds)});
  }
  if (config.limits().unread_seconds() > kMostUnreadSeconds) {
    out.push_back({0, "limits.unread_seconds", absl::StrCat("between 1 and ", kMostUnreadSeconds)});
  }
  CheckWorker(config.worker_settings(), &out);
  CheckTls(config.tls(), &out);
  const std::vector<std::string> levels = {"trace", "debug", "info", "warn", "error"};
  const std::string& level = config.log().level();
  if (!level.empty() && std::find(levels.begin(), levels.end(), level) == levels.end()) {
    out.push_back(
        {0, "log.level",
         absl::StrCat("'", level, "' is not one of trace | debug | info | warn | error", DidYouMean(level, levels))});
  }
  return out;
}

std::vector<Mistake> CheckDaemonConfigText(std::string_view text, v1::DaemonConfig* config,
                                           std::vector<Mistake>* warnings) {
  FieldLines lines;
  std::vector<Mistake> mistakes = ParseText(text, config, &lines, warnings);
  if (config->worker_settings().no_record_cache()) {
    v1::WorkerConfig* const worker = config->mutable_worker_settings();
    const int line = LineOf(lines, "worker_settings.no_record_cache");
    warnings->push_back({line, "",
                         "'no_record_cache: true' is written 'record_cache_bytes: 0' since 0.3.0; 0.4 is the "
                         "last release that reads the old name"});
    if (worker->record_cache_bytes() != 0) {
      mistakes.push_back({line, "worker_settings.no_record_cache", "contradicts record_cache_bytes"});
    }
    worker->set_record_cache_bytes(0);
    worker->clear_no_record_cache();
  }
  AddRules(lines, CheckDaemonConfig(*config), &mistakes);
  return mistakes;
}

absl::StatusOr<v1::DaemonConfig> LoadDaemonConfig(const std::string& path, std::vector<std::string>* warnings) {
  PS_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxConfigBytes));
  v1::DaemonConfig config;
  std::vector<Mistake> renamed;
  PS_RETURN_IF_ERROR(MistakesToStatus(path, CheckDaemonConfigText(text, &config, &renamed)));
  for (std::string& line : MistakeLines(path, renamed)) warnings->push_back(std::move(line));
  return config;
}

namespace {

uint64_t MemoryLimitOf(DaemonRole role, const MemoryLimit& memory, uint64_t budget) {
  if (role == DaemonRole::kCoordinator) return memory.bytes / 2;
  const uint64_t rest = memory.bytes - std::min(memory.bytes, budget);
  return budget + std::min(kBesidesBudget, std::max(kBesidesBudget / 4, rest / 4 * 3));
}

void FillLimits(uint64_t memory_bytes, v1::LimitsConfig* limits) {
  if (limits->memory_bytes() == 0) limits->set_memory_bytes(memory_bytes);
  if (limits->connections_per_host() == 0) limits->set_connections_per_host(1024);
  if (limits->connections_per_second() == 0) limits->set_connections_per_second(100);
  if (limits->handshake_seconds() == 0) limits->set_handshake_seconds(10);
  if (limits->calls_per_second() == 0) limits->set_calls_per_second(2000);
  if (limits->sessions_per_host() == 0) limits->set_sessions_per_host(4096);
  if (limits->sessions_per_name() == 0) limits->set_sessions_per_name(16384);
  if (limits->unread_seconds() == 0) limits->set_unread_seconds(10);
  if (limits->socket_streams_per_user() == 0) limits->set_socket_streams_per_user(64);
}

}  // namespace

void FillDaemonDefaults(DaemonRole role, const MemoryLimit& memory, v1::DaemonConfig* config) {
  if (config->listen().empty()) {
    config->set_listen(role == DaemonRole::kWorker ? "127.0.0.1:0" : "127.0.0.1:7070");
  }
  if (config->coordinator().empty()) config->set_coordinator("localhost:7070");
  for (v1::DataRootConfig& root : *config->mutable_data_root()) {
    if (root.name().empty()) root.set_name(LastComponent(root.path()));
  }
  v1::CoordinatorConfig* times = config->mutable_coordinator_settings();
  if (times->heartbeat_ms() == 0) times->set_heartbeat_ms(kHeartbeatMs);
  if (times->dead_after_ms() == 0) times->set_dead_after_ms(std::max(kDeadAfterMs, 2 * times->heartbeat_ms()));
  if (times->ticket_hours() == 0) times->set_ticket_hours(kTicketHours);
  v1::WorkerConfig* worker = config->mutable_worker_settings();
  if (worker->memory_budget_bytes() == 0) {
    worker->set_memory_budget_bytes(std::max(kLeastBudget, memory.bytes / 2));
  }
  const uint64_t decoded = std::min(worker->memory_budget_bytes(), worker->decoded_cache_bytes());
  if (!worker->has_row_cache_bytes()) {
    const uint64_t taken = std::min(worker->memory_budget_bytes(), decoded + worker->record_cache_bytes());
    worker->set_row_cache_bytes(
        std::min(worker->memory_budget_bytes() / 16, (worker->memory_budget_bytes() - taken) / 4));
  }
  if (!worker->has_record_cache_bytes()) {
    const uint64_t left = worker->memory_budget_bytes() - decoded -
                          std::min(worker->memory_budget_bytes() - decoded, worker->row_cache_bytes());
    worker->set_record_cache_bytes(std::min(worker->memory_budget_bytes() / 4, left / 2));
  }
  if (worker->max_sessions() == 0) worker->set_max_sessions(kMaxSessions);
  if (worker->drain_timeout_ms() == 0) worker->set_drain_timeout_ms(kDrainTimeoutMs);
  FillLimits(MemoryLimitOf(role, memory, worker->memory_budget_bytes()), config->mutable_limits());
  if (config->log().level().empty()) config->mutable_log()->set_level("info");
}

}  // namespace penstock::config
