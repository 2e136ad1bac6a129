#include "net/frame.h"

#include <string>
#include <vector>

#include "base/check.h"

namespace penstock {

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

}  // namespace penstock
