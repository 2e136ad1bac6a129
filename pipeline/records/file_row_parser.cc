#include "pipeline/records/file_row_parser.h"

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "pipeline/records/request_check.h"

namespace penstock::records {
namespace {

// Stands for kContentsKey in the requests of rows, so that a field of this name is not read.
constexpr char kNoField[] = "\x01contents";

absl::Status NoFile(std::string_view reason) {
  return WithFault(Fault::kNoFile, absl::InvalidArgumentError(absl::string_view(reason.data(), reason.size())));
}

}  // namespace

absl::StatusOr<RowParser> RowParser::Create(const std::vector<FeatureRequest>& requests, const ParserOptions& options) {
  ParserOptions of_csv = options, of_tsv = options;
  of_csv.format = RecordFormat::kCsv;
  of_tsv.format = RecordFormat::kTsv;
  PS_ASSIGN_OR_RETURN(JsonRecordParser json, JsonRecordParser::Create(requests, options));
  PS_ASSIGN_OR_RETURN(CsvRecordParser csv, CsvRecordParser::Create(requests, of_csv));
  PS_ASSIGN_OR_RETURN(CsvRecordParser tsv, CsvRecordParser::Create(requests, of_tsv));
  return RowParser(std::move(json), std::move(csv), std::move(tsv));
}

absl::Status RowParser::Parse(sources::FramedFile::Text text, std::string_view row, ParsedExample* out) const {
  switch (text) {
    case sources::FramedFile::Text::kJsonl:
      return json_.Parse(row, out);
    case sources::FramedFile::Text::kCsv:
      return csv_.Parse(row, out);
    case sources::FramedFile::Text::kTsv:
      break;
  }
  return tsv_.Parse(row, out);
}

absl::StatusOr<FileRowParser> FileRowParser::Create(std::vector<FeatureRequest> requests,
                                                    const ParserOptions& options) {
  std::vector<FeatureRequest> of_rows = requests;
  for (FeatureRequest& request : of_rows) {
    if (request.key != kContentsKey) continue;
    PS_RETURN_IF_ERROR(CheckRequest(request));
    if (request.kind != FeatureKind::kBytes) {
      return BadRequest(request, "is the bytes of a file, so its type must be BYTES");
    }
    request.key = kNoField;
  }
  PS_ASSIGN_OR_RETURN(RowParser rows, RowParser::Create(of_rows, options));
  return FileRowParser(std::move(requests), std::move(rows));
}

absl::Status FileRowParser::Parse(std::string_view record, ParsedExample* out) const {
  PS_ASSIGN_OR_RETURN(const sources::FramedFile framed, sources::ParseFileFrame(record));
  PS_RETURN_IF_ERROR(rows_.Parse(framed.text, framed.row, out));
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i].key != kContentsKey) continue;
    if (framed.state == sources::FileState::kNone) return NoFile(framed.file);
    FeatureValue& value = (*out)[i];
    value.Clear();
    if (framed.state != sources::FileState::kRead) continue;
    PS_RETURN_IF_ERROR(CheckElements(requests_[i], framed.file));
    value.missing = false;
    value.bytes.push_back(framed.file);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FeatureInfo>> ListFileRow(std::string_view record) {
  PS_ASSIGN_OR_RETURN(const sources::FramedFile framed, sources::ParseFileFrame(record));
  if (framed.state == sources::FileState::kNone) return NoFile(framed.file);
  const bool is_json = framed.text == sources::FramedFile::Text::kJsonl;
  const RecordFormat format = framed.text == sources::FramedFile::Text::kTsv ? RecordFormat::kTsv : RecordFormat::kCsv;
  PS_ASSIGN_OR_RETURN(std::vector<FeatureInfo> infos,
                      is_json ? ListJsonValues(framed.row) : ListCsvColumns(framed.row, format));
  std::erase_if(infos, [](const FeatureInfo& info) { return info.key == kContentsKey; });
  infos.push_back({.key = kContentsKey, .kind = FeatureKind::kBytes, .count = 1, .first_bytes = framed.file});
  return infos;
}

}  // namespace penstock::records
