// The frame of a record in a TFRecord file (tensorflow/core/lib/io/record_writer.h), all little-endian:
//   u64 length, u32 masked CRC-32C of those 8 bytes, `length` bytes of data, u32 masked CRC-32C of
//   the data.
#ifndef PENSTOCK_PIPELINE_SOURCES_TFRECORD_FRAMING_H_
#define PENSTOCK_PIPELINE_SOURCES_TFRECORD_FRAMING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/little_endian.h"

namespace penstock::sources {

constexpr size_t kRecordHeaderBytes = 12;
constexpr size_t kRecordFooterBytes = 4;
// Bytes that the frame adds to each record.
constexpr size_t kRecordFrameBytes = kRecordHeaderBytes + kRecordFooterBytes;

// Returns whether the 12 bytes at `header` hold a length with a valid CRC.
bool HeaderCrcIsRight(const char* header);
inline uint64_t HeaderLength(const char* header) { return LoadLittleEndian<uint64_t>(header); }

// Appends `record` with its frame to `out`.
void AppendFramedRecord(std::string_view record, std::string* out);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_TFRECORD_FRAMING_H_
