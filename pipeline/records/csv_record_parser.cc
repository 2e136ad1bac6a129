#include "pipeline/records/csv_record_parser.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "pipeline/records/number_text.h"
#include "pipeline/records/request_check.h"

namespace penstock::records {
namespace {

char DelimiterOf(RecordFormat format) { return format == RecordFormat::kTsv ? '\t' : ','; }

// Returns the text without spaces around it, and without "+" before a digit or a point.
std::string_view WithoutSpaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+') text.remove_prefix(1);
  return text;
}

// Returns the kind in which the text of a field keeps its value.
FeatureKind GuessKind(std::string_view field) {
  if (field.empty()) return FeatureKind::kNone;
  while (field.starts_with(' ')) field.remove_prefix(1);
  const std::string_view text = WithoutSpaces(field);
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (!digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos) {
    const bool keeps = IntegerIn(text).has_value() && !field.starts_with('+') && (digits == "0" || digits[0] != '0');
    return keeps ? FeatureKind::kInt64 : FeatureKind::kBytes;
  }
  return NumberIn(text).has_value() ? FeatureKind::kFloat : FeatureKind::kBytes;
}

// Returns the start of the field, for messages.
std::string Shown(const CsvField& field) {
  constexpr size_t kShownBytes = 40;
  const std::string content = ContentOf(field);
  return content.size() > kShownBytes ? Json::Quote(TruncatedUtf8(content, kShownBytes) + "...")
                                      : Json::Quote(TruncatedUtf8(content, kShownBytes));
}

absl::Status WrongField(const FeatureRequest& request, const CsvField& field, absl::string_view what) {
  return WrongValueKind(request, absl::StrCat(what, Shown(field), " at offset ", field.offset, " of the row"));
}

absl::Status WrongCount(size_t fields, size_t names) {
  return absl::InvalidArgumentError(absl::StrCat("the row has ", fields, fields == 1 ? " field" : " fields",
                                                 ", but the first row of the file names ", names,
                                                 names == 1 ? " column" : " columns"));
}

// Calls `each` with the number and the field of each of the `columns` columns of a row. Returns the row's first error.
template <typename Each>
absl::Status ReadRow(std::string_view text, char delimiter, size_t columns, Each&& each) {
  CsvFields row(text, delimiter);
  CsvField field;
  size_t fields = 0;
  for (;; ++fields) {
    PS_ASSIGN_OR_RETURN(const bool more, row.Next(&field));
    if (!more) break;
    if (fields < columns) PS_RETURN_IF_ERROR(each(fields, field));
  }
  if (row.has_end()) return absl::InvalidArgumentError("no CSV: an end of a line outside of quotes");
  return fields == columns ? absl::OkStatus() : WrongCount(fields, columns);
}

}  // namespace

CsvRecordParser::CsvRecordParser(std::vector<FeatureRequest> requests, const ParserOptions& options)
    : requests_(std::move(requests)), options_(options) {
  static std::atomic<uint64_t> last{0};
  id_ = ++last;
}

absl::StatusOr<CsvRecordParser> CsvRecordParser::Create(std::vector<FeatureRequest> requests,
                                                        const ParserOptions& options) {
  CsvRecordParser parser(std::move(requests), options);
  for (size_t i = 0; i < parser.requests_.size(); ++i) {
    PS_RETURN_IF_ERROR(CheckRequest(parser.requests_[i]));
    const size_t number = parser.by_key_.try_emplace(parser.requests_[i].key, parser.by_key_.size()).first->second;
    parser.of_column_.resize(parser.by_key_.size());
    parser.of_column_[number].push_back(i);
  }
  return parser;
}

