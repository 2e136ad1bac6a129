// Parses JSON objects, the records of JSONL files, for the features that a job requests.
//
// The key of a feature is the path to its value: the names of the objects' members, joined by dots.
//   "text"           the member "text"
//   "meta.lang"      the member "lang" of the object "meta"
//   "boxes.0"        the first element of the array "boxes"
//   "a\.b", "a\\b"   the member "a.b", and the member "a\b"
//
// Values by kind:
//   INT64   integers in its range, true (1) and false (0)
//   FLOAT   numbers in the range of a 32-bit float, rounded from the nearest double
//   BYTES   strings, as UTF-8; an object, or an array with an array or object in it: its text, unchanged
//
// Any other array gives one value per element. A value is missing if it is null, if a member on its path is absent, or
// if a part of its path is not an object or array. Of members with the same name, the last one counts, as in Python's
// json. Values that no feature requests must be JSON, but may have any size.
#ifndef PENSTOCK_PIPELINE_RECORDS_JSON_RECORD_PARSER_H_
#define PENSTOCK_PIPELINE_RECORDS_JSON_RECORD_PARSER_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/records/example_parser.h"

namespace penstock::records {

// Immutable. Any number of threads may use it, each with its own ParsedExample. BYTES point into the record, except
// that strings with escapes are copies in FeatureValue::own.
class JsonRecordParser {
 public:
  // Creates a parser. Returns InvalidArgument for a request without a kind, a sequence request, element_bytes with
  // numbers, and a key that is no path. Two requests may name the same key. Ignores options.format.
  static absl::StatusOr<JsonRecordParser> Create(std::vector<FeatureRequest> requests,
                                                 const ParserOptions& options = {});

  const std::vector<FeatureRequest>& requests() const { return requests_; }

  // Parses `record` into *out. Returns InvalidArgument with the offset in the record, and with the key if there is one,
  // if the record is no JSON object (json_line.h) or a value is of another kind than requested. Returns
  // ResourceExhausted if the values exceed the limit. After an error, *out is unspecified.
  absl::Status Parse(std::string_view record, ParsedExample* out) const;

 private:
  friend class JsonRecordReader;

  // A part of a path. Node 0 is the whole record.
  struct Node {
    std::map<std::string, size_t, std::less<>> children;
    std::vector<size_t> requests;  // that end here
    std::vector<size_t> below;     // requests that end here or in a child
  };

  JsonRecordParser(std::vector<FeatureRequest> requests, const ParserOptions& options)
      : requests_(std::move(requests)), options_(options), nodes_(1) {}

  std::vector<FeatureRequest> requests_;
  ParserOptions options_;
  std::vector<Node> nodes_;
};

// Returns the values of a record, for display, in the order of their paths: each that is no object and not null, but
// not those inside of arrays. The kind is INT64 for integers in its range, true and false, FLOAT for other numbers, and
// BYTES for strings. An array of them has the kind of its first element, or FLOAT if integers and other numbers are in
// it. An array with an array or object in it is one value of BYTES: its text. An empty array has the kind kNone.
// `first_bytes` are a part of the record, with its escapes. Returns InvalidArgument if the record is no JSON object.
absl::StatusOr<std::vector<FeatureInfo>> ListJsonValues(std::string_view record);

// Returns whether a record with these values, as ListJsonValues returns them, has a value at `key` or below it, or an
// array that may have the element `key`.
bool HasJsonPath(const std::vector<FeatureInfo>& values, std::string_view key);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_JSON_RECORD_PARSER_H_
