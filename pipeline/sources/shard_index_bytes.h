// Bytes of an index blob that the content hash of a selected index covers too. Internal to sources/.
#ifndef PENSTOCK_PIPELINE_SOURCES_SHARD_INDEX_BYTES_H_
#define PENSTOCK_PIPELINE_SOURCES_SHARD_INDEX_BYTES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/little_endian.h"
#include "base/wire.h"
#include "pipeline/sources/shard_index.h"

namespace penstock::sources {

// Appends a number with its whole width, little-endian.
template <typename T>
void AppendFixed(T value, std::string* out) {
  char bytes[sizeof(T)];
  StoreLittleEndian(value, bytes);
  out->append(bytes, sizeof(bytes));
}

// Reads what AppendFixed() has written; false if the bytes end before.
template <typename T>
bool ReadFixed(WireReader* in, T* value) {
  std::string_view bytes;
  if (!in->ReadBytes(sizeof(T), &bytes)) return false;
  *value = LoadLittleEndian<T>(bytes.data());
  return true;
}

// Returns the error of a damaged blob. `what` is the part with the damage.
inline absl::Status DamagedIndex(std::string_view what) {
  return absl::DataLossError(absl::StrCat("damaged shard index: ", absl::string_view(what.data(), what.size())));
}

// Returns the section of groups in the blob (shard_index_blob.cc).
std::string GroupSection(const IndexGroups& groups);

// What a blob begins with, before its version, and the versions of packed indexes: of packs, and of windows.
constexpr std::string_view kIndexMagic = "PSIX";
constexpr uint32_t kVersionOfPacked = 6, kVersionOfWindows = 7;

// Returns whether a blob has one of these versions.
inline bool IsPackedIndex(std::string_view blob) {
  return blob.size() >= kIndexMagic.size() + sizeof(kVersionOfPacked) &&
         LoadLittleEndian<uint32_t>(blob.data() + kIndexMagic.size()) >= kVersionOfPacked;
}

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_SHARD_INDEX_BYTES_H_
