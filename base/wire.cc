#include "base/wire.h"

namespace penstock {
namespace {

// protobuf's limit on nested messages.
constexpr int kMaxGroupDepth = 100;
constexpr int kMaxVarintBytes = 10;

}  // namespace

bool WireReader::ReadLongVarint(uint64_t* value) {
  uint64_t result = 0;
  for (int i = 0; i < kMaxVarintBytes && at_ != end_; ++i) {
    const uint64_t byte = static_cast<unsigned char>(*at_++);
    result |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      *value = result;
      return true;
    }
  }
  return false;
}

bool WireReader::ReadTag(uint32_t* field, WireType* type) {
  uint64_t tag = 0;
  const char* const begin = at_;
  // A tag takes at most 5 bytes, of which protobuf keeps 32 bits. Field 0 does not exist.
  if (!ReadVarint(&tag) || at_ - begin > 5) return false;
  tag = static_cast<uint32_t>(tag);
  if ((tag >> 3) == 0 || (tag & 7) > 5) return false;
  *field = static_cast<uint32_t>(tag >> 3);
  *type = static_cast<WireType>(tag & 7);
  return true;
}

bool WireReader::SkipField(uint32_t field, WireType type, int depth) {
  std::string_view bytes;
  uint64_t number = 0;
  switch (type) {
    case WireType::kVarint:
      return ReadVarint(&number);
    case WireType::kFixed64:
      return ReadBytes(8, &bytes);
    case WireType::kLength:
      return ReadLengthPrefixed(&bytes);
    case WireType::kFixed32:
      return ReadBytes(4, &bytes);
    case WireType::kEndGroup:
      return false;  // no matching start
    case WireType::kStartGroup:
      if (depth >= kMaxGroupDepth) return false;
      while (!done()) {
        uint32_t inner = 0;
        WireType inner_type;
        if (!ReadTag(&inner, &inner_type)) return false;
        if (inner_type == WireType::kEndGroup) return inner == field;
        if (!SkipField(inner, inner_type, depth + 1)) return false;
      }
      return false;
  }
  return false;
}

void AppendVarint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

void AppendTag(uint32_t field, WireType type, std::string* out) {
  AppendVarint(uint64_t{field} << 3 | static_cast<uint64_t>(type), out);
}

void AppendLengthPrefixed(uint32_t field, std::string_view bytes, std::string* out) {
  AppendTag(field, WireType::kLength, out);
  AppendVarint(bytes.size(), out);
  out->append(bytes);
}

}  // namespace penstock
