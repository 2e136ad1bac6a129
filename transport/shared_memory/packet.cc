#include "transport/shared_memory/packet.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::transport {
namespace {

enum Kind : uint8_t { kWelcome = 1, kParts = 2, kRelease = 3, kClose = 4, kFile = 5, kTicket = 6 };
enum PartKind : uint8_t { kBytes = 1, kPlace = 2, kFilePlace = 3 };

constexpr size_t kMostWords = 4096;
constexpr size_t kMostWorkerId = 256;
constexpr size_t kPartsFront = 2;   // kind, last
constexpr size_t kBytesFront = 5;   // kind, size
constexpr size_t kPlaceBytes = 17;  // kind, from, size
constexpr size_t kFilePlaceBytes = kPlaceBytes + 4;

void Put(uint64_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

// Reads a packet sequentially.
class Reading {
 public:
  explicit Reading(std::string_view bytes) : bytes_(bytes) {}
  bool Number(int bytes, uint64_t* value) {
    if (bytes_.size() < static_cast<size_t>(bytes)) return false;
    *value = 0;
    for (int i = 0; i < bytes; ++i) *value |= uint64_t{static_cast<uint8_t>(bytes_[i])} << (8 * i);
    bytes_.remove_prefix(bytes);
    return true;
  }
  bool Bytes(uint64_t size, std::string_view* out) {
    if (bytes_.size() < size) return false;
    *out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }
  std::string_view Rest() { return std::exchange(bytes_, {}); }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

absl::Status Cut(const char* what) { return absl::InvalidArgumentError(absl::StrCat("a ", what, " packet cut short")); }

absl::StatusOr<Packet> ParseParts(Reading reading) {
  PartsPacket packet;
  uint64_t last = 0;
  if (!reading.Number(1, &last) || last > 1) return Cut("message");
  packet.last = last == 1;
  while (!reading.empty()) {
    uint64_t kind = 0, size = 0;
    MessagePart part;
    reading.Number(1, &kind);
    if (kind == kBytes) {
      if (!reading.Number(4, &size) || size == 0 || !reading.Bytes(size, &part.bytes)) return Cut("message");
    } else if (kind == kPlace || kind == kFilePlace) {
      uint64_t file = 0;
      if (kind == kFilePlace) {
        if (!reading.Number(4, &file)) return Cut("message");
        part.file = static_cast<uint32_t>(file);
      }
      if (!reading.Number(8, &part.from) || !reading.Number(8, &part.size) || part.size == 0) return Cut("message");
    } else {
      return absl::InvalidArgumentError(absl::StrCat("a message packet with a part of kind ", kind));
    }
    packet.parts.push_back(part);
  }
  return packet;
}

}  // namespace

absl::StatusOr<Packet> ParsePacket(std::string_view bytes) {
  Reading reading(bytes);
  uint64_t kind = 0;
  if (!reading.Number(1, &kind)) return absl::InvalidArgumentError("an empty packet");
  switch (kind) {
    case kTicket: {
      const TicketPacket packet{reading.Rest()};
      if (packet.ticket.size() > kMostTicketBytes) return absl::InvalidArgumentError("a packet with a long ticket");
      return packet;
    }
    case kWelcome: {
      WelcomePacket packet;
      uint64_t version = 0;
      if (!reading.Number(4, &version) || !reading.Number(8, &packet.ring_bytes)) return Cut("welcome");
      packet.version = static_cast<uint32_t>(version);
      packet.worker = std::string(reading.Rest());
      if (packet.worker.size() > kMostWorkerId) return absl::InvalidArgumentError("a welcome packet with a long name");
      return packet;
    }
    case kParts:
      return ParseParts(reading);
    case kFile: {
      FilePacket packet;
      if (!reading.Number(8, &packet.bytes) || !reading.empty()) return Cut("file");
      return packet;
    }
    case kRelease: {
      ReleasePacket packet;
      if (!reading.Number(8, &packet.message) || !reading.empty()) return Cut("release");
      return packet;
    }
    case kClose: {
      uint64_t code = 0;
      if (!reading.Number(1, &code)) return Cut("close");
      const std::string_view words = reading.Rest();
      if (code > 16 || words.size() > kMostWords) {
        return absl::InvalidArgumentError(absl::StrCat("a close packet with code ", code));
      }
      return ClosePacket{absl::Status(static_cast<absl::StatusCode>(code), std::string(words))};
    }
    default:
      return absl::InvalidArgumentError(absl::StrCat("a packet of kind ", kind));
  }
}

std::string TicketBytes(std::string_view ticket) {
  std::string out(1, static_cast<char>(kTicket));
  out.append(ticket);
  return out;
}

std::string WelcomeBytes(const WelcomePacket& welcome) {
  std::string out(1, static_cast<char>(kWelcome));
  Put(welcome.version, 4, &out);
  Put(welcome.ring_bytes, 8, &out);
  return out + welcome.worker;
}

std::string FileBytes(const FilePacket& file) {
  std::string out(1, static_cast<char>(kFile));
  Put(file.bytes, 8, &out);
  return out;
}

std::string ReleaseBytes(const ReleasePacket& release) {
  std::string out(1, static_cast<char>(kRelease));
  Put(release.message, 8, &out);
  return out;
}

std::string CloseBytes(const absl::Status& status) {
  std::string out(1, static_cast<char>(kClose));
  Put(static_cast<uint64_t>(status.code()), 1, &out);
  return absl::StrCat(out, status.message().substr(0, kMostWords));
}

PartsBytes::PartsBytes() : packet_(kPartsFront, static_cast<char>(kParts)) {}

bool PartsBytes::empty() const { return packet_.size() == kPartsFront; }

size_t PartsBytes::Add(std::string_view bytes) {
  if (bytes.empty() || packet_.size() + kBytesFront >= kMostPacketBytes) return 0;
  const size_t size = std::min(bytes.size(), kMostPacketBytes - packet_.size() - kBytesFront);
  packet_.push_back(static_cast<char>(kBytes));
  Put(size, 4, &packet_);
  packet_.append(bytes.data(), size);
  return size;
}

bool PartsBytes::AddPlace(uint64_t from, uint64_t size) {
  if (packet_.size() + kPlaceBytes > kMostPacketBytes) return false;
  packet_.push_back(static_cast<char>(kPlace));
  Put(from, 8, &packet_);
  Put(size, 8, &packet_);
  return true;
}

bool PartsBytes::AddFilePlace(uint32_t file, uint64_t from, uint64_t size) {
  if (packet_.size() + kFilePlaceBytes > kMostPacketBytes) return false;
  packet_.push_back(static_cast<char>(kFilePlace));
  Put(file, 4, &packet_);
  Put(from, 8, &packet_);
  Put(size, 8, &packet_);
  return true;
}

std::string PartsBytes::Take(bool last) {
  packet_[1] = last ? 1 : 0;
  return std::exchange(packet_, std::string(kPartsFront, static_cast<char>(kParts)));
}

}  // namespace penstock::transport
