#include "server/daemon_options.h"

#include <google/protobuf/text_format.h>

#include <cstdlib>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/near_name.h"
#include "base/status_macros.h"
#include "base/url.h"
#include "config/flags.h"
#include "pipeline/storage/files.h"

namespace penstock::server {
namespace {

const std::vector<std::string>& RoleNames() {
  static const auto* names = new std::vector<std::string>{"standalone", "coordinator", "worker"};
  return *names;
}

// Values of the flags; empty or zero for flags that are not given.
struct Given {
  std::string config, listen, http, name, advertise, coordinator, state_dir, log_level, port_file, socket_dir,
      socket_group, socket_users;
  std::vector<std::string> data_roots;
  std::string audit, tls_cert, tls_key, tls_ca, tls_clients, tls_name, tokens, token_file;
  bool insecure = false, log_json = false, core_dumps = false;
  uint64_t threads = 0, read_threads = 0, memory_budget = 0, record_cache = 0, decoded_cache = 0, row_cache = 0,
           disk_cache_size = 0;
  std::string disk_cache, wire_compression, wire_connections;
};

void AddFlags(Given* given, config::Flags* flags) {
  flags->AddString("config", &given->config, "FILE", "textproto configuration; flags override it");
  flags->AddString("listen", &given->listen, "HOST:PORT",
                   "where to listen; port 0 is any free one (127.0.0.1:7070, a worker 127.0.0.1:0)");
  flags->AddString(
      "advertise", &given->advertise, "HOST:PORT",
      "what others connect to, where that is not the listening address; a coordinator shows it in the commands of "
      "its web page");
  flags->AddString("http", &given->http, "HOST:PORT",
                   "where to serve health checks and status over HTTP, such as 127.0.0.1:7072; port 0 is any free one, "
                   "which the log names (none)");
  flags->AddString("name", &given->name, "NAME",
                   "worker: what `penstock status`, `explain` and trainers call it (its host and port)");
  flags->AddSwitch("insecure", &given->insecure,
                   "allow plaintext on other addresses than loopback: only on a network that you trust");
  flags->AddString("tls-cert", &given->tls_cert, "FILE",
                   "serve TLS with this certificate in PEM, followed by its intermediates; changed files take effect "
                   "by themselves (plaintext)");
  flags->AddString("tls-key", &given->tls_key, "FILE", "the certificate's private key in PEM, without a password");
  flags->AddString("tls-ca", &given->tls_ca, "FILE",
                   "the authorities, in PEM, that sign the certificates of the coordinator and of clients; system: "
                   "those that this host trusts");
  flags->AddString(
      "tls-clients", &given->tls_clients, "auto|certificate|any",
      "whether clients need a certificate; auto: if --tls-ca is a file, and tokens or tickets do not name them (auto)");
  flags->AddString("tls-name", &given->tls_name, "NAME",
                   "worker: the name in its certificate, which clients verify (the host of --advertise)");
  flags->AddString(
      "tokens", &given->tokens, "FILE",
      "names, roles and tokens of callers; a caller without a line is rejected. `penstock token` makes lines, and "
      "a changed file takes effect without a restart. A worker uses it for --http only (every caller may do "
      "everything)");
  flags->AddString("token-file", &given->token_file, "FILE",
                   "worker: the file of its own token, where the coordinator has --tokens ($PENSTOCK_TOKEN_FILE)");
  flags->AddString("coordinator", &given->coordinator, "HOST:PORT",
                   "worker: the coordinator; the worker keeps trying to register (localhost:7070)");
  flags->AddStrings(
      "data-root", &given->data_roots, "[NAME=]DIR",
      "a folder that contains data sets; may be repeated. NAME must be the same on every worker (the folder's "
      "last component)");
  flags->AddString("state-dir", &given->state_dir, "DIR",
                   "indexes, the coordinator's store, the worker's identity (~/.local/state/penstock); each daemon "
                   "of a role needs one of its own");
  flags->AddString(
      "socket-dir", &given->socket_dir, "DIR",
      "worker: the folder of its socket for trainers on this host, whose rows go through shared memory; '' "
      "for none ($RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR/penstock, /run/penstock or /tmp/penstock-UID)");
  flags->AddString("socket-group", &given->socket_group, "GROUP",
                   "worker: a group whose members' trainers may use that socket too, if the coordinator has --tokens "
                   "(none: the worker's user and root)");
  flags->AddString("socket-users", &given->socket_users, "own|any",
                   "worker: any: trainers of every user may use that socket, if the coordinator has --tokens (own)");
  flags->AddUint("threads", &given->threads, "N",
                 "threads that make rows (the CPUs of the cgroup's quota, and fewer while others need them)");
  flags->AddUint("read-threads", &given->read_threads, "N",
                 "threads that only read, for network file systems whose reads take milliseconds; 0: the others read "
                 "(found while rows are made)");
  flags->AddBytes("memory-budget", &given->memory_budget, "BYTES",
                  "rows, caches and all that making rows takes, as 4GiB (half of the cgroup's memory)");
  flags->AddBytes("record-cache", &given->record_cache, "BYTES",
                  "part of the budget for stored records; 0 for none (a quarter, then the size that proves best)");
  flags->AddBytes("decoded-cache", &given->decoded_cache, "BYTES",
                  "part of the budget for decoded images (none, then the size that proves best)");
  flags->AddBytes(
      "row-cache", &given->row_cache, "BYTES",
      "part of the budget for finished rows: of jobs that draw nothing, and of several readers of one job; 0 for "
      "none (a sixteenth, then the size that proves best)");
  flags->AddString(
      "disk-cache", &given->disk_cache, "DIR",
      "a folder on a local disk, for this worker alone, that keeps records of slow storage across restarts (none)");
  flags->AddBytes("disk-cache-size", &given->disk_cache_size, "BYTES",
                  "maximum size of that folder (half of the disk's free space)");
  flags->AddString(
      "wire-compression", &given->wire_compression, "auto|off|on",
      "lossless compression of rows to other hosts; auto: if a stream's link limits it and compression increases "
      "the rate (auto)");
  flags->AddString(
      "wire-connections", &given->wire_connections, "auto|N",
      "connections of each stream to another host, at most 8; auto: up to 4, as long as they increase the rate "
      "(auto)");
  flags->AddString("log-level", &given->log_level, "trace|debug|info|warn|error",
                   "least severe lines that it logs (info)");
  flags->AddSwitch("log-json", &given->log_json, "one JSON object a line");
  flags->AddString(
      "audit", &given->audit, "FILE",
      "append a JSON line for each control call (submit, cancel, pause, resume, delete, purge, trace, support, drain, "
      "revoke) and each rejected call or HTTP request (none)");
  flags->AddSwitch("core-dumps", &given->core_dumps, "allow core dumps, which contain keys and rows");
  flags->AddString("port-file", &given->port_file, "FILE", "write the bound port there when ready (for scripts)");
}

absl::Status Override(const Given& given, const config::Flags& flags, v1::DaemonConfig* config) {
  if (flags.Given("listen")) config->set_listen(given.listen);
  if (flags.Given("advertise")) config->set_advertise(given.advertise);
  if (flags.Given("http")) config->set_http(given.http);
  v1::TlsConfig* tls = config->mutable_tls();
  if (flags.Given("tls-cert")) tls->set_cert(given.tls_cert);
  if (flags.Given("tls-key")) tls->set_key(given.tls_key);
  if (flags.Given("tls-ca")) tls->set_ca(given.tls_ca);
  if (flags.Given("tls-name")) tls->set_worker_name(given.tls_name);
  if (flags.Given("tls-clients")) {
    v1::TlsClients clients;
    if (!v1::TlsClients_Parse(absl::StrCat("TLS_CLIENTS_", absl::AsciiStrToUpper(given.tls_clients)), &clients)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--tls-clients: '", given.tls_clients, "' is not one of auto, certificate, any"));
    }
    tls->set_clients(clients);
  }
  if (flags.Given("tokens")) config->set_tokens(given.tokens);
  if (flags.Given("token-file")) config->set_token_file(given.token_file);
  if (flags.Given("insecure")) config->set_insecure(given.insecure);
  if (flags.Given("audit")) config->set_audit(given.audit);
  if (flags.Given("core-dumps")) config->set_core_dumps(given.core_dumps);
  if (flags.Given("coordinator")) config->set_coordinator(given.coordinator);
  if (flags.Given("state-dir")) config->set_state_dir(given.state_dir);
  if (flags.Given("log-level")) config->mutable_log()->set_level(given.log_level);
  if (flags.Given("log-json")) config->mutable_log()->set_json(given.log_json);
  v1::WorkerConfig* worker = config->mutable_worker_settings();
  if (flags.Given("name")) worker->set_name(given.name);
  if (flags.Given("threads")) worker->set_threads(static_cast<uint32_t>(std::min<uint64_t>(given.threads, 1u << 20)));
  if (flags.Given("read-threads")) {
    worker->set_read_threads(static_cast<uint32_t>(std::min<uint64_t>(given.read_threads, 1u << 20)));
  }
  if (flags.Given("socket-dir")) worker->set_socket_dir(given.socket_dir);
  if (flags.Given("socket-group")) worker->set_socket_group(given.socket_group);
  if (flags.Given("socket-users")) {
    v1::SocketUsers users;
    if (!v1::SocketUsers_Parse(absl::StrCat("SOCKET_USERS_", absl::AsciiStrToUpper(given.socket_users)), &users)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--socket-users: '", given.socket_users, "' is not one of own, any"));
    }
    worker->set_socket_users(users);
  }
  if (flags.Given("memory-budget")) worker->set_memory_budget_bytes(given.memory_budget);
  if (flags.Given("record-cache")) worker->set_record_cache_bytes(given.record_cache);
  if (flags.Given("decoded-cache")) worker->set_decoded_cache_bytes(given.decoded_cache);
  if (flags.Given("row-cache")) worker->set_row_cache_bytes(given.row_cache);
  if (flags.Given("wire-compression")) {
    v1::WireCompression mode;
    if (!v1::WireCompression_Parse(absl::StrCat("WIRE_COMPRESSION_", absl::AsciiStrToUpper(given.wire_compression)),
                                   &mode)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--wire-compression: '", given.wire_compression, "' is not one of auto, off, on"));
    }
    worker->set_wire_compression(mode);
  }
  if (flags.Given("wire-connections")) {
    uint32_t connections = 0;
    if (given.wire_connections != "auto" && (!absl::SimpleAtoi(given.wire_connections, &connections) ||
                                             connections < 1 || connections > config::kMaxWireConnections)) {
      return absl::InvalidArgumentError(absl::StrCat("--wire-connections: '", given.wire_connections,
                                                     "' is neither auto nor a number from 1 to ",
                                                     config::kMaxWireConnections));
    }
    worker->set_wire_connections(connections);
  }
  if (flags.Given("disk-cache")) worker->set_disk_cache_dir(given.disk_cache);
  if (flags.Given("disk-cache-size")) worker->set_disk_cache_bytes(given.disk_cache_size);
  return absl::OkStatus();
}

constexpr char kExamples[] =
    "On one machine:\n"
    "  penstockd standalone --data-root /data\n"
    "On several:\n"
    "  penstockd coordinator --listen 10.0.0.1:7070 --insecure\n"
    "  penstockd worker --coordinator 10.0.0.1:7070 --listen 10.0.0.2:0 --insecure --data-root /data\n"
    "With TLS instead of --insecure: --tls-cert FILE --tls-key FILE --tls-ca FILE, on each.\n"
    "Then, anywhere: penstock submit JOB.textproto (penstock --help).\n"
    "`penstock check-config FILE` lists all mistakes in a configuration file.\n";

// Compares the caches with a memory budget that the user did not set. CheckDaemonConfig compares them with a set one.
absl::Status CheckCaches(const v1::WorkerConfig& worker, const std::string& budget_source) {
  const uint64_t budget = worker.memory_budget_bytes();
  uint64_t left = budget;
  for (const uint64_t bytes : {worker.record_cache_bytes(), worker.decoded_cache_bytes(), worker.row_cache_bytes()}) {
    if (bytes > left) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the caches need more than the memory budget of ", budget, " bytes (", budget_source, "), which holds them: ",
          "record_cache_bytes ", worker.record_cache_bytes(), ", decoded_cache_bytes ", worker.decoded_cache_bytes(),
          ", row_cache_bytes ", worker.row_cache_bytes(), ". Make them smaller, or set --memory-budget"));
    }
    left -= bytes;
  }
  return absl::OkStatus();
}

}  // namespace

