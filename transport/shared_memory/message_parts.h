// Converts between messages and PARTS packets.
#ifndef PENSTOCK_TRANSPORT_SHARED_MEMORY_MESSAGE_PARTS_H_
#define PENSTOCK_TRANSPORT_SHARED_MEMORY_MESSAGE_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "base/block_memory.h"
#include "base/sealed_memory.h"
#include "base/shared_row_files.h"
#include "transport/shared_memory/packet.h"
#include "transport/shared_memory/ring.h"
#include "transport/slice.h"

namespace penstock::transport {

// Largest message (message_stream.h), and the largest number of its slices. The second limit keeps tiny slices from
// filling the memory.
constexpr size_t kMostMessageBytes = size_t{64} << 20;
constexpr size_t kMostMessageSlices = 65536;

// The shared row files that the worker announced to one stream's client, or is about to announce. Not thread-safe.
class AnnouncedFiles {
 public:
  // `files` may be null: no shared row files.
  explicit AnnouncedFiles(std::shared_ptr<const SharedRowFiles> files) : files_(std::move(files)) {}
  bool any() const { return files_ != nullptr; }

  struct Place {
    uint32_t file = 0;
    uint64_t from = 0;
  };
  // Returns the bytes' place, and queues their file for announcement if it is new. Returns nullopt if they are in no
  // file, or if kMostFiles are announced already.
  std::optional<Place> PlaceOf(const void* data, size_t size);
  // Returns the next file to announce, or null. Files come in the order of their numbers. The client must receive a
  // file before the first place in it.
  std::shared_ptr<const SharedRowFile> NextUnannounced();

 private:
  std::shared_ptr<const SharedRowFiles> files_;
  std::unordered_map<uint64_t, uint32_t> numbers_;  // by SharedRowFile::id
  std::deque<std::shared_ptr<const SharedRowFile>> untold_;
};

// A message that is being sent. Not thread-safe.
class OutgoingMessage {
 public:
  // Sends slices in the ring by reference, and also slices of at least 4 KiB in a shared row file. Copies other slices
  // of at least 4 KiB into the ring if it has room for all of them, and sends the rest in the packets. `ring` and
  // `files` may be null.
  OutgoingMessage(SliceList message, Ring* ring, AnnouncedFiles* files = nullptr);

  // Returns the next packet, or "" after the last one.
  std::string NextPacket();
  // Returns the number of bytes that places in the ring and in files refer to.
  uint64_t ring_bytes() const { return ring_bytes_; }

  // Slices and copies that must stay in place until the client releases the message.
  struct Kept {
    std::vector<Slice> slices;
    OwnedBlock copy;
    uint64_t bytes = 0;
  };
  // Returns the memory that the client reads. Call it after the last packet.
  Kept TakeKept();

 private:
  struct Piece {
    const uint8_t* data;
    size_t size;
    std::optional<uint64_t> place;                 // in the ring
    std::optional<AnnouncedFiles::Place> in_file;  // in a file
  };
  std::vector<Slice> inline_;  // owners of the pieces that packets carry
  std::vector<Piece> pieces_;
  size_t next_ = 0, offset_ = 0;  // next piece in pieces_, and the offset in it
  bool done_ = false;
  Kept kept_;
  uint64_t ring_bytes_ = 0;
};

struct RingUse;

// Assembles messages from untrusted packets. Not thread-safe.
class IncomingMessages {
 public:
  // For messages from a client, which has no ring.
  IncomingMessages() = default;
  // For messages from a worker. For each message with slices in the ring or a file, calls `released` with the message's
  // number when the last of these slices is released. The call may come on any thread.
  IncomingMessages(std::shared_ptr<const SealedMemory> ring, std::function<void(uint64_t)> released)
      : ring_(std::move(ring)), released_(std::move(released)) {}

  // Returns the message that the packet completes, or nullopt. Returns InvalidArgument with the reason; after an error
  // no packet may be added.
  absl::StatusOr<std::optional<SliceList>> Add(const PartsPacket& packet);
  // Adds the next file. Returns InvalidArgument from a client, and if the worker's files exceed a limit.
  absl::Status AddFile(SealedMemory file);

 private:
  absl::Status AddPlace(const MessagePart& part);
  void FinishText();

  std::shared_ptr<const SealedMemory> ring_;
  // A message's RingUse keeps those that hold slices of the message.
  std::vector<std::shared_ptr<const SealedMemory>> files_;
  uint64_t files_bytes_ = 0;
  std::function<void(uint64_t)> released_;
  uint64_t number_ = 0;  // number of the current message
  std::vector<Slice> slices_;
  std::string text_;  // bytes from packets that are not a slice yet
  size_t bytes_ = 0;
  std::shared_ptr<RingUse> use_;  // the current message's use of the ring and of files
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_MESSAGE_PARTS_H_
