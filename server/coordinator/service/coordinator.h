// A running coordinator: state, store and RPCs.
#ifndef PENSTOCK_SERVER_COORDINATOR_SERVICE_COORDINATOR_H_
#define PENSTOCK_SERVER_COORDINATOR_SERVICE_COORDINATOR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace penstock {

struct CoordinatorOptions {
  std::string listen = "127.0.0.1:7070";  // HOST:PORT; port 0: any free one
  // Made when needed: coordinator.lock, coordinator.db (SQLite) and indexes/content/.
  std::string state_dir;
  bool insecure = false;  // plaintext on other addresses than loopback is allowed
  uint32_t heartbeat_ms = 1000;
  uint32_t dead_after_ms = 3000;  // at least twice heartbeat_ms
};

// Thread-safe.
class Coordinator {
 public:
  // Serves when it returns. Everything that can go wrong is said here, with nothing left running: a busy port, a state
  // directory that is used by another coordinator or cannot be written, a damaged store, plaintext on a network.
  static absl::StatusOr<std::unique_ptr<Coordinator>> Start(const CoordinatorOptions& options);

  // Shutdown().
  ~Coordinator();

  int port() const;
  std::string address() const;  // HOST:PORT that it listens on

  // Answers what has come, lets watchers go, stores what is to be stored, and stops listening. Returns when nothing
  // runs any more (within about two seconds). The second call does nothing.
  void Shutdown();

 private:
  struct Parts;
  explicit Coordinator(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_SERVICE_COORDINATOR_H_
