// Data that `penstock convert` makes shards of: how to recognize it, and the command.
#ifndef PENSTOCK_BASE_FOREIGN_DATA_H_
#define PENSTOCK_BASE_FOREIGN_DATA_H_

#include <string>
#include <string_view>

namespace penstock {

// Returns the kind of a file by its first bytes, such as "a Parquet file", or "" if convert does not read it.
std::string_view ConvertibleKind(std::string_view first_bytes);

// Returns the kind of the data set in a local folder by the start of its index.json: "an MDS data set" or "a LitData
// data set". Returns "" if convert does not read it.
std::string_view ConvertibleFolder(const std::string& folder);

// Returns whether `path` is "hf://NAME", a data set that convert reads.
bool IsConvertibleUrl(std::string_view path);

// Returns "`penstock convert x.parquet --out shards` makes shards of it". Quotes the source for a shell if necessary.
std::string ConvertHint(std::string_view source);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FOREIGN_DATA_H_
