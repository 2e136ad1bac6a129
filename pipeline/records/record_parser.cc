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
  if (HasFields(options.format)) {
    PS_ASSIGN_OR_RETURN(CsvRecordParser parser, CsvRecordParser::Create(std::move(requests), options));
    return RecordParser(std::move(parser));
  }
  if (options.format == RecordFormat::kArrayRow) {
    PS_ASSIGN_OR_RETURN(ArrayRowParser parser, ArrayRowParser::Create(std::move(requests), options));
    return RecordParser(std::move(parser));
  }
  if (options.format == RecordFormat::kFileRow) {
    PS_ASSIGN_OR_RETURN(FileRowParser parser, FileRowParser::Create(std::move(requests), options));
    return RecordParser(std::move(parser));
  }
  PS_ASSIGN_OR_RETURN(ExampleParser parser, ExampleParser::Create(std::move(requests), options));
  return RecordParser(std::move(parser));
}

absl::StatusOr<std::vector<FeatureInfo>> ListValues(std::string_view record, RecordFormat format) {
  switch (format) {
    case RecordFormat::kSample:
      return ListMembers(record);
    case RecordFormat::kJson:
      return ListJsonValues(record);
    case RecordFormat::kLine:
      return ListTextLine(record);
    case RecordFormat::kCsv:
    case RecordFormat::kTsv:
      return ListCsvColumns(record, format);
    case RecordFormat::kArrayRow:
      return ListArrayRow(record);
    case RecordFormat::kFileRow:
      return ListFileRow(record);
    case RecordFormat::kExample:
    case RecordFormat::kSequenceExample:
      break;
  }
  return ListFeatures(record, format);
}

FeatureKind CommonKind(RecordFormat format, FeatureKind a, FeatureKind b) {
  if (a == b) return a;
  if (a == FeatureKind::kNone || b == FeatureKind::kNone) return FeatureKind::kNone;
  // A manifest may be CSV.
  const bool text = HasFields(format) || format == RecordFormat::kFileRow;
  const bool numbers = a != FeatureKind::kBytes && b != FeatureKind::kBytes;
  if (numbers && (text || format == RecordFormat::kJson)) return FeatureKind::kFloat;
  return text ? FeatureKind::kBytes : FeatureKind::kNone;
}

}  // namespace penstock::records
