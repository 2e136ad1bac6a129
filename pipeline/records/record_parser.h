// Parses records of any format for the features that a job requests.
#ifndef PENSTOCK_PIPELINE_RECORDS_RECORD_PARSER_H_
#define PENSTOCK_PIPELINE_RECORDS_RECORD_PARSER_H_

#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/records/example_parser.h"
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
    return std::get<SampleParser>(parser_).Parse(record, out);
  }

 private:
  using AnyParser = std::variant<ExampleParser, SampleParser, JsonRecordParser, TextLineParser>;

  explicit RecordParser(AnyParser parser) : parser_(std::move(parser)) {}

  AnyParser parser_;
};

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_RECORD_PARSER_H_
