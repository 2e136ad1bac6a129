// Bytes of an index blob that the content hash of a selected index covers too. Internal to sources/.
#ifndef PENSTOCK_PIPELINE_SOURCES_SHARD_INDEX_BYTES_H_
#define PENSTOCK_PIPELINE_SOURCES_SHARD_INDEX_BYTES_H_

#include <string>

#include "base/little_endian.h"
#include "pipeline/sources/shard_index.h"

namespace penstock::sources {

// Appends a number with its whole width, little-endian.
template <typename T>
void AppendFixed(T value, std::string* out) {
  char bytes[sizeof(T)];
  StoreLittleEndian(value, bytes);
  out->append(bytes, sizeof(bytes));
}

// Returns the section of groups in the blob (shard_index_blob.cc).
std::string GroupSection(const IndexGroups& groups);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_SHARD_INDEX_BYTES_H_
