#include "pipeline/records/csv_record_parser.h"

#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
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

// Calls `each` with the number and the field of each column of the row after the names. Returns the row's first error.
template <typename Names, typename Each>
absl::Status ReadRow(std::string_view record, char delimiter, Names&& on_name, Each&& each) {
  CsvFields names(record, delimiter);
  CsvField field;
  size_t columns = 0;
  for (;; ++columns) {
    PS_ASSIGN_OR_RETURN(const bool more, names.Next(&field));
    if (!more) break;
    PS_RETURN_IF_ERROR(on_name(field));
  }
  CsvFields row(names.rest(), delimiter);
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

absl::StatusOr<CsvRecordParser> CsvRecordParser::Create(std::vector<FeatureRequest> requests,
                                                        const ParserOptions& options) {
  CsvRecordParser parser(std::move(requests), options);
  for (size_t i = 0; i < parser.requests_.size(); ++i) {
    PS_RETURN_IF_ERROR(CheckRequest(parser.requests_[i]));
    Column& column = parser.by_key_.try_emplace(parser.requests_[i].key, Column{parser.by_key_.size()}).first->second;
    column.requests.push_back(i);
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

absl::Status CsvRecordParser::Parse(std::string_view record, ParsedExample* out) const {
  out->resize(requests_.size());
  for (FeatureValue& value : *out) value.Clear();
  absl::InlinedVector<const Column*, 64> wanted;  // by column of the row, or null
  absl::InlinedVector<bool, 64> seen(by_key_.size());
  std::string content;
  const auto on_name = [&](const CsvField& name) -> absl::Status {
    std::string_view key = name.text;
    if (name.has_pairs) key = content = ContentOf(name);
    const auto found = by_key_.find(key);
    const Column* const column = found == by_key_.end() ? nullptr : &found->second;
    if (column != nullptr && std::exchange(seen[column->number], true)) {
      return BadValue(requests_[column->requests.front()], Fault::kOther,
                      "the first row of the file names this column twice");
    }
    wanted.push_back(column);
    return absl::OkStatus();
  };
  uint64_t budget = options_.max_value_bytes;
  absl::Status first;  // the first error of a value; an error of the row takes precedence
  PS_RETURN_IF_ERROR(ReadRow(record, DelimiterOf(options_.format), on_name, [&](size_t column, const CsvField& field) {
    if (wanted[column] == nullptr) return absl::OkStatus();
    for (const size_t request : wanted[column]->requests) {
      const absl::Status set = SetValue(requests_[request], field, &budget, &(*out)[request]);
      if (!set.ok() && first.ok()) first = set;
    }
    return absl::OkStatus();
  }));
  return first;
}

absl::StatusOr<std::vector<FeatureInfo>> ListCsvColumns(std::string_view record, RecordFormat format) {
  std::vector<FeatureInfo> infos;
  const auto on_name = [&](const CsvField& name) {
    infos.push_back({.key = ContentOf(name)});
    return absl::OkStatus();
  };
  PS_RETURN_IF_ERROR(ReadRow(record, DelimiterOf(format), on_name, [&](size_t column, const CsvField& field) {
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
