// A running worker: loader, data plane, and its tie to the coordinator.
#ifndef PENSTOCK_SERVER_WORKER_WORKER_H_
#define PENSTOCK_SERVER_WORKER_WORKER_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/loader/loader.h"
#include "pipeline/records/dataset_files.h"
#include "server/worker/stream/wire_compression.h"

namespace penstock {

struct WorkerOptions {
  std::string listen = "127.0.0.1:0";
  std::string advertise;    // host:port that others connect to; "": the address that it listens on
  std::string coordinator;  // host:port
  bool insecure = false;    // plaintext on other addresses than loopback is allowed
  std::vector<DataRoot> roots;
  std::string state_dir;  // worker.lock, worker_id, indexes/
  LoaderOptions loader;
  std::string disk_cache_dir;     // of this worker alone; empty: none
  uint64_t disk_cache_bytes = 0;  // of its files; 0: half of the disk's free space
  // loader.threads is what it begins with, and the most that tuning goes to, unless it is pinned.
  bool threads_pinned = false;
  std::optional<int> read_threads;  // that only read (FarFiles), 0: the loader's read; unless said, found while it runs
  bool index_beside_shards = false;
  // Of the socket for clients of this host, whose rows go through shared memory, which is part of the memory budget;
  // "": none. One that cannot be used is an error, unless it was only guessed.
  std::string socket_dir;
  bool socket_dir_guessed = false;
  WireCompression wire_compression = WireCompression::kAuto;
  uint32_t wire_connections = 0;  // of a stream to another host; 0: as many as bring more, up to a few
  uint32_t max_sessions = 256;
  std::chrono::milliseconds drain_timeout = std::chrono::seconds(60);
};

// Thread-safe.
class Worker {
 public:
  // Serves when it returns; registers in the background, for as long as it takes. Errors: a busy port, a state
  // directory that another worker uses, a budget that the caches fill, plaintext on a network.
  static absl::StatusOr<std::unique_ptr<Worker>> Start(WorkerOptions options);

  // Stop().
  ~Worker();

  const std::string& id() const;
  std::string address() const;  // host:port that it listens on
  int port() const;

  // Waits until it is registered and knows the jobs there are. False after `timeout`.
  bool WaitUntilReady(std::chrono::nanoseconds timeout);

  // Begins to leave: the coordinator moves its ranges, clients are told, and go on getting what they ask for. The
  // worker has left when no stream is open, or drain_timeout has passed. Returns at once.
  void Drain();
  // Waits until it has left, by Drain() (an operator's too) or Stop().
  void WaitUntilLeft();

  // Breaks all streams off and stops. Returns when nothing runs any more, or after some seconds: a thread that hangs in
  // storage is then left behind, with what it uses, until the process ends.
  void Stop();

  // Not after Stop().
  LoaderStats Stats() const;

 private:
  struct Parts;
  explicit Worker(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_WORKER_H_
