// Parses rows of NumPy arrays for the features that a job requests. A record is a .npy file of one row without the
// array's first dimension: numpy.load() returns array[k] (sources/npy/npy_container.h). The row of an array without
// fields is the feature "row". In a record array, the key of a feature is the name of a field. npy_elements.h lists the
// values by kind.
#ifndef PENSTOCK_PIPELINE_RECORDS_ARRAY_ROW_PARSER_H_
#define PENSTOCK_PIPELINE_RECORDS_ARRAY_ROW_PARSER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/npy_row.h"
#include "pipeline/records/example_parser.h"

namespace penstock::records {

inline constexpr char kRowKey[] = "row";

// Immutable. Any number of threads may use it, each with its own ParsedExample.
class ArrayRowParser {
 public:
  // Creates a parser. Returns InvalidArgument for the errors of CheckRequest(). Two requests may name the same field.
  static absl::StatusOr<ArrayRowParser> Create(std::vector<FeatureRequest> requests, const ParserOptions& options);

  const std::vector<FeatureRequest>& requests() const { return requests_; }

  // Parses `record` into *out. Returns InvalidArgument if the record is not the header of a row and the bytes of one
  // row, and the errors of ReadElements(). After an error, *out is unspecified.
  absl::Status Parse(std::string_view record, ParsedExample* out) const;

 private:
  // The header of a record.
  struct Head {
    uint64_t parser = 0;  // id of the parser that has read it
    std::string text;
    NpyRow row;
    bool any_length = false;
    std::vector<const NpyRowField*> fields;  // by request: its field of the row, or null
  };

  ArrayRowParser(std::vector<FeatureRequest> requests, const ParserOptions& options);

  absl::Status ReadHead(std::string_view record, Head* head) const;

  uint64_t id_;  // no other parser has it, except for copies of this one
  std::vector<FeatureRequest> requests_;
  ParserOptions options_;
};

// Returns the fields of a record, for display, in their order. Returns InvalidArgument if the record is no row.
absl::StatusOr<std::vector<FeatureInfo>> ListArrayRow(std::string_view record);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_ARRAY_ROW_PARSER_H_
