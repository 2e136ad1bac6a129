#include "transport/grpc/byte_buffer.h"

#include <grpcpp/support/slice.h>

#include <memory>
#include <utility>
#include <vector>

namespace penstock {

grpc::ByteBuffer ToByteBuffer(const SliceList& message) {
  std::vector<grpc::Slice> slices;
  slices.reserve(message.slices().size());
  for (const Slice& slice : message.slices()) {
    if (slice.size() == 0) continue;
    auto* const keep = new std::shared_ptr<const void>(slice.owner());
    slices.emplace_back(
        const_cast<uint8_t*>(slice.data()), slice.size(),
        [](void* owner) { delete static_cast<std::shared_ptr<const void>*>(owner); }, keep);
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

absl::StatusOr<SliceList> FromByteBuffer(const grpc::ByteBuffer& buffer) {
  // One owner for all: received messages come in pieces of some KiB.
  auto received = std::make_shared<std::vector<grpc::Slice>>();
  if (buffer.Valid() && !buffer.Dump(received.get()).ok()) {
    return absl::InternalError("a message that gRPC cannot take apart");
  }
  std::vector<Slice> slices;
  slices.reserve(received->size());
  for (const grpc::Slice& slice : *received) slices.emplace_back(slice.begin(), slice.size(), received);
  return SliceList(std::move(slices));
}

}  // namespace penstock
