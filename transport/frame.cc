#include "transport/frame.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace penstock::transport {

SliceList MakeFrame(const google::protobuf::MessageLite& header, std::vector<Slice> payload) {
  const size_t header_bytes = header.ByteSizeLong();
  PS_CHECK(header_bytes <= kMaxHeaderBytes);
  std::string front(4 + header_bytes, '\0');
  for (int i = 0; i < 4; ++i) front[i] = static_cast<char>(header_bytes >> (8 * i));
  PS_CHECK(header.SerializeToArray(front.data() + 4, static_cast<int>(header_bytes)));
  payload.insert(payload.begin(), Slice::Of(std::move(front)));
  return SliceList(std::move(payload));
}

absl::Status ParseFrame(SliceList message, google::protobuf::MessageLite* header, SliceCursor* payload) {
  *payload = SliceCursor(std::move(message));
  const size_t total = payload->remaining();
  uint32_t header_bytes = 0;
  if (!payload->ReadU32(&header_bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("a message of ", total, " bytes, too short for a header"));
  }
  if (header_bytes > kMaxHeaderBytes || header_bytes > payload->remaining()) {
    return absl::InvalidArgumentError(absl::StrCat("a message of ", total, " bytes whose header should have ",
                                                   header_bytes, " (at most ", kMaxHeaderBytes, ")"));
  }
  // Only the header is copied. Slices may split it, and they may be in memory that the sender can still write. A change
  // between a check and the use of the checked value must not be possible.
  std::string joined(header_bytes, '\0');
  PS_CHECK(payload->Read(joined.data(), header_bytes));
  if (!header->ParseFromString(joined)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message whose header of ", header_bytes, " bytes is no protobuf"));
  }
  return absl::OkStatus();
}

}  // namespace penstock::transport
