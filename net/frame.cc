#include "net/frame.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace penstock {
inline namespace over_grpc {

SliceCursor::SliceCursor(std::vector<grpc::Slice> slices) : slices_(std::move(slices)) {
  for (const grpc::Slice& slice : slices_) remaining_ += slice.size();
  while (slice_ < slices_.size() && slices_[slice_].size() == 0) ++slice_;
}

absl::Span<const uint8_t> SliceCursor::Next(size_t limit) {
  if (limit == 0 || remaining_ == 0) return {};
  const grpc::Slice& slice = slices_[slice_];
  const size_t n = std::min(limit, slice.size() - offset_);
  const absl::Span<const uint8_t> piece(slice.begin() + offset_, n);
  offset_ += n;
  remaining_ -= n;
  if (offset_ == slice.size()) {
    offset_ = 0;
    do {
      ++slice_;
    } while (slice_ < slices_.size() && slices_[slice_].size() == 0);
  }
  return piece;
}

bool SliceCursor::Read(void* out, size_t n) {
  if (n > remaining_) return false;
  auto* to = static_cast<uint8_t*>(out);
  while (n > 0) {
    const absl::Span<const uint8_t> piece = Next(n);
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
    n -= piece.size();
  }
  return true;
}

bool SliceCursor::ReadU32(uint32_t* value) {
  uint8_t bytes[4];
  if (!Read(bytes, sizeof bytes)) return false;
  *value = bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
  return true;
}

bool SliceCursor::Skip(size_t n) {
  if (n > remaining_) return false;
  while (n > 0) n -= Next(n).size();
  return true;
}

grpc::ByteBuffer MakeFrame(const google::protobuf::MessageLite& header, absl::Span<const grpc::Slice> payload) {
  const size_t header_bytes = header.ByteSizeLong();
  PS_CHECK(header_bytes <= kMaxHeaderBytes);
  std::string front(4 + header_bytes, '\0');
  for (int i = 0; i < 4; ++i) front[i] = static_cast<char>(header_bytes >> (8 * i));
  PS_CHECK(header.SerializeToArray(front.data() + 4, static_cast<int>(header_bytes)));
  std::vector<grpc::Slice> slices;
  slices.reserve(1 + payload.size());
  slices.emplace_back(front);
  slices.insert(slices.end(), payload.begin(), payload.end());
  return grpc::ByteBuffer(slices.data(), slices.size());
}

absl::Status ParseFrame(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite* header, SliceCursor* payload) {
  std::vector<grpc::Slice> slices;
  if (buffer.Valid() && !buffer.Dump(&slices).ok()) {
    return absl::InvalidArgumentError("a message that gRPC cannot take apart");
  }
  *payload = SliceCursor(std::move(slices));
  const size_t total = payload->remaining();
  uint32_t header_bytes = 0;
  if (!payload->ReadU32(&header_bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("a message of ", total, " bytes, too short for a header"));
  }
  if (header_bytes > kMaxHeaderBytes || header_bytes > payload->remaining()) {
    return absl::InvalidArgumentError(absl::StrCat("a message of ", total, " bytes whose header should have ",
                                                   header_bytes, " (at most ", kMaxHeaderBytes, ")"));
  }
  // The header alone is joined when slices cut it.
  std::string joined;
  absl::Span<const uint8_t> bytes = payload->Next(header_bytes);
  if (bytes.size() < header_bytes) {
    joined.resize(header_bytes);
    std::memcpy(joined.data(), bytes.data(), bytes.size());
    PS_CHECK(payload->Read(joined.data() + bytes.size(), header_bytes - bytes.size()));
    bytes = {reinterpret_cast<const uint8_t*>(joined.data()), joined.size()};
  }
  if (!header->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message whose header of ", header_bytes, " bytes is no protobuf"));
  }
  return absl::OkStatus();
}

}  // namespace over_grpc
}  // namespace penstock
