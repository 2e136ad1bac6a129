// Reads single fields of a JSON text (RFC 8259) by their JSON pointers (RFC 6901), in one pass and without a document
// in memory. Internal to SampleParser.
#ifndef PENSTOCK_PIPELINE_RECORDS_JSON_FIELDS_H_
#define PENSTOCK_PIPELINE_RECORDS_JSON_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/records/example_parser.h"

namespace penstock::records {

// Deepest nesting of arrays and objects that a text may have.
inline constexpr size_t kMaxJsonDepth = 64;

// The value of one field: a number, a text, or an array of them.
struct JsonField {
  enum class State : uint8_t {
    kMissing,  // absent, or null
    kPresent,
    kWrong,  // of another kind; `found` describes it
  };
  State state = State::kMissing;
  std::string found;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<char> text;         // all texts, one after another
  std::vector<size_t> text_ends;  // end of each text in `text`
};

// Immutable after the calls of Add. Any number of threads may then call Read.
class JsonFields {
 public:
  JsonFields() : nodes_(1) {}

  // Adds the field at `pointer`: "" for the whole text, or "/objects/0/box". Returns its number: 0, 1 and so on.
  // Returns InvalidArgument for text that is no JSON pointer, or has more than kMaxJsonDepth names.
  absl::StatusOr<size_t> Add(std::string_view pointer, FeatureKind kind);

  size_t size() const { return kinds_.size(); }

  // Reads all fields of `json` into *out, in the order of their numbers. INT64 accepts integers in its range, true and
  // false; FLOAT accepts numbers in its range; BYTES accepts strings. The last of duplicate keys wins. Subtracts the
  // memory of all values from *budget. Returns InvalidArgument if the text is no JSON or nested too deeply,
  // ResourceExhausted if the values exceed the budget.
  absl::Status Read(std::string_view json, uint64_t* budget, std::vector<JsonField>* out) const;

 private:
  friend class JsonFieldReader;

  // A name in a pointer. Node 0 is the whole text.
  struct Node {
    std::map<std::string, size_t, std::less<>> children;
    std::vector<size_t> fields;  // that end here
  };

  std::vector<Node> nodes_;
  std::vector<FeatureKind> kinds_;
};

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_JSON_FIELDS_H_