absl::Status CsvRecordParser::SetValue(const FeatureRequest& request, const CsvField& field, uint64_t* budget,
                                       FeatureValue* value) const {
  const auto spend = [&](uint64_t bytes) {
    if (bytes > *budget) return OverValueLimit(request, options_.max_value_bytes);
    *budget -= bytes;
    return absl::OkStatus();
  };
  if (request.kind == FeatureKind::kBytes) {
    value->missing = false;
    PS_RETURN_IF_ERROR(spend(sizeof(std::string_view) + (field.has_pairs ? field.text.size() : 0)));
    std::string_view content = field.text;
    if (field.has_pairs) {
      AppendField(field, &value->own);
      content = {value->own.data(), value->own.size()};
    }
    value->bytes.push_back(content);
    return CheckElements(request, content);
  }
  const std::string_view text = WithoutSpaces(field.text);
  if (text.empty()) return absl::OkStatus();
  value->missing = false;
  if (request.kind == FeatureKind::kInt64) {
    const std::optional<int64_t> integer = IntegerIn(text);
    if (!integer.has_value()) return WrongField(request, field, "");
    PS_RETURN_IF_ERROR(spend(sizeof(int64_t)));
    value->ints.push_back(*integer);
    return absl::OkStatus();
  }
  const std::optional<double> number = NumberIn(text);
  if (!number.has_value()) return WrongField(request, field, "");
  const std::optional<float> rounded = FloatOf(*number);
  if (!rounded.has_value()) return WrongField(request, field, "a number over the range of a 32-bit float, ");
  PS_RETURN_IF_ERROR(spend(sizeof(float)));
  value->floats.push_back(*rounded);
  return absl::OkStatus();
}

absl::Status CsvRecordParser::ReadHead(std::string_view record, Head* head) const {
  *head = Head();
  CsvFields names(record, DelimiterOf(options_.format));
  CsvField name;
  std::vector<bool> seen(by_key_.size());
  for (;;) {
    PS_ASSIGN_OR_RETURN(const bool more, names.Next(&name));
    if (!more) break;
    const auto found = name.has_pairs ? by_key_.find(ContentOf(name)) : by_key_.find(name.text);
    const size_t number = found == by_key_.end() ? kUnread : found->second;
    if (number != kUnread && seen[number]) {
      return BadValue(requests_[of_column_[number].front()], Fault::kOther,
                      "the first row of the file names this column twice");
    }
    if (number != kUnread) seen[number] = true;
    head->columns.push_back(number);
  }
  head->text = record.substr(0, record.size() - names.rest().size());
  head->parser = names.has_end() ? id_ : 0;  // another record may begin with a part of a row
  return absl::OkStatus();
}

absl::Status CsvRecordParser::Parse(std::string_view record, ParsedExample* out) const {
  out->resize(requests_.size());
  for (FeatureValue& value : *out) value.Clear();
  // Most records of a thread have the first row of the last one.
  thread_local Head head;
  if (head.parser != id_ || !record.starts_with(head.text)) PS_RETURN_IF_ERROR(ReadHead(record, &head));
  uint64_t budget = options_.max_value_bytes;
  absl::Status first;  // the first error of a value; an error of the row takes precedence
  const auto each = [&](size_t column, const CsvField& field) {
    if (head.columns[column] == kUnread) return absl::OkStatus();
    for (const size_t request : of_column_[head.columns[column]]) {
      const absl::Status set = SetValue(requests_[request], field, &budget, &(*out)[request]);
      if (!set.ok() && first.ok()) first = set;
    }
    return absl::OkStatus();
  };
  PS_RETURN_IF_ERROR(ReadRow(record.substr(head.text.size()), DelimiterOf(options_.format), head.columns.size(), each));
  return first;
}

absl::StatusOr<std::vector<FeatureInfo>> ListCsvColumns(std::string_view record, RecordFormat format) {
  std::vector<FeatureInfo> infos;
  CsvFields names(record, DelimiterOf(format));
  CsvField name;
  for (;;) {
    PS_ASSIGN_OR_RETURN(const bool more, names.Next(&name));
    if (!more) break;
    infos.push_back({.key = ContentOf(name), .is_field = true});
  }
  PS_RETURN_IF_ERROR(
      ReadRow(names.rest(), DelimiterOf(format), infos.size(), [&](size_t column, const CsvField& field) {
        FeatureInfo& info = infos[column];
        info.count = field.text.empty() ? 0 : 1;
        info.kind = GuessKind(field.text);
        if (info.kind == FeatureKind::kInt64) info.least = info.most = *IntegerIn(WithoutSpaces(field.text));
        if (info.kind == FeatureKind::kBytes) info.first_bytes = field.text;
        return absl::OkStatus();
      }));
  return infos;
}

}  // namespace penstock::records
