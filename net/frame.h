// Messages of the data plane: [u32 little-endian header length][header, a protobuf message][payload], as gRPC slices.
// The payload is never flattened: it goes out as the slices it lies in, and is read where the slices came to lie, which
// cut rows anywhere.
#ifndef PENSTOCK_NET_FRAME_H_
#define PENSTOCK_NET_FRAME_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace penstock {
inline namespace over_grpc {  // apart from transport/frame.h and transport/slice.h, which have the same names

// The largest header of a frame; a Rows header is some 20 bytes a row.
constexpr size_t kMaxHeaderBytes = 4 << 20;

// Reads on through a list of slices. Owns (references to) the slices; cheap to move. Not thread-safe.
class SliceCursor {
 public:
  SliceCursor() = default;
  explicit SliceCursor(std::vector<grpc::Slice> slices);

  // Bytes not yet read.
  size_t remaining() const { return remaining_; }
  // Copies the next n bytes to `out`. False, with nothing read, when fewer remain.
  bool Read(void* out, size_t n);
  bool ReadU32(uint32_t* value);  // little-endian
  // Goes on by n bytes. False, with nothing read, when fewer remain.
  bool Skip(size_t n);
  // The next bytes that lie together, at most `limit` of them, and goes on behind them; empty at the end or when limit
  // is 0. Valid while this cursor lives.
  absl::Span<const uint8_t> Next(size_t limit);

 private:
  std::vector<grpc::Slice> slices_;
  size_t slice_ = 0;   // slices_[slice_] has bytes left, or is the end
  size_t offset_ = 0;  // into it
  size_t remaining_ = 0;
};

// A message of a header and payload slices, which are referenced and not copied.
grpc::ByteBuffer MakeFrame(const google::protobuf::MessageLite& header, absl::Span<const grpc::Slice> payload = {});

// Takes a message apart: fills `header` and sets `payload` to the bytes behind it.
// InvalidArgument says what is wrong: cut short, a header length beyond the message or the limit, no protobuf.
absl::Status ParseFrame(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite* header, SliceCursor* payload);

}  // namespace over_grpc
}  // namespace penstock

#endif  // PENSTOCK_NET_FRAME_H_
