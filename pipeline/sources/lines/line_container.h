// Containers whose records are the lines of a text file. A line ends with "\n" or "\r\n"; the last one may lack its
// end. A UTF-8 byte order mark at the start of the file belongs to no record.
//
//   JSONL      a record is a line; a line of spaces, tabs and "\r" belongs to no record
//   text       each line is a record, also an empty one
//   CSV, TSV   a record is a row: a line, or several if the ends between them are inside of quotes (csv_quotes.h). The
//              first row has the names of the columns and is no record, and an empty line is none.
//
// The stored bytes of a record are those of the line with its end. Its data are the line without its end. The data of a
// row follow the names and "\n" (ShardIndex::head), so they are a CSV text of two rows.
#ifndef PENSTOCK_PIPELINE_SOURCES_LINES_LINE_CONTAINER_H_
#define PENSTOCK_PIPELINE_SOURCES_LINES_LINE_CONTAINER_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/sources/container.h"
#include "pipeline/sources/record_walker.h"
#include "pipeline/sources/shard_index.h"

namespace penstock::sources {

// The identity of a record for its content hash: u8 number of the container, u64 length and u32 CRC-32C of its data,
// all little-endian. Line ends, empty lines that are no records and the byte order mark do not count.
class JsonlContainer final : public Container {
 public:
  std::string_view FileNoun() const override { return "a JSONL file"; }
  std::string_view RecordNoun() const override { return "record"; }
  std::unique_ptr<RecordWalker> Walk(RecordWalker::Input input) const override;
  absl::StatusOr<std::string_view> DataOf(const ShardIndex& index, uint64_t k, const RequestedFeatures* features,
                                          const char* stored) const override;
};

class TextContainer final : public Container {
 public:
  std::string_view FileNoun() const override { return "a text file"; }
  std::string_view RecordNoun() const override { return "line"; }
  std::unique_ptr<RecordWalker> Walk(RecordWalker::Input input) const override;
  absl::StatusOr<std::string_view> DataOf(const ShardIndex& index, uint64_t k, const RequestedFeatures* features,
                                          const char* stored) const override;
};

// The identity of a record also has the u32 CRC-32C of the names at its end.
class CsvContainer final : public Container {
 public:
  // `kind` is kCsv or kTsv.
  explicit CsvContainer(ContainerKind kind) : kind_(kind) {}

  std::string_view FileNoun() const override { return kind_ == ContainerKind::kCsv ? "a CSV file" : "a TSV file"; }
  std::string_view RecordNoun() const override { return "row"; }
  std::unique_ptr<RecordWalker> Walk(RecordWalker::Input input) const override;
  absl::StatusOr<std::string_view> DataOf(const ShardIndex& index, uint64_t k, const RequestedFeatures* features,
                                          const char* stored) const override;

 private:
  const ContainerKind kind_;
};

// Checks the stored bytes of a line or row by the index, and returns them. Returns DamagedRead if their CRC is wrong.
absl::StatusOr<std::string_view> CheckedStoredLine(const ShardIndex& index, uint64_t k, const char* stored);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_LINES_LINE_CONTAINER_H_
