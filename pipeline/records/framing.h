// The frame of a record in a TFRecord file (tensorflow/core/lib/io/record_writer.h), all little-endian:
//   u64 length, u32 masked CRC-32C of those 8 bytes, `length` bytes of data, u32 masked CRC-32C of
//   the data.
#ifndef PENSTOCK_PIPELINE_RECORDS_FRAMING_H_
#define PENSTOCK_PIPELINE_RECORDS_FRAMING_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace penstock {

constexpr size_t kRecordHeaderBytes = 12;
constexpr size_t kRecordFooterBytes = 4;
// Bytes that the frame adds to each record.
constexpr size_t kRecordFrameBytes = kRecordHeaderBytes + kRecordFooterBytes;

// The default limit on the size of a record.
constexpr uint64_t kDefaultMaxRecordBytes = uint64_t{256} << 20;
// The largest limit that an option may set, because lengths are stored in 32 bits.
constexpr uint64_t kLargestMaxRecordBytes = (uint64_t{1} << 32) - 1;

// Little-endian loads and stores. Penstock runs only on little-endian machines.
template <typename T>
T LoadLittleEndian(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
template <typename T>
void StoreLittleEndian(T value, char* to) {
  std::memcpy(to, &value, sizeof(value));
}

// Returns whether the 12 bytes at `header` hold a length with a valid CRC.
bool HeaderCrcIsRight(const char* header);
inline uint64_t HeaderLength(const char* header) { return LoadLittleEndian<uint64_t>(header); }

// Appends `record` with its frame to `out`.
void AppendFramedRecord(std::string_view record, std::string* out);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_FRAMING_H_
