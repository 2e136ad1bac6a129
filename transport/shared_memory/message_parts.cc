#include "transport/shared_memory/message_parts.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace penstock {
namespace {

// Smaller slices cost less in the packet than a place and a page of the ring.
constexpr size_t kCopyFrom = 4096;

// Of one message: tells its stream when nobody reads it there any more. Keeps the mapping, also when the stream ended.
struct RingUse {
  RingUse(std::shared_ptr<const SealedMemory> memory, std::function<void(uint64_t)> tell, uint64_t message)
      : ring(std::move(memory)), released(std::move(tell)), number(message) {}
  ~RingUse() { released(number); }
  const std::shared_ptr<const SealedMemory> ring;
  const std::function<void(uint64_t)> released;
  const uint64_t number;
};

}  // namespace

OutgoingMessage::OutgoingMessage(SliceList message, Ring* ring) {
  size_t to_copy = 0;
  for (const Slice& slice : message.slices()) {
    if (slice.size() == 0) continue;
    const std::optional<uint64_t> place =
        ring != nullptr ? ring->PlaceOf(slice.data(), slice.size()) : std::optional<uint64_t>();
    pieces_.push_back({slice.data(), slice.size(), place});
    if (place.has_value()) {
      kept_.slices.push_back(slice);
      ring_bytes_ += slice.size();
      continue;
    }
    inline_.push_back(slice);
    if (slice.size() >= kCopyFrom) to_copy += slice.size();
  }
  if (ring == nullptr || to_copy == 0) return;
  kept_.copy = ring->AllocateCopy(to_copy);
  if (kept_.copy == nullptr) return;
  std::byte* at = kept_.copy.get();
  for (Piece& piece : pieces_) {
    if (piece.place.has_value() || piece.size < kCopyFrom) continue;
    std::memcpy(at, piece.data, piece.size);
    piece.place = ring->PlaceOf(at, piece.size);
    at += piece.size;
  }
  ring_bytes_ += to_copy;
  std::vector<Slice> small;  // what was copied is let go of
  for (Slice& slice : inline_) {
    if (slice.size() < kCopyFrom) small.push_back(std::move(slice));
  }
  inline_ = std::move(small);
}

std::string OutgoingMessage::NextPacket() {
  if (done_) return "";
  PartsBytes packet;
  while (next_ < pieces_.size()) {
    const Piece& piece = pieces_[next_];
    if (piece.place.has_value()) {
      if (!packet.AddPlace(*piece.place, piece.size)) break;
    } else {
      offset_ += packet.Add({reinterpret_cast<const char*>(piece.data) + offset_, piece.size - offset_});
      if (offset_ < piece.size) break;
    }
    offset_ = 0;
    ++next_;
  }
  done_ = next_ == pieces_.size();
  return packet.Take(done_);
}

OutgoingMessage::Kept OutgoingMessage::TakeKept() {
  kept_.bytes = ring_bytes_;
  return std::move(kept_);
}

absl::StatusOr<std::optional<SliceList>> IncomingMessages::Add(const PartsPacket& packet) {
  for (const MessagePart& part : packet.parts) {
    const uint64_t size = part.bytes.empty() ? part.size : part.bytes.size();
    if (size > kMostMessageBytes - bytes_) {
      return absl::InvalidArgumentError(absl::StrCat("a message of more than ", kMostMessageBytes, " bytes"));
    }
    bytes_ += size;
    if (!part.bytes.empty()) {
      text_.append(part.bytes.data(), part.bytes.size());
      continue;
    }
    const absl::Status status = AddPlace(part.from, part.size);
    if (!status.ok()) return status;
  }
  if (!packet.last) return std::nullopt;
  FinishText();
  SliceList message(std::exchange(slices_, {}));
  use_ = nullptr;
  bytes_ = 0;
  ++number_;
  return std::optional<SliceList>(std::move(message));
}

absl::Status IncomingMessages::AddPlace(uint64_t from, uint64_t size) {
  if (ring_ == nullptr) return absl::InvalidArgumentError("a place in a ring from a side that has none");
  if (from > ring_->size() || size > ring_->size() - from) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes ", from, " to ", from, " + ", size, " of a ring of ", ring_->size()));
  }
  FinishText();
  if (slices_.size() >= kMostMessageSlices) {
    return absl::InvalidArgumentError(absl::StrCat("a message of more than ", kMostMessageSlices, " pieces"));
  }
  if (use_ == nullptr) use_ = std::make_shared<RingUse>(ring_, released_, number_);
  slices_.emplace_back(ring_->data() + from, size, use_);
  return absl::OkStatus();
}

void IncomingMessages::FinishText() {
  if (text_.empty()) return;
  slices_.push_back(Slice::Of(std::exchange(text_, {})));
}

}  // namespace penstock
