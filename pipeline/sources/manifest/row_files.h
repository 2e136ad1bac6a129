// The files that the rows of a manifest name. An implementation knows the features of rows (pipeline/records).
#ifndef PENSTOCK_PIPELINE_SOURCES_MANIFEST_ROW_FILES_H_
#define PENSTOCK_PIPELINE_SOURCES_MANIFEST_ROW_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/sources/file_frame.h"

namespace penstock::sources {

// A file as a row names it, or a part of it.
struct NamedFile {
  std::string name;
  uint64_t offset = 0;
  std::optional<uint64_t> length = std::nullopt;  // nullopt: up to the end of the file
};

// Immutable, thread-safe.
class RowFiles {
 public:
  virtual ~RowFiles();

  // Identifies the names of the fields, in every release.
  virtual uint64_t id() const = 0;
  // Returns the file of a row, as FramedFile::row has it. InvalidArgument: the row names none.
  virtual absl::StatusOr<NamedFile> FileOf(FramedFile::Text text, std::string_view row) const = 0;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_MANIFEST_ROW_FILES_H_
