// Parses lines of text, the records of text files. A line has one feature, "line": BYTES with the whole line.
#ifndef PENSTOCK_PIPELINE_RECORDS_TEXT_LINE_PARSER_H_
#define PENSTOCK_PIPELINE_RECORDS_TEXT_LINE_PARSER_H_

#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/records/example_parser.h"

namespace penstock::records {

inline constexpr char kLineKey[] = "line";

// Immutable. Any number of threads may use it, each with its own ParsedExample. BYTES point into the record.
class TextLineParser {
 public:
  // Creates a parser. Returns InvalidArgument for the errors of CheckRequest(), and for kLineKey as a number. A request
  // with another key gets no value.
  static absl::StatusOr<TextLineParser> Create(std::vector<FeatureRequest> requests);

  // Returns InvalidArgument if the line is no whole number of elements of a request.
  absl::Status Parse(std::string_view record, ParsedExample* out) const;

 private:
  explicit TextLineParser(std::vector<FeatureRequest> requests) : requests_(std::move(requests)) {}

  std::vector<FeatureRequest> requests_;
};

// Returns the one value of a record, for display.
std::vector<FeatureInfo> ListTextLine(std::string_view record);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_TEXT_LINE_PARSER_H_