std::string DefaultStateDir() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  // systemd lists several, separated by colons; the first belongs to the daemon.
  if (const std::string dir = variable("STATE_DIRECTORY"); !dir.empty()) return dir.substr(0, dir.find(':'));
  if (const std::string dir = variable("XDG_STATE_HOME"); !dir.empty()) return dir + "/penstock";
  if (const std::string dir = variable("HOME"); !dir.empty()) return dir + "/.local/state/penstock";
  return "/var/lib/penstock";
}

absl::StatusOr<DaemonOptions> ParseDaemonCommandLine(const std::vector<std::string>& arguments,
                                                     const MemoryLimit& memory) {
  Given given;
  config::Flags flags;
  AddFlags(&given, &flags);
  PS_ASSIGN_OR_RETURN(const std::vector<std::string> words, flags.Parse(arguments));
  if (words.empty()) {
    return absl::InvalidArgumentError("the role is missing: penstockd standalone | coordinator | worker");
  }
  DaemonOptions options;
  if (words[0] == "standalone") {
    options.role = config::DaemonRole::kStandalone;
  } else if (words[0] == "coordinator") {
    options.role = config::DaemonRole::kCoordinator;
  } else if (words[0] == "worker") {
    options.role = config::DaemonRole::kWorker;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("'", words[0], "' is not standalone, coordinator or worker", DidYouMean(words[0], RoleNames())));
  }
  if (words.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", words[1], "': unexpected argument after ", words[0],
                     flags.Given("data-root") ? "; --data-root takes one folder and may be repeated" : ""));
  }
  if (!given.config.empty()) {
    PS_ASSIGN_OR_RETURN(options.config, config::LoadDaemonConfig(given.config, &options.warnings));
  }
  PS_RETURN_IF_ERROR(Override(given, flags, &options.config));
  if (flags.Given("data-root")) options.config.clear_data_root();
  std::vector<std::string> specs = given.data_roots;
  for (const v1::DataRootConfig& root : options.config.data_root()) {
    specs.push_back(root.name().empty() ? root.path() : absl::StrCat(root.name(), "=", root.path()));
  }
  if (options.role != config::DaemonRole::kCoordinator) {
    if (specs.empty()) {
      return absl::InvalidArgumentError(
          "no data root: name the folder that contains the data sets with --data-root DIR, or data_root in the "
          "configuration");
    }
    PS_ASSIGN_OR_RETURN(options.roots, sources::ParseDataRoots(storage::AnyFiles(), specs));
  }
  PS_RETURN_IF_ERROR(config::MistakesToStatus(given.config.empty() ? "command line" : given.config,
                                              config::CheckDaemonConfig(options.config)));
  if (const v1::TlsConfig& tls = options.config.tls();
      options.role == config::DaemonRole::kWorker && !tls.cert().empty() && tls.ca().empty()) {
    return absl::InvalidArgumentError(
        "a worker with a certificate connects to its coordinator by TLS: name the CA of the coordinator's certificate "
        "with --tls-ca (tls.ca in the configuration)");
  }
  const v1::WorkerConfig& said = options.config.worker_settings();
  options.record_cache_pinned = said.has_record_cache_bytes();
  options.decoded_cache_pinned = said.has_decoded_cache_bytes();
  options.row_cache_pinned = said.has_row_cache_bytes();
  options.memory_budget_source = flags.Given("memory-budget") ? "--memory-budget"
                                 : said.memory_budget_bytes() > 0
                                     ? absl::StrCat("memory_budget_bytes in ", given.config)
                                     : absl::StrCat("half of ", memory.bytes >> 20, " MiB, ", memory.source);
  config::FillDaemonDefaults(options.role, memory, &options.config);
  if (options.role != config::DaemonRole::kCoordinator) {
    PS_RETURN_IF_ERROR(CheckCaches(options.config.worker_settings(), options.memory_budget_source));
  }
  if (options.config.state_dir().empty()) options.config.set_state_dir(DefaultStateDir());
  options.port_file = given.port_file;
  return options;
}

