// HOST:PORT as people write it.
#ifndef PENSTOCK_NET_ADDRESS_H_
#define PENSTOCK_NET_ADDRESS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace penstock {

// Of a coordinator, where none is said.
inline constexpr uint16_t kCoordinatorPort = 7070;

struct Address {
  std::string host;  // without the brackets of an IPv6 address
  uint16_t port = 0;

  // "host:port", an IPv6 host in brackets: what gRPC and ParseAddress take.
  std::string ToString() const;
  // Whether the host is "localhost", in 127.0.0.0/8, or ::1. Looks nothing up.
  bool IsLoopback() const;
  bool operator==(const Address&) const = default;
};

// "host:port", "1.2.3.4:port", "[::1]:port"; with `default_port` also without ":port". InvalidArgument names what is
// wrong and shows how an address looks. Port 0 is fine here: it means any free port to a listener.
absl::StatusOr<Address> ParseAddress(std::string_view text, std::optional<uint16_t> default_port = std::nullopt);

}  // namespace penstock

#endif  // PENSTOCK_NET_ADDRESS_H_
