// Real penstockd processes, which a test kills, stops and restarts.
#ifndef PENSTOCK_TESTS_SUPPORT_CLUSTER_PROCESS_CLUSTER_H_
#define PENSTOCK_TESTS_SUPPORT_CLUSTER_PROCESS_CLUSTER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "net/tls/certificates.h"
#include "tests/support/cluster/control.h"
#include "tests/support/test_dataset.h"

namespace penstock::support {

// A child process. It dies with the test program.
class Process {
 public:
  // Starts `arguments` with its output in `log`, and with "NAME=VALUE" added to the environment.
  Process(std::vector<std::string> arguments, const std::string& log, std::vector<std::string> environment = {});
  ~Process();  // kill -9

  pid_t pid() const { return pid_; }
  void Signal(int signal);  // after SIGSTOP, returns when all threads have stopped
  // Waits for its end. Returns the exit status, or -signal, or INT_MIN after `timeout`.
  int WaitForExit(std::chrono::milliseconds timeout = std::chrono::minutes(2));
  bool running();
  // Resident or peak resident memory in bytes (VmRSS, VmHWM), or 0 after its end.
  uint64_t Memory(const std::string& which = "VmHWM") const;

 private:
  pid_t pid_ = -1;
  bool reaped_ = false;
  int exit_ = 0;
};

struct ProcessClusterOptions {
  int workers = 1;
  int threads = 1;  // threads of each worker
  std::vector<std::string> coordinator_flags = {};
  std::vector<std::string> worker_flags = {"--memory-budget", "64MiB"};
  // The start of each worker's command line, such as a shell that sets a limit.
  std::vector<std::string> worker_prefix = {};
  std::vector<std::string> coordinator_prefix = {};  // the same for the coordinator
  bool shared_memory = true;                         // for clients on this host, which all clients are
  uint32_t heartbeat_ms = 200;
  uint32_t dead_after_ms = 1000;
  std::string coordinator_config = {};  // further fields of the coordinator's configuration file
  net::TlsFiles tls = {};               // the test's own files, to reach a coordinator with TLS
  std::string token_file = {};          // the test's own token, which must be an operator's
};

class ProcessCluster {
 public:
  // Returns when all workers are ready. On failure it prints the logs and ends the test program.
  ProcessCluster(const ProcessClusterOptions& options, std::vector<sources::DataRoot> roots);
  ~ProcessCluster();

  const std::string& address() const { return address_; }
  Control& control() { return *control_; }

  struct WorkerProcess {
    std::unique_ptr<Process> process;
    std::string id;
    std::string state_dir;
    std::string program;  // penstockd
    std::vector<std::string> arguments;
    std::vector<std::string> environment;
  };
  // Starts one more worker, with its own flags after the common ones, and "NAME=VALUE" in its environment. Returns when
  // it is ready. References to workers are valid until the next one is added.
  WorkerProcess& AddWorker(const std::vector<std::string>& flags = {}, std::vector<std::string> environment = {});
  // Starts one more worker that reads its data from `roots`.
  WorkerProcess& AddWorkerAt(const std::vector<sources::DataRoot>& roots, const std::vector<std::string>& flags = {},
                             std::vector<std::string> environment = {});
  // Kills the worker if it runs, and starts it again as the same worker. Returns when it is ready.
  void RestartWorker(size_t i);
  WorkerProcess& worker(size_t i) { return workers_[i]; }

  // The folder of the workers' sockets, or "" without shared memory.
  std::string socket_dir() const { return options_.shared_memory ? folder_.File("sockets") : ""; }

  Process& coordinator() { return *coordinator_; }
  std::string coordinator_dir() const { return folder_.File("coordinator"); }
  // Kills the coordinator if it runs, and starts it again on the same port with the same state.
  void RestartCoordinator();

  // All logs, for a failing test.
  std::string Logs() const;
  // Returns the address of the first daemon that serves its HTTP port with TLS, or "", which is a failure.
  std::string HttpsAddress() const;

 private:
  void StartCoordinator(const std::string& listen);
  void StartWorker(WorkerProcess* worker);
  void WaitForPort(const std::string& port_file, std::string* port);

  const ProcessClusterOptions options_;
  const std::vector<sources::DataRoot> roots_;
  TempFolder folder_;
  std::string address_;
  std::unique_ptr<Process> coordinator_;
  std::vector<WorkerProcess> workers_;
  std::unique_ptr<Control> control_;
  int starts_ = 0;
};

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_CLUSTER_PROCESS_CLUSTER_H_
