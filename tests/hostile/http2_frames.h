// Frames of HTTP/2 (RFC 9113), as bytes.
#ifndef PENSTOCK_TESTS_HOSTILE_HTTP2_FRAMES_H_
#define PENSTOCK_TESTS_HOSTILE_HTTP2_FRAMES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace penstock::hostile {

enum class FrameType : uint8_t { kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6, kContinuation = 9 };
inline constexpr uint8_t kEndStream = 0x1, kEndHeaders = 0x4;

inline std::string Frame(FrameType type, uint8_t flags, uint32_t stream, std::string_view payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame.push_back(static_cast<char>(payload.size() >> shift));
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) frame.push_back(static_cast<char>(stream >> shift));
  frame += payload;
  return frame;
}

// The first bytes of a client, with empty settings.
inline std::string Preface() {
  return absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Frame(FrameType::kSettings, 0, 0, ""));
}

// A header without an index (RFC 7541, 6.2.2). Name and value have at most 126 bytes.
inline std::string Header(std::string_view name, std::string_view value) {
  std::string header(1, '\0');
  for (const std::string_view text : {name, value}) {
    header.push_back(static_cast<char>(text.size()));
    header += text;
  }
  return header;
}

// The headers of a call, such as of "/penstock.v1.Coordinator/GetStatus".
inline std::string CallHeaders(std::string_view method) {
  return absl::StrCat(Header(":method", "POST"), Header(":scheme", "http"), Header(":path", method),
                      Header(":authority", "localhost"), Header("content-type", "application/grpc"),
                      Header("te", "trailers"));
}

}  // namespace penstock::hostile

#endif  // PENSTOCK_TESTS_HOSTILE_HTTP2_FRAMES_H_
