// Parses the records of manifests for the features that a job requests. A record is a row with the bytes of the file
// that it names (sources/file_frame.h). The feature "contents" is the bytes of the file; it hides a field of this name.
// All other features are the fields of the row: those of a JSON object (json_record_parser.h), or of a CSV or TSV row
// (csv_record_parser.h).
#ifndef PENSTOCK_PIPELINE_RECORDS_FILE_ROW_PARSER_H_
#define PENSTOCK_PIPELINE_RECORDS_FILE_ROW_PARSER_H_

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/records/csv_record_parser.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/json_record_parser.h"
#include "pipeline/sources/file_frame.h"

namespace penstock::records {

inline constexpr char kContentsKey[] = "contents";

// Parses rows of any kind of text. Immutable. Any number of threads may use it, each with its own ParsedExample.
class RowParser {
 public:
  // Creates a parser. Returns InvalidArgument for the errors of JsonRecordParser and CsvRecordParser.
  static absl::StatusOr<RowParser> Create(const std::vector<FeatureRequest>& requests, const ParserOptions& options);

  // Parses FramedFile::row. Errors are those of the parser of its text.
  absl::Status Parse(sources::FramedFile::Text text, std::string_view row, ParsedExample* out) const;

 private:
  RowParser(JsonRecordParser json, CsvRecordParser csv, CsvRecordParser tsv)
      : json_(std::move(json)), csv_(std::move(csv)), tsv_(std::move(tsv)) {}

  JsonRecordParser json_;
  CsvRecordParser csv_, tsv_;
};

// Immutable. Any number of threads may use it, each with its own ParsedExample. BYTES are as in the parsers of rows.
class FileRowParser {
 public:
  // Creates a parser. Returns InvalidArgument for the errors of RowParser, and for kContentsKey as a number.
  static absl::StatusOr<FileRowParser> Create(std::vector<FeatureRequest> requests, const ParserOptions& options);

  const std::vector<FeatureRequest>& requests() const { return requests_; }

  // Parses `record` into *out. Returns the errors of RowParser, and InvalidArgument if a request needs the file and the
  // record has none, or the record is malformed. After an error, *out is unspecified.
  absl::Status Parse(std::string_view record, ParsedExample* out) const;

 private:
  FileRowParser(std::vector<FeatureRequest> requests, RowParser rows)
      : requests_(std::move(requests)), rows_(std::move(rows)) {}

  std::vector<FeatureRequest> requests_;
  RowParser rows_;
};

// Returns the fields of a record and its file, for display. A file that was not read has no `first_bytes`. Returns
// InvalidArgument if the record is malformed or has no file.
absl::StatusOr<std::vector<FeatureInfo>> ListFileRow(std::string_view record);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_FILE_ROW_PARSER_H_
