#include "transport/grpc/byte_buffer.h"

#include <grpcpp/support/slice.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

namespace penstock::transport {
namespace {

// Keeps a slice's owner until gRPC releases the slice, on any thread. `made` orders the release after the construction
// without relying on gRPC's synchronization, which ThreadSanitizer does not see.
struct Kept {
  explicit Kept(std::shared_ptr<const void> kept) : owner(std::move(kept)) {
    made.store(true, std::memory_order_release);
  }
  static void LetGo(void* arg) {
    auto* const kept = static_cast<Kept*>(arg);
    kept->made.load(std::memory_order_acquire);
    delete kept;
  }
  const std::shared_ptr<const void> owner;
  std::atomic<bool> made{false};
};

}  // namespace

grpc::ByteBuffer ToByteBuffer(const SliceList& message) {
  std::vector<grpc::Slice> slices;
  slices.reserve(message.slices().size());
  for (const Slice& slice : message.slices()) {
    if (slice.size() == 0) continue;
    slices.emplace_back(const_cast<uint8_t*>(slice.data()), slice.size(), Kept::LetGo, new Kept(slice.owner()));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

absl::StatusOr<SliceList> FromByteBuffer(const grpc::ByteBuffer& buffer) {
  // All slices share one owner: received messages consist of pieces of some KiB.
  auto received = std::make_shared<std::vector<grpc::Slice>>();
  if (buffer.Valid() && !buffer.Dump(received.get()).ok()) {
    return absl::InternalError("a message that gRPC cannot take apart");
  }
  std::vector<Slice> slices;
  slices.reserve(received->size());
  for (const grpc::Slice& slice : *received) slices.emplace_back(slice.begin(), slice.size(), received);
  return SliceList(std::move(slices));
}

}  // namespace penstock::transport
