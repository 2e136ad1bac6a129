// Reads the fields of a CSV row (RFC 4180, with any delimiter).
#ifndef PENSTOCK_PIPELINE_RECORDS_CSV_FIELDS_H_
#define PENSTOCK_PIPELINE_RECORDS_CSV_FIELDS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace penstock::records {

struct CsvField {
  std::string_view text;   // in the row, without the quotes around it
  bool has_pairs = false;  // whether `text` has pairs of quotes, each of which stands for one quote
  size_t offset = 0;       // where the field begins in the row
};

// Appends the content of the field to `out`.
template <typename Bytes>
void AppendField(const CsvField& field, Bytes* out) {
  for (size_t i = 0; i < field.text.size(); ++i) {
    out->push_back(field.text[i]);
    if (field.has_pairs && field.text[i] == '"') ++i;
  }
}
// Returns the content of the field.
std::string ContentOf(const CsvField& field);

// Reads the fields of the first row of a text, from left to right. A field that begins with a quote ends with the next
// one that is not doubled. Spaces belong to fields.
class CsvFields {
 public:
  CsvFields(std::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {}

  // Sets *field to the next field. Returns false after the last one. A row has at least one field. Returns
  // InvalidArgument with the offset for a quote without end, for bytes after quotes, and for a carriage return outside
  // of quotes.
  absl::StatusOr<bool> Next(CsvField* field);

  // Valid after Next() returned false: the text after the row and its "\n".
  std::string_view rest() const { return text_.substr(at_); }
  // Valid after Next() returned false: whether the row ended with "\n".
  bool has_end() const { return has_end_; }

 private:
  const std::string_view text_;
  const char delimiter_;
  size_t at_ = 0;
  bool is_over_ = false, has_end_ = false;
};

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_CSV_FIELDS_H_
