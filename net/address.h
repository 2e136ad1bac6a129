// Addresses in the form HOST:PORT.
#ifndef PENSTOCK_NET_ADDRESS_H_
#define PENSTOCK_NET_ADDRESS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace penstock::net {

// Default port of a coordinator.
inline constexpr uint16_t kCoordinatorPort = 7070;

struct Address {
  std::string host;  // without the brackets of an IPv6 address
  uint16_t port = 0;

  // Returns "host:port", with brackets around an IPv6 host, as gRPC and ParseAddress accept it.
  std::string ToString() const;
  // Returns true if the host is "localhost", in 127.0.0.0/8, or ::1. Does not resolve names.
  bool IsLoopback() const;
  bool operator==(const Address&) const = default;
};

// Parses "host:port", "1.2.3.4:port" or "[::1]:port". With `default_port`, ":port" may be missing. Returns
// InvalidArgument that names the error and shows a valid address. Port 0 is valid: for a listener it means any free
// port.
absl::StatusOr<Address> ParseAddress(std::string_view text, std::optional<uint16_t> default_port = std::nullopt);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_ADDRESS_H_
