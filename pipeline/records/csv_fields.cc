#include "pipeline/records/csv_fields.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace penstock::records {

std::string ContentOf(const CsvField& field) {
  std::string content;
  AppendField(field, &content);
  return content;
}

absl::StatusOr<bool> CsvFields::Next(CsvField* field) {
  if (is_over_) return false;
  const auto bad = [](absl::string_view what, size_t offset) {
    return absl::InvalidArgumentError(absl::StrCat("no CSV: ", what, " at offset ", offset));
  };
  field->offset = at_;
  field->has_pairs = false;
  const size_t size = text_.size();
  if (at_ < size && text_[at_] == '"') {
    size_t end = at_ + 1;
    for (;; end += 2) {
      end = text_.find('"', end);
      if (end == std::string_view::npos) return bad("a quote without an end", at_);
      if (end + 1 == size || text_[end + 1] != '"') break;
      field->has_pairs = true;
    }
    field->text = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    if (at_ < size && text_[at_] != delimiter_ && text_[at_] != '\n') return bad("bytes after a quoted field", at_);
  } else {
    while (at_ < size && text_[at_] != delimiter_ && text_[at_] != '\n') {
      if (text_[at_] == '\r') return bad("a carriage return outside of quotes", at_);
      ++at_;
    }
    field->text = text_.substr(field->offset, at_ - field->offset);
  }
  has_end_ = at_ < size && text_[at_] == '\n';
  is_over_ = at_ == size || has_end_;
  if (at_ < size) ++at_;
  return true;
}

}  // namespace penstock::records
