// The frame of a data-plane message: [u32 little-endian header length][header, a protobuf message][payload]. The
// payload is never joined into one buffer. The sender sends the original slices. The receiver reads the slices that the
// carrier delivers, whose boundaries may split rows.
#ifndef PENSTOCK_TRANSPORT_FRAME_H_
#define PENSTOCK_TRANSPORT_FRAME_H_

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "transport/slice.h"

namespace penstock::transport {

// Upper bound of a frame's header length. A Rows header takes about 20 bytes a row.
constexpr size_t kMaxHeaderBytes = 4 << 20;

// Returns a message of `header`, of at most kMaxHeaderBytes, and `payload`. References the payload's slices and does
// not copy them.
SliceList MakeFrame(const google::protobuf::MessageLite& header, std::vector<Slice> payload = {});

// Parses `header` from a message and sets `payload` to the bytes after it. Returns InvalidArgument with the reason if
// the message is truncated, if the header length exceeds the message or kMaxHeaderBytes, or if the header is not a
// valid protobuf message.
absl::Status ParseFrame(SliceList message, google::protobuf::MessageLite* header, SliceCursor* payload);

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_FRAME_H_
