// How a record lies in the files of the cache on disk. Both files only grow; all numbers are little-endian.
//
//   records   an entry after another: [u32 magic][u32 length][u64 record][u64 sum][length bytes]
//   index     where they are, an entry of 24 bytes each: [u64 record][u64 offset][u32 length][u32 check]
//
// Whatever they hold is outside bytes: a process may have been killed between any two of them, and a disk forgets. An
// entry of the index says where to look, no more; what is found there counts only when its sum is that of the space,
// the record's number, the length and the bytes.
#ifndef PENSTOCK_PIPELINE_CACHE_DISK_DISK_ENTRY_H_
#define PENSTOCK_PIPELINE_CACHE_DISK_DISK_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

constexpr size_t kDiskHeaderBytes = 24;
constexpr size_t kDiskIndexEntryBytes = 24;

// Of one record in the file `records`.
struct DiskPlace {
  uint64_t record = 0;
  uint64_t offset = 0;  // of its header
  uint32_t length = 0;  // of its bytes

  uint64_t end() const { return offset + kDiskHeaderBytes + length; }
  bool operator==(const DiskPlace&) const = default;
};

// The header before `bytes`.
std::string DiskHeader(uint64_t space, uint64_t record, std::string_view bytes);

// The bytes of the record, in `entry`, which is its header and what follows it; nothing where they are not just these.
std::optional<std::string_view> CheckDiskEntry(uint64_t space, uint64_t record, std::string_view entry);

std::string DiskIndexEntry(uint64_t space, const DiskPlace& place);

// What the first kDiskIndexEntryBytes say; nothing where they are no entry of this space.
std::optional<DiskPlace> ParseDiskIndexEntry(uint64_t space, std::string_view bytes);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_CACHE_DISK_DISK_ENTRY_H_
