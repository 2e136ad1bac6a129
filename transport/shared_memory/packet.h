// The packets of the carrier's socket. The receiver copies each packet once and validates the whole copy, so that the
// peer cannot change a place after the check.
//
//   TICKET    client  first packet, if the client has a ticket: the ticket (WorkerAddress::ticket)
//   WELCOME   worker  first packet: version, worker id and ring size, with the ring's descriptor. A worker that needs
//                     a ticket sends it after the ticket
//   PARTS     both    part of a message: bytes and, from the worker, places in its ring or in a file; a flag marks the
//                     last part
//   FILE      worker  a file's size, with its descriptor, before the first place in it; files are numbered from 0
//   RELEASE   client  the client no longer reads the places of a message; messages are numbered from 0
//   CLOSE     worker  last packet: the status of the stream's end
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

namespace penstock::transport {

constexpr uint32_t kSharedMemoryVersion = 2;
// Largest packet to send. A socket buffer of the usual system size holds several.
constexpr size_t kMostPacketBytes = 48 << 10;
// Maximum number of files of a stream, which a client maps.
constexpr uint32_t kMostFiles = 1024;

// Largest ticket that a client sends.
constexpr size_t kMostTicketBytes = 4096;

struct TicketPacket {
  std::string_view ticket;
};

struct WelcomePacket {
  uint32_t version = 0;
  uint64_t ring_bytes = 0;
  std::string worker;  // worker id
};

struct FilePacket {
  uint64_t bytes = 0;
};

// Bytes of a message in the packet, in the ring, or in a file.
struct MessagePart {
  std::string_view bytes;             // in the packet; empty: elsewhere
  std::optional<uint32_t> file = {};  // nullopt: in the ring
  uint64_t from = 0;                  // place, if `bytes` is empty
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

using Packet = std::variant<TicketPacket, WelcomePacket, PartsPacket, FilePacket, ReleasePacket, ClosePacket>;

// Parses a packet. Returns InvalidArgument with the reason. The result holds views into `bytes`.
absl::StatusOr<Packet> ParsePacket(std::string_view bytes);

std::string TicketBytes(std::string_view ticket);
std::string WelcomeBytes(const WelcomePacket& welcome);
std::string FileBytes(const FilePacket& file);
std::string ReleaseBytes(const ReleasePacket& release);
// Truncates the message of `status` to 4096 bytes.
std::string CloseBytes(const absl::Status& status);

// Builds a PARTS packet.
class PartsBytes {
 public:
  PartsBytes();
  // Adds as many of the bytes as fit, and returns their number.
  size_t Add(std::string_view bytes);
  // Add a place. Return false if there is no room.
  bool AddPlace(uint64_t from, uint64_t size);
  bool AddFilePlace(uint32_t file, uint64_t from, uint64_t size);
  bool empty() const;
  // Returns the packet and clears it.
  std::string Take(bool last);

 private:
  std::string packet_;
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_PACKET_H_
