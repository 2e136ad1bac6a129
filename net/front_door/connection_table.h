// The open connections of a server by host, and the limits on them. Pure.
#ifndef PENSTOCK_NET_FRONT_DOOR_CONNECTION_TABLE_H_
#define PENSTOCK_NET_FRONT_DOOR_CONNECTION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/runtime/clock.h"
#include "base/runtime/rate_table.h"

namespace penstock::net {

struct ConnectionLimits {
  uint32_t per_host = 1024;             // open at once
  uint32_t per_second = 100;            // new ones of a host on average, and ten times as many at once
  uint32_t total = 0;                   // open at once, of all hosts; 0: three quarters of OpenFileLimit()
  Nanos handshake_time = 10 * kSecond;  // until the TLS and HTTP/2 handshakes of a connection end
};

// gRPC closes connections without a notification, so the table asks which connections are still open: when a limit is
// reached, and otherwise at most once a second. Not thread-safe.
class ConnectionTable {
 public:
  struct Connection {
    int fd;
    uint64_t socket;  // identifies the socket, because the system reuses descriptors
  };
  using IsOpen = absl::FunctionRef<bool(const Connection&)>;

  // `limits.total` must not be 0.
  explicit ConnectionTable(const ConnectionLimits& limits);

  // Decides about a new connection of `host`. Returns "" if the server accepts it, otherwise the reason in words.
  std::string Admit(const std::string& host, Nanos now, IsOpen is_open);
  // Rejects new connections of the host until `until`.
  void Block(const std::string& host, Nanos until);
  // Adds an accepted connection. It replaces one with the same descriptor, which must have closed.
  void Add(const Connection& connection, const std::string& host);
  // Returns the connections of the host, also some that have closed.
  std::vector<Connection> Of(const std::string& host) const;

  struct Sender {
    Connection connection;
    std::string host;
    uint64_t bytes;  // received from it
  };
  // Returns the connection from which the most bytes have arrived since the last call. `received` returns the bytes of
  // a connection since its beginning, or 0 if it has closed. Returns nullopt in the very first call, in the first call
  // after ForgetReceived, and if no bytes have arrived.
  std::optional<Sender> LargestSender(absl::FunctionRef<uint64_t(const Connection&)> received);
  void ForgetReceived() { compares_ = false; }
  size_t size() const { return open_.size(); }

 private:
  struct Entry {
    uint64_t socket;
    std::string host;
    uint64_t received = 0;  // by the last call of LargestSender
  };

  void Remove(std::unordered_map<int, Entry>::iterator entry);
  void RemoveClosed(IsOpen is_open);
  uint32_t CountOf(const std::string& host) const;

  const ConnectionLimits limits_;
  RateTable new_ones_;
  std::unordered_map<int, Entry> open_;     // by descriptor
  std::map<std::string, Nanos> blocked_;    // by host
  std::map<std::string, uint32_t> counts_;  // by host
  Nanos checked_ = 0;
  bool compares_ = false;  // LargestSender has been called since ForgetReceived
};

}  // namespace penstock::net

#endif  // PENSTOCK_NET_FRONT_DOOR_CONNECTION_TABLE_H_
