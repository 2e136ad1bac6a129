// Messages as PARTS packets and back.
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
#include "base/lent_files.h"
#include "base/sealed_memory.h"
#include "transport/shared_memory/packet.h"
#include "transport/shared_memory/ring.h"
#include "transport/slice.h"

namespace penstock {

// The largest message (message_stream.h), and the pieces that it may come in: so that tiny ones cannot fill the memory.
constexpr size_t kMostMessageBytes = size_t{64} << 20;
constexpr size_t kMostMessageSlices = 65536;

// The lent files that one stream's client has been told of, or is about to. Not thread-safe.
class ToldFiles {
 public:
  // `files` may be null: there are none.
  explicit ToldFiles(std::shared_ptr<const LentFiles> files) : files_(std::move(files)) {}
  bool any() const { return files_ != nullptr; }

  struct Place {
    uint32_t file = 0;
    uint64_t from = 0;
  };
  // Nothing where the bytes lie in no file that the client may be told of.
  std::optional<Place> PlaceOf(const void* data, size_t size);
  // One that the client is to be told of before the next place; null: none. In the order of their numbers.
  std::shared_ptr<const LentFile> NextUntold();

 private:
  std::shared_ptr<const LentFiles> files_;
  std::unordered_map<uint64_t, uint32_t> numbers_;  // by LentFile::id
  std::deque<std::shared_ptr<const LentFile>> untold_;
};

// A message on its way out. Not thread-safe.
class OutgoingMessage {
 public:
  // What lies in the ring or in a lent file stays there; large slices that lie elsewhere are copied into the ring where
  // there is room; the rest goes in the packets. `ring` and `files` may be null.
  OutgoingMessage(SliceList message, Ring* ring, ToldFiles* files = nullptr);

  // The next packet; empty when there are no more.
  std::string NextPacket();
  // In the ring, and in files.
  uint64_t ring_bytes() const { return ring_bytes_; }

  // What must stay where it is until the client has released it.
  struct Kept {
    std::vector<Slice> slices;
    OwnedBlock copy;
    uint64_t bytes = 0;
  };
  // Once all packets were taken.
  Kept TakeKept();

 private:
  struct Piece {
    const uint8_t* data;
    size_t size;
    std::optional<uint64_t> place;            // in the ring
    std::optional<ToldFiles::Place> in_file;  // in a file
  };
  std::vector<Slice> inline_;  // that pieces point to
  std::vector<Piece> pieces_;
  size_t next_ = 0, offset_ = 0;  // into pieces_, and into that piece
  bool done_ = false;
  Kept kept_;
  uint64_t ring_bytes_ = 0;
};

struct RingUse;

// Messages from packets that anybody may have sent. Not thread-safe.
class IncomingMessages {
 public:
  // From a client, which has no ring.
  IncomingMessages() = default;
  // From a worker. `released` is called with the number of each message that had slices in the ring, when the last of
  // them was let go of, on whatever thread that is.
  IncomingMessages(std::shared_ptr<const SealedMemory> ring, std::function<void(uint64_t)> released)
      : ring_(std::move(ring)), released_(std::move(released)) {}

  // The message that the packet completes, or nothing. InvalidArgument says what is wrong; nothing is to be read on.
  absl::StatusOr<std::optional<SliceList>> Add(const PartsPacket& packet);
  // The next file. InvalidArgument where there may be none.
  absl::Status AddFile(SealedMemory file);

 private:
  absl::Status AddPlace(const MessagePart& part);
  void FinishText();

  std::shared_ptr<const SealedMemory> ring_;
  // Kept by each message's use, which keeps those that came before it.
  std::vector<std::shared_ptr<const SealedMemory>> files_;
  uint64_t files_bytes_ = 0;
  std::function<void(uint64_t)> released_;
  uint64_t number_ = 0;  // of the message under way
  std::vector<Slice> slices_;
  std::string text_;  // of packets, not yet a slice
  size_t bytes_ = 0;
  std::shared_ptr<RingUse> use_;  // of the ring and of files, by the message under way
};

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_MESSAGE_PARTS_H_
