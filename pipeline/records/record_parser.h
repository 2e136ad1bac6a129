// Parses records of any format for the features that a job requests.
#ifndef PENSTOCK_PIPELINE_RECORDS_RECORD_PARSER_H_
#define PENSTOCK_PIPELINE_RECORDS_RECORD_PARSER_H_

#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/records/array_row_parser.h"
#include "pipeline/records/csv_record_parser.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/file_row_parser.h"
#include "pipeline/records/json_record_parser.h"
#include "pipeline/records/sample_parser.h"
#include "pipeline/records/text_line_parser.h"

namespace penstock::records {

// Immutable. Any number of threads may use it, each with its own ParsedExample.
class RecordParser {
 public:
  // Creates the parser of options.format. Errors are those of that parser.
  static absl::StatusOr<RecordParser> Create(std::vector<FeatureRequest> requests, const ParserOptions& options);

  // Parses `record` into *out. Errors are those of the parser.
  absl::Status Parse(std::string_view record, ParsedExample* out) const {
    if (const auto* example = std::get_if<ExampleParser>(&parser_)) return example->Parse(record, out);
    if (const auto* json = std::get_if<JsonRecordParser>(&parser_)) return json->Parse(record, out);
    if (const auto* line = std::get_if<TextLineParser>(&parser_)) return line->Parse(record, out);
    if (const auto* row = std::get_if<CsvRecordParser>(&parser_)) return row->Parse(record, out);
    if (const auto* row = std::get_if<ArrayRowParser>(&parser_)) return row->Parse(record, out);
    if (const auto* row = std::get_if<FileRowParser>(&parser_)) return row->Parse(record, out);
    return std::get<SampleParser>(parser_).Parse(record, out);
  }

 private:
  using AnyParser = std::variant<ExampleParser, SampleParser, JsonRecordParser, TextLineParser, CsvRecordParser,
                                 ArrayRowParser, FileRowParser>;

  explicit RecordParser(AnyParser parser) : parser_(std::move(parser)) {}

  AnyParser parser_;
};

// Returns the values of a record of any format, for display. Errors are those of the format's list: ListFeatures,
// ListMembers, ListJsonValues, ListTextLine, ListCsvColumns, ListArrayRow or ListFileRow.
absl::StatusOr<std::vector<FeatureInfo>> ListValues(std::string_view record, RecordFormat format);

// Returns the kind in which a job can request a feature that has `a` in one record and `b` in another, or kNone if
// there is none. Different kinds are compatible only if the format has numbers of one type (JSON), or only text (CSV,
// manifests).
FeatureKind CommonKind(RecordFormat format, FeatureKind a, FeatureKind b);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_RECORD_PARSER_H_
