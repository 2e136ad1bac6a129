// The release of this program, and the protocol numbers by which processes of different releases work together.
#ifndef PENSTOCK_BASE_VERSION_H_
#define PENSTOCK_BASE_VERSION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace penstock {

// Returns the version: "0.3.0".
std::string_view Version();

// A range of protocol numbers. Each number names one set of messages and their meaning (docs/dev/protocol.md). A
// process of 0.2 or older sends no range, which is {0, 0}.
struct Protocols {
  uint32_t oldest = 0;
  uint32_t newest = 0;
  bool operator==(const Protocols&) const = default;

  // Returns "3" or "3 to 5".
  std::string ToString() const;
};

// The protocols of this release: those of the previous release, and its own.
inline constexpr Protocols kProtocols = {1, 2};
// The first protocol with dataset.select, names of data sets, and `blend`.
inline constexpr uint32_t kDataProtocol = 2;

// The release of a process, which it sends when it calls or accepts a call.
struct Release {
  std::string version;  // "0.3.0"; "" if it sends none
  Protocols protocols;

  // Returns "penstock 0.3.0 with protocol 1".
  std::string ToString() const;
};

// Returns the release of this program.
Release ThisRelease();

// Returns the highest protocol that both processes have. `who` ("worker w1") is the peer with the release `theirs`, and
// `here` ("the coordinator") this process. Without a common protocol, returns FailedPrecondition, which names both
// releases, both ranges and the remedy.
absl::StatusOr<uint32_t> CommonProtocol(std::string_view who, const Release& theirs, std::string_view here);

}  // namespace penstock

#endif  // PENSTOCK_BASE_VERSION_H_
