#include "pipeline/cache/disk/disk_entry.h"

#include "base/hash.h"

namespace penstock::cache {
namespace {

constexpr uint32_t kMagic = 0x31525350;  // "PSR1"

void Put32(uint32_t value, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(value >> shift));
}

void Put64(uint64_t value, std::string* out) {
  Put32(static_cast<uint32_t>(value), out);
  Put32(static_cast<uint32_t>(value >> 32), out);
}

uint32_t Get32(const char* at) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(at[i]);
  return value;
}

uint64_t Get64(const char* at) { return uint64_t{Get32(at + 4)} << 32 | Get32(at); }

uint64_t Sum(uint64_t space, uint64_t record, std::string_view bytes) {
  return Hash64(bytes, HashWords({space, record, bytes.size()}));
}

uint32_t Check(uint64_t space, const DiskPlace& place) {
  return static_cast<uint32_t>(HashWords({space, place.record, place.offset, place.length}));
}

}  // namespace

std::string DiskHeader(uint64_t space, uint64_t record, std::string_view bytes) {
  std::string out;
  out.reserve(kDiskHeaderBytes);
  Put32(kMagic, &out);
  Put32(static_cast<uint32_t>(bytes.size()), &out);
  Put64(record, &out);
  Put64(Sum(space, record, bytes), &out);
  return out;
}

std::optional<std::string_view> CheckDiskEntry(uint64_t space, uint64_t record, std::string_view entry) {
  if (entry.size() < kDiskHeaderBytes) return std::nullopt;
  const std::string_view bytes = entry.substr(kDiskHeaderBytes);
  if (Get32(entry.data()) != kMagic || Get32(entry.data() + 4) != bytes.size() || Get64(entry.data() + 8) != record ||
      Get64(entry.data() + 16) != Sum(space, record, bytes)) {
    return std::nullopt;
  }
  return bytes;
}

std::string DiskIndexEntry(uint64_t space, const DiskPlace& place) {
  std::string out;
  out.reserve(kDiskIndexEntryBytes);
  Put64(place.record, &out);
  Put64(place.offset, &out);
  Put32(place.length, &out);
  Put32(Check(space, place), &out);
  return out;
}

std::optional<DiskPlace> ParseDiskIndexEntry(uint64_t space, std::string_view bytes) {
  if (bytes.size() < kDiskIndexEntryBytes) return std::nullopt;
  const DiskPlace place{Get64(bytes.data()), Get64(bytes.data() + 8), Get32(bytes.data() + 16)};
  if (Get32(bytes.data() + 20) != Check(space, place)) return std::nullopt;
  return place;
}

}  // namespace penstock::cache
