// Bounds-checked reads of integers and slices from untrusted bytes.
#ifndef PENSTOCK_PIPELINE_IMAGE_BYTE_READER_H_
#define PENSTOCK_PIPELINE_IMAGE_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::image {

// Returns the unsigned integer of `count` (1 to 4) bytes at `offset`, or -1 if `bytes` ends before its last byte.
inline int64_t ReadBigEndian(std::string_view bytes, size_t offset, size_t count) {
  if (offset > bytes.size() || count > bytes.size() - offset) return -1;
  int64_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | static_cast<uint8_t>(bytes[offset + i]);
  return value;
}

inline int64_t ReadLittleEndian(std::string_view bytes, size_t offset, size_t count) {
  if (offset > bytes.size() || count > bytes.size() - offset) return -1;
  int64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[offset + i]);
  return value;
}

// Returns up to `count` bytes at `offset`. The slice is shorter, or empty, where the bytes end.
inline std::string_view Slice(std::string_view bytes, size_t offset, size_t count) {
  return offset > bytes.size() ? std::string_view() : bytes.substr(offset, count);
}

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_BYTE_READER_H_
