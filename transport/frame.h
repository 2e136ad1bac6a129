// What a message of the data plane holds: [u32 little-endian header length][header, a protobuf message][payload]. The
// payload is never flattened: it goes out as the slices it lies in, and is read where slices came to lie, which may cut
// rows anywhere.
#ifndef PENSTOCK_TRANSPORT_FRAME_H_
#define PENSTOCK_TRANSPORT_FRAME_H_

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "transport/slice.h"

namespace penstock {

// The largest header of a frame; a Rows header is some 20 bytes a row.
constexpr size_t kMaxHeaderBytes = 4 << 20;

// A message of a header and payload slices, which are referenced and not copied.
SliceList MakeFrame(const google::protobuf::MessageLite& header, std::vector<Slice> payload = {});

// Takes a message apart: fills `header` and sets `payload` to the bytes behind it.
// InvalidArgument says what is wrong: cut short, a header length beyond the message or the limit, no protobuf.
absl::Status ParseFrame(SliceList message, google::protobuf::MessageLite* header, SliceCursor* payload);

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_FRAME_H_
