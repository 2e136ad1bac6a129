// Reads and writes protobuf's wire format (https://protobuf.dev/programming-guides/encoding/) without protobuf, and the
// varints of the index format.
#ifndef PENSTOCK_BASE_WIRE_H_
#define PENSTOCK_BASE_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kLength = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

// A cursor over untrusted bytes. Read* and SkipField return false if the bytes are not what they expect, and never read
// out of bounds. After a false result the cursor is unusable.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool done() const { return at_ == end_; }
  const char* position() const { return at_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }

  // Reads at most 10 bytes. Drops bits above the 64th, like protobuf.
  bool ReadVarint(uint64_t* value) {
    if (at_ != end_ && static_cast<signed char>(*at_) >= 0) {
      *value = static_cast<unsigned char>(*at_++);
      return true;
    }
    return ReadLongVarint(value);
  }
  bool ReadBytes(size_t length, std::string_view* bytes) {
    if (length > left()) return false;
    *bytes = {at_, length};
    at_ += length;
    return true;
  }
  bool ReadTag(uint32_t* field, WireType* type);
  // Reads a length, then that many bytes.
  bool ReadLengthPrefixed(std::string_view* bytes) {
    uint64_t length = 0;
    return ReadVarint(&length) && length <= left() && ReadBytes(static_cast<size_t>(length), bytes);
  }
  // Skips the content of an unknown field after its tag.
  bool SkipField(uint32_t field, WireType type) { return SkipField(field, type, 0); }

 private:
  bool ReadLongVarint(uint64_t* value);
  bool SkipField(uint32_t field, WireType type, int depth);

  const char* at_;
  const char* end_;
};

void AppendVarint(uint64_t value, std::string* out);
void AppendTag(uint32_t field, WireType type, std::string* out);
// Appends tag, length and bytes.
void AppendLengthPrefixed(uint32_t field, std::string_view bytes, std::string* out);

}  // namespace penstock

#endif  // PENSTOCK_BASE_WIRE_H_
