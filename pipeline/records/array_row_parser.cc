#include "pipeline/records/array_row_parser.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/npy_header.h"
#include "base/status_macros.h"
#include "pipeline/records/npy_elements.h"
#include "pipeline/records/request_check.h"
#include "pipeline/records/value_budget.h"

namespace penstock::records {
namespace {

// The bytes of a record before its row, and the layout of the row.
struct RowHead {
  size_t bytes = 0;
  NpyRow row;               // has one element, if any_length
  bool any_length = false;  // the record has any number of elements
};

absl::StatusOr<RowHead> ReadRowHead(std::string_view record) {
  PS_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(record));
  RowHead head{.bytes = header.data_offset, .row = {}, .any_length = HasAnyLength(header)};
  PS_ASSIGN_OR_RETURN(head.row, NpyRowOf(header, head.any_length ? std::vector<int64_t>() : header.shape));
  if (head.row.fields.size() == 1 && header.fields.empty()) head.row.fields[0].name = kRowKey;
  return head;
}

absl::Status CheckRowBytes(uint64_t bytes, const NpyRow& row, bool any_length) {
  if (any_length ? bytes % row.bytes == 0 : bytes == row.bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the row has ", bytes, " bytes, but its header declares ", row.bytes));
}

NpyElements ElementsOf(const NpyRowField& field, std::string_view row, bool any_length) {
  if (any_length) return {.type = field.type, .count = row.size() / field.type.bytes, .data = row};
  return {.type = field.type, .count = field.elements, .data = row.substr(field.offset, field.bytes())};
}

// Returns the first value of BYTES.
std::string_view FirstBytesOf(const NpyRowField& field, std::string_view row) {
  if (field.type.letter != 'S') return row.substr(field.offset, field.bytes());
  const std::string_view first = row.substr(field.offset, field.elements == 0 ? 0 : field.type.bytes);
  return first.substr(0, first.find_last_not_of('\0') + 1);
}

}  // namespace

ArrayRowParser::ArrayRowParser(std::vector<FeatureRequest> requests, const ParserOptions& options)
    : requests_(std::move(requests)), options_(options) {
  static std::atomic<uint64_t> last{0};
  id_ = ++last;
}

absl::StatusOr<ArrayRowParser> ArrayRowParser::Create(std::vector<FeatureRequest> requests,
                                                      const ParserOptions& options) {
  for (const FeatureRequest& request : requests) PS_RETURN_IF_ERROR(CheckRequest(request));
  return ArrayRowParser(std::move(requests), options);
}

absl::Status ArrayRowParser::ReadHead(std::string_view record, Head* head) const {
  *head = Head();
  PS_ASSIGN_OR_RETURN(RowHead found, ReadRowHead(record));
  head->row = std::move(found.row);
  head->any_length = found.any_length;
  for (const FeatureRequest& request : requests_) {
    const NpyRowField*& of_request = head->fields.emplace_back(nullptr);
    for (const NpyRowField& field : head->row.fields) {
      if (field.name == request.key) of_request = &field;
    }
  }
  head->text = record.substr(0, found.bytes);
  head->parser = id_;
  return absl::OkStatus();
}

absl::Status ArrayRowParser::Parse(std::string_view record, ParsedExample* out) const {
  out->resize(requests_.size());
  for (FeatureValue& value : *out) value.Clear();
  // Most records of a thread have the header of the last one.
  thread_local Head head;
  if (head.parser != id_ || !record.starts_with(head.text)) PS_RETURN_IF_ERROR(ReadHead(record, &head));
  const std::string_view row = record.substr(head.text.size());
  PS_RETURN_IF_ERROR(CheckRowBytes(row.size(), head.row, head.any_length));
  ValueBudget budget(options_.max_value_bytes);
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (head.fields[i] == nullptr) continue;
    (*out)[i].missing = false;
    PS_RETURN_IF_ERROR(
        ReadElements(requests_[i], ElementsOf(*head.fields[i], row, head.any_length), &budget, &(*out)[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FeatureInfo>> ListArrayRow(std::string_view record) {
  PS_ASSIGN_OR_RETURN(const RowHead head, ReadRowHead(record));
  const std::string_view row = record.substr(head.bytes);
  PS_RETURN_IF_ERROR(CheckRowBytes(row.size(), head.row, head.any_length));
  std::vector<FeatureInfo> infos;
  for (const NpyRowField& field : head.row.fields) {
    FeatureInfo& info = infos.emplace_back();
    info.key = field.name;
    info.descr = field.descr;
    info.shape = field.shape;
    DescribeElements(ElementsOf(field, row, head.any_length), &info);
    // The first value of U is no part of the record.
    if (info.kind == FeatureKind::kBytes && field.type.letter != 'U') info.first_bytes = FirstBytesOf(field, row);
  }
  return infos;
}

}  // namespace penstock::records
