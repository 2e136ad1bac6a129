#include "pipeline/records/record_example.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "pipeline/records/array_row_parser.h"
#include "pipeline/records/csv_record_parser.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/json_record_parser.h"
#include "pipeline/records/sample_parser.h"
#include "pipeline/records/text_line_parser.h"
#include "pipeline/sources/tar/sample_name.h"

namespace penstock::records {
namespace {

// Returns the values that the parser finds in the record as an Example.
template <typename Parser>
absl::StatusOr<std::string> ExampleOfValues(const Parser& parser, std::string_view record) {
  ParsedExample values;
  PS_RETURN_IF_ERROR(parser.Parse(record, &values));
  ExampleBuilder example;
  for (size_t i = 0; i < values.size(); ++i) {
    const FeatureRequest& request = parser.requests()[i];
    if (request.kind == FeatureKind::kInt64) {
      example.Int64List(request.key, values[i].ints);
    } else if (request.kind == FeatureKind::kFloat) {
      example.FloatList(request.key, values[i].floats);
    } else {
      example.BytesList(request.key, values[i].bytes);
    }
  }
  return example.Serialize();
}

}  // namespace

absl::StatusOr<std::string> ExampleOfSample(std::string_view record) {
  PS_ASSIGN_OR_RETURN(const std::vector<FeatureInfo> members, ListMembers(record));
  PS_ASSIGN_OR_RETURN(const std::string key, KeyOfSample(record));
  std::map<std::string, std::string_view> contents;  // by extension
  PS_RETURN_IF_ERROR(sources::ForEachSampleMember(record, [&](const sources::SampleName& name, std::string_view data) {
    contents[name.extension] = data;
    return absl::OkStatus();
  }));
  ExampleBuilder example;
  example.Bytes("__key__", key);
  for (const FeatureInfo& member : members) {
    // ListMembers() gives an npy array of integers the kind INT64. Here it stays BYTES: the whole .npy file.
    const bool is_integer = member.kind == FeatureKind::kInt64 && !member.key.ends_with("npy");
    if (is_integer) {
      example.Int64(member.key, member.least);
    } else {
      example.Bytes(member.key, contents[member.key]);
    }
  }
  return example.Serialize();
}

absl::StatusOr<std::string> ExampleOfJson(std::string_view record) {
  PS_ASSIGN_OR_RETURN(const std::vector<FeatureInfo> infos, ListJsonValues(record));
  std::vector<FeatureRequest> requests;
  for (const FeatureInfo& info : infos) {
    if (info.kind != FeatureKind::kNone) requests.push_back({.key = info.key, .kind = info.kind});
  }
  PS_ASSIGN_OR_RETURN(const JsonRecordParser parser, JsonRecordParser::Create(std::move(requests)));
  return ExampleOfValues(parser, record);
}

absl::StatusOr<std::string> ExampleOfArrayRow(std::string_view record) {
  PS_ASSIGN_OR_RETURN(const std::vector<FeatureInfo> infos, ListArrayRow(record));
  std::vector<FeatureRequest> requests;
  for (const FeatureInfo& info : infos) {
    // Values of float64 and uint64 may not fit into an Example.
    const bool fits = info.descr != "<f8" && info.descr != "<u8";
    requests.push_back({.key = info.key, .kind = fits ? info.kind : FeatureKind::kBytes});
  }
  PS_ASSIGN_OR_RETURN(const ArrayRowParser parser, ArrayRowParser::Create(std::move(requests), {}));
  return ExampleOfValues(parser, record);
}

absl::StatusOr<std::string> ExampleOfFileRow(std::string_view record) {
  PS_ASSIGN_OR_RETURN(const std::vector<FeatureInfo> infos, ListFileRow(record));
  std::vector<FeatureRequest> requests;
  for (const FeatureInfo& info : infos) {
    const FeatureKind kind = info.is_field ? FeatureKind::kBytes : info.kind;
    if (kind != FeatureKind::kNone) requests.push_back({.key = info.key, .kind = kind});
  }
  PS_ASSIGN_OR_RETURN(const FileRowParser parser, FileRowParser::Create(std::move(requests), {}));
  return ExampleOfValues(parser, record);
}

absl::StatusOr<std::string> ExampleOfRow(std::string_view record, RecordFormat format) {
  PS_ASSIGN_OR_RETURN(const std::vector<FeatureInfo> infos, ListCsvColumns(record, format));
  std::vector<FeatureRequest> requests;
  for (const FeatureInfo& info : infos) requests.push_back({.key = info.key});
  PS_ASSIGN_OR_RETURN(const CsvRecordParser parser, CsvRecordParser::Create(std::move(requests), {.format = format}));
  return ExampleOfValues(parser, record);
}

std::string ExampleOfLine(std::string_view record) { return ExampleBuilder().Bytes(kLineKey, record).Serialize(); }

}  // namespace penstock::records
