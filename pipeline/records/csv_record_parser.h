// Parses rows of CSV and TSV files for the features that a job requests. A record is a text of two rows: the names of
// the columns, and their values (sources/lines/line_container.h). The key of a feature is the name of a column.
//
// Values by kind:
//   INT64   decimal integers in its range
//   FLOAT   decimal numbers in the range of a 32-bit float, rounded from the nearest double; nan, inf, infinity
//   BYTES   the field without the quotes around it
//
// Spaces around a number are ignored. An empty field is a missing number, and an empty value of BYTES.
#ifndef PENSTOCK_PIPELINE_RECORDS_CSV_RECORD_PARSER_H_
#define PENSTOCK_PIPELINE_RECORDS_CSV_RECORD_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/records/csv_fields.h"
#include "pipeline/records/example_parser.h"

namespace penstock::records {

// Immutable. Any number of threads may use it, each with its own ParsedExample. BYTES point into the record, except
// that fields with doubled quotes are copies in FeatureValue::own.
class CsvRecordParser {
 public:
  // Creates the parser of options.format, kCsv or kTsv. Returns InvalidArgument for the errors of CheckRequest(). Two
  // requests may name the same column.
  static absl::StatusOr<CsvRecordParser> Create(std::vector<FeatureRequest> requests, const ParserOptions& options);

  const std::vector<FeatureRequest>& requests() const { return requests_; }

  // Parses `record` into *out. Returns InvalidArgument with the offset in the row, and with the column if there is one:
  // for rows that are no CSV (csv_fields.h), for a row with more or fewer fields than the names, for a column of a
  // request that occurs twice, and for a value of another kind. Returns ResourceExhausted if the values exceed the
  // limit. After an error, *out is unspecified.
  absl::Status Parse(std::string_view record, ParsedExample* out) const;

 private:
  // The first row of a record.
  struct Head {
    uint64_t parser = 0;  // id of the parser that has read it
    std::string text;     // with its "\n"
    // By column of the row: its number among those that the job reads, or kUnread.
    std::vector<size_t> columns;
  };
  static constexpr size_t kUnread = SIZE_MAX;

  CsvRecordParser(std::vector<FeatureRequest> requests, const ParserOptions& options);

  // Reads the first row of a record.
  absl::Status ReadHead(std::string_view record, Head* head) const;
  absl::Status SetValue(const FeatureRequest& request, const CsvField& field, uint64_t* budget,
                        FeatureValue* value) const;

  uint64_t id_;  // no other parser has it, except for copies of this one
  std::vector<FeatureRequest> requests_;
  ParserOptions options_;
  std::map<std::string, size_t, std::less<>> by_key_;  // numbers of the columns that the job reads
  std::vector<std::vector<size_t>> of_column_;         // by number: the requests that name the column
};

// Returns the columns of a record, for display, in their order: INT64 and FLOAT if the field has a number of this kind,
// kNone if it is empty, otherwise BYTES. An integer is BYTES too if a number would lose a part of it: a leading zero, a
// "+", or digits out of the range of INT64. `first_bytes` are a part of the record, with its doubled quotes. Returns
// the errors of CsvRecordParser::Parse. `format` is kCsv or kTsv.
absl::StatusOr<std::vector<FeatureInfo>> ListCsvColumns(std::string_view record, RecordFormat format);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_CSV_RECORD_PARSER_H_
