#include "pipeline/records/record_parser.h"

#include "base/status_macros.h"

namespace penstock::records {

absl::StatusOr<RecordParser> RecordParser::Create(std::vector<FeatureRequest> requests, const ParserOptions& options) {
  if (options.format == RecordFormat::kSample) {
    PS_ASSIGN_OR_RETURN(SampleParser parser, SampleParser::Create(std::move(requests), options));
    return RecordParser(std::move(parser));
  }
  if (options.format == RecordFormat::kJson) {
    PS_ASSIGN_OR_RETURN(JsonRecordParser parser, JsonRecordParser::Create(std::move(requests), options));
    return RecordParser(std::move(parser));
  }
  if (options.format == RecordFormat::kLine) {
    PS_ASSIGN_OR_RETURN(TextLineParser parser, TextLineParser::Create(std::move(requests)));
    return RecordParser(std::move(parser));
  }
  PS_ASSIGN_OR_RETURN(ExampleParser parser, ExampleParser::Create(std::move(requests), options));
  return RecordParser(std::move(parser));
}

}  // namespace penstock::records