std::string DaemonHelp(const std::string& role) {
  Given given;
  config::Flags flags;
  AddFlags(&given, &flags);
  const std::string what =
      role == "worker"
          ? "A worker reads the datasets below its data roots, makes rows and serves them to trainers. It registers\n"
            "with the coordinator, and keeps serving while the coordinator is down. SIGTERM drains it: others take "
            "over its\n"
            "part first. A second SIGTERM ends it at once.\n"
      : role == "coordinator"
          ? "The coordinator knows jobs and workers and assigns rows to workers. It reads no data, and trainers keep\n"
            "running while it is down.\n"
      : role == "standalone" ? "Coordinator and one worker in one process: all that one machine needs.\n"
                             : "standalone    coordinator and one worker in one process\n"
                               "coordinator   knows jobs and workers; one for a cluster\n"
                               "worker        reads data and serves rows; any number of them\n";
  return absl::StrCat("usage: penstockd ", role.empty() ? "standalone|coordinator|worker" : role, " [FLAGS]\n\n", what,
                      "\nflags (defaults in parentheses):\n", flags.Help(), "\n", kExamples);
}

config::ProgramText DaemonProgramText(const std::string& version) {
  Given given;
  config::Flags flags;
  AddFlags(&given, &flags);
  config::ProgramText program;
  program.name = "penstockd";
  program.version = version;
  program.section = 8;
  program.summary = "the daemon of Penstock: coordinator, worker, or both";
  program.synopsis = "standalone|coordinator|worker [FLAGS]";
  program.description = absl::StrCat(
      "The coordinator knows jobs and workers and assigns rows to workers. A worker reads the data sets below its "
      "data\n"
      "roots, makes rows and serves them to trainers. SIGTERM drains a worker: others take over its part first. A "
      "second\n"
      "SIGTERM ends it at once.\n\n",
      kExamples, "`penstockd manual --out DIR` writes this page, and completions for bash and zsh.\n");
  program.flags = flags.Texts();
  program.commands = {
      {"standalone", "[flags]", "coordinator and one worker in one process: all that one machine needs", "", {}},
      {"coordinator", "[flags]", "knows jobs and workers; one for a cluster", "", {}},
      {"worker", "[flags]", "reads data and serves rows; any number of them", "", {}},
  };
  program.see_also = {"penstock(1)"};
  return program;
}

std::string ConfigurationForSupport(const DaemonOptions& options) {
  v1::DaemonConfig config = options.config;
  config.clear_data_root();
  for (const sources::DataRoot& root : options.roots) {
    v1::DataRootConfig* const shown = config.add_data_root();
    shown->set_name(root.name);
    shown->set_path(absl::StrContains(root.path, "://") ? UrlForShow(root.path) : root.path);
  }
  std::string text;
  google::protobuf::TextFormat::PrintToString(config, &text);
  return text;
}

}  // namespace penstock::server
