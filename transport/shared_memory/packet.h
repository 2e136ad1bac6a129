// The packets of the carrier's socket. They are read once, from a copy, and checked whole: what says where bytes lie
// does not lie where the other side can write.
//
//   WELCOME   worker  the first: version, whose worker it is, the ring's size; with the ring's descriptor
//   PARTS     both    a piece of a message: bytes, and, from the worker, places in its ring or a file; the last says so
//   FILE      worker  before the first place in it: a file's size, with its descriptor; they are counted from 0
//   RELEASE   client  the slices of a message (they are counted from 0) lie in the ring no longer than to here
//   CLOSE     worker  the end, with its status; the last
//
// Numbers are little-endian.
#ifndef PENSTOCK_TRANSPORT_SHARED_MEMORY_PACKET_H_
#define PENSTOCK_TRANSPORT_SHARED_MEMORY_PACKET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

constexpr uint32_t kSharedMemoryVersion = 2;
// Longer ones are not sent: a socket's buffer of the system's usual size holds several.
constexpr size_t kMostPacketBytes = 48 << 10;
// Of a stream: what a client maps.
constexpr uint32_t kMostFiles = 1024;

struct WelcomePacket {
  uint32_t version = 0;
  uint64_t ring_bytes = 0;
  std::string worker;  // its id
};

struct FilePacket {
  uint64_t bytes = 0;
};

// Bytes of a message: in the packet, in the ring, or in a file.
struct MessagePart {
  std::string_view bytes;             // in the packet; empty: elsewhere
  std::optional<uint32_t> file = {};  // none: in the ring
  uint64_t from = 0;
  uint64_t size = 0;
};
struct PartsPacket {
  bool last = false;
  std::vector<MessagePart> parts;
};

struct ReleasePacket {
  uint64_t message = 0;
};

struct ClosePacket {
  absl::Status status;
};

using Packet = std::variant<WelcomePacket, PartsPacket, FilePacket, ReleasePacket, ClosePacket>;

// InvalidArgument says what is wrong. Views into `bytes`.
absl::StatusOr<Packet> ParsePacket(std::string_view bytes);

std::string WelcomeBytes(const WelcomePacket& welcome);
std::string FileBytes(const FilePacket& file);
std::string ReleaseBytes(const ReleasePacket& release);
// The words are cut where they are very long.
std::string CloseBytes(const absl::Status& status);

// Fills a PARTS packet.
class PartsBytes {
 public:
  PartsBytes();
  // As many of the bytes as there is room for: how many.
  size_t Add(std::string_view bytes);
  // False: there is no room.
  bool AddPlace(uint64_t from, uint64_t size);
  bool AddFilePlace(uint32_t file, uint64_t from, uint64_t size);
  bool empty() const;
  // Leaves it empty.
  std::string Take(bool last);

 private:
  std::string packet_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_PACKET_H_
