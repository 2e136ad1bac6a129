#include "transport/shared_memory/message_parts.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace penstock::transport {
namespace {

// Minimum size of a slice outside the ring to send from a file, or to copy into the ring. A smaller slice costs less in
// the packet than a place and a page of the ring.
constexpr size_t kCopyFrom = 4096;

// Maximum total size of one stream's files, which a client maps: as large as any cache, and far below the address
// space.
constexpr uint64_t kMostFileBytes = uint64_t{1} << 42;

}  // namespace

// One message's use of shared memory. Notifies the stream when the last reader releases the message. Keeps the
// mappings, even after the stream has ended.
struct RingUse {
  RingUse(std::shared_ptr<const SealedMemory> memory, std::function<void(uint64_t)> tell, uint64_t message)
      : ring(std::move(memory)), released(std::move(tell)), number(message) {}
  ~RingUse() { released(number); }
  const std::shared_ptr<const SealedMemory> ring;
  std::vector<std::shared_ptr<const SealedMemory>> files;  // files that hold slices of the message
  const std::function<void(uint64_t)> released;
  const uint64_t number;
};

std::optional<AnnouncedFiles::Place> AnnouncedFiles::PlaceOf(const void* data, size_t size) {
  if (files_ == nullptr) return std::nullopt;
  std::shared_ptr<const SharedRowFile> file = files_->FileOf(data, size);
  if (file == nullptr) return std::nullopt;
  const uint64_t from = static_cast<const std::byte*>(data) - file->data();
  const auto known = numbers_.find(file->id());
  if (known != numbers_.end()) return Place{known->second, from};
  if (numbers_.size() >= kMostFiles) return std::nullopt;
  const auto number = static_cast<uint32_t>(numbers_.size());
  numbers_.emplace(file->id(), number);
  untold_.push_back(std::move(file));
  return Place{number, from};
}

std::shared_ptr<const SharedRowFile> AnnouncedFiles::NextUnannounced() {
  if (untold_.empty()) return nullptr;
  std::shared_ptr<const SharedRowFile> next = std::move(untold_.front());
  untold_.pop_front();
  return next;
}

OutgoingMessage::OutgoingMessage(SliceList message, Ring* ring, AnnouncedFiles* files) {
  size_t to_copy = 0;
  for (const Slice& slice : message.slices()) {
    if (slice.size() == 0) continue;
    const std::optional<uint64_t> place =
        ring != nullptr ? ring->PlaceOf(slice.data(), slice.size()) : std::optional<uint64_t>();
    std::optional<AnnouncedFiles::Place> in_file;
    if (!place.has_value() && files != nullptr && slice.size() >= kCopyFrom) {
      in_file = files->PlaceOf(slice.data(), slice.size());
    }
    pieces_.push_back({slice.data(), slice.size(), place, in_file});
    if (place.has_value() || in_file.has_value()) {
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
    if (piece.place.has_value() || piece.in_file.has_value() || piece.size < kCopyFrom) continue;
    std::memcpy(at, piece.data, piece.size);
    piece.place = ring->PlaceOf(at, piece.size);
    at += piece.size;
  }
  ring_bytes_ += to_copy;
  std::vector<Slice> small;  // release the copied slices
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
    } else if (piece.in_file.has_value()) {
      if (!packet.AddFilePlace(piece.in_file->file, piece.in_file->from, piece.size)) break;
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
    const absl::Status status = AddPlace(part);
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

absl::Status IncomingMessages::AddFile(SealedMemory file) {
  if (ring_ == nullptr) return absl::InvalidArgumentError("a file from a side that has none");
  if (files_.size() >= kMostFiles || file.size() > kMostFileBytes - files_bytes_) {
    return absl::InvalidArgumentError(
        absl::StrCat("a file of ", file.size(), " bytes after ", files_.size(), " of ", files_bytes_, " bytes"));
  }
  files_bytes_ += file.size();
  files_.push_back(std::make_shared<const SealedMemory>(std::move(file)));
  return absl::OkStatus();
}

absl::Status IncomingMessages::AddPlace(const MessagePart& part) {
  if (ring_ == nullptr) return absl::InvalidArgumentError("a place in a ring from a side that has none");
  if (part.file.has_value() && *part.file >= files_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a place in file ", *part.file, " of ", files_.size()));
  }
  const std::shared_ptr<const SealedMemory>& memory = part.file.has_value() ? files_[*part.file] : ring_;
  if (part.from > memory->size() || part.size > memory->size() - part.from) {
    return absl::InvalidArgumentError(absl::StrCat("bytes ", part.from, " to ", part.from, " + ", part.size, " of a ",
                                                   part.file.has_value() ? "file" : "ring", " of ", memory->size()));
  }
  FinishText();
  if (slices_.size() >= kMostMessageSlices) {
    return absl::InvalidArgumentError(absl::StrCat("a message of more than ", kMostMessageSlices, " pieces"));
  }
  if (use_ == nullptr) use_ = std::make_shared<RingUse>(ring_, released_, number_);
  if (part.file.has_value() && std::find(use_->files.begin(), use_->files.end(), memory) == use_->files.end()) {
    use_->files.push_back(memory);
  }
  slices_.emplace_back(memory->data() + part.from, part.size, use_);
  return absl::OkStatus();
}

void IncomingMessages::FinishText() {
  if (text_.empty()) return;
  slices_.push_back(Slice::Of(std::exchange(text_, {})));
}

}  // namespace penstock::transport
