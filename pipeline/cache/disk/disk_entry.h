// The layout of a record in the files of the disk cache. Both files only grow. All numbers are little-endian.
//
//   records   one entry after another: [u32 magic][u32 length][u64 record][u64 sum][length bytes]
//   index     the position of each, in 24 bytes: [u64 record][u64 offset][u32 length][u32 check]
//
// The files are untrusted input: a process may be killed between any two writes, and a disk may lose data. An index
// entry is only a hint. The bytes at its offset are valid only if their checksum matches the space, the record's
// number, the length and the bytes.
#ifndef PENSTOCK_PIPELINE_CACHE_DISK_DISK_ENTRY_H_
#define PENSTOCK_PIPELINE_CACHE_DISK_DISK_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::cache {

constexpr size_t kDiskHeaderBytes = 24;
constexpr size_t kDiskIndexEntryBytes = 24;

// The position of one record in the file `records`.
struct DiskPlace {
  uint64_t record = 0;
  uint64_t offset = 0;  // offset of its header
  uint32_t length = 0;  // without the header

  uint64_t end() const { return offset + kDiskHeaderBytes + length; }
  bool operator==(const DiskPlace&) const = default;
};

// Returns the header of `bytes`.
std::string DiskHeader(uint64_t space, uint64_t record, std::string_view bytes);

// Returns the bytes of the record in `entry`, which consists of its header and these bytes. Returns nullopt if the
// header or the checksum does not match.
std::optional<std::string_view> CheckDiskEntry(uint64_t space, uint64_t record, std::string_view entry);

std::string DiskIndexEntry(uint64_t space, const DiskPlace& place);

// Parses the first kDiskIndexEntryBytes. Returns nullopt if they are not an entry of this space.
std::optional<DiskPlace> ParseDiskIndexEntry(uint64_t space, std::string_view bytes);

}  // namespace penstock::cache

#endif  // PENSTOCK_PIPELINE_CACHE_DISK_DISK_ENTRY_H_
