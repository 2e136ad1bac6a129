// Parses serialized tf.train.Example and tf.train.SequenceExample for the features that a job requests.
//
// The messages (tensorflow/core/example/{example,feature}.proto), by field number:
//   Example         { Features features = 1; }
//   SequenceExample { Features context = 1; FeatureLists feature_lists = 2; }
//   Features        { map<string, Feature> feature = 1; }
//   FeatureLists    { map<string, FeatureList> feature_list = 1; }
//   FeatureList     { repeated Feature feature = 1; }
//   Feature         { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2;
//                                  Int64List int64_list = 3; } }
//   the lists       { repeated bytes|float|int64 value = 1; }   packed or not
// It reads the wire format directly, so that it copies no byte strings and skips a feature without a request in one
// step.
#ifndef PENSTOCK_PIPELINE_RECORDS_EXAMPLE_PARSER_H_
#define PENSTOCK_PIPELINE_RECORDS_EXAMPLE_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock::records {

// The numbers are the fields of tf.train.Feature.
enum class FeatureKind : uint8_t { kNone = 0, kBytes = 1, kFloat = 2, kInt64 = 3 };

// Returns "none", "BYTES", "FLOAT" or "INT64".
std::string_view FeatureKindName(FeatureKind kind);

// kSample: the members of a WebDataset's sample (sample_parser.h). kJson: a JSON object (json_record_parser.h).
// kLine: a line of text (text_line_parser.h). kCsv, kTsv: a row with "," or tabs between its fields
// (csv_record_parser.h). kArrayRow: a row of an array (array_row_parser.h). kFileRow: a row of a
// manifest (file_row_parser.h).
enum class RecordFormat : uint8_t {
  kExample = 0,
  kSequenceExample = 1,
  kSample = 2,
  kJson = 3,
  kLine = 4,
  kCsv = 5,
  kTsv = 6,
  kArrayRow = 7,
  kFileRow = 8
};

// Returns whether a record is a row of fields.
inline bool HasFields(RecordFormat format) { return format == RecordFormat::kCsv || format == RecordFormat::kTsv; }

struct FeatureRequest {
  std::string key;
  FeatureKind kind = FeatureKind::kBytes;
  // kBytes only: each value is an array of little-endian elements of this many bytes (decode_raw). A value whose length
  // is not a multiple is an error. 0 allows any length.
  uint32_t element_bytes = 0;
  // kSequenceExample only: a feature list instead of a feature of the context.
  bool sequence = false;
};

// The values of a record for one request. Only the vector of the requested kind is filled.
struct FeatureValue {
  // Whether the record lacks the key, or its Feature has no kind. An empty list is not missing.
  bool missing = true;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string_view> bytes;  // point into the record, or into `own`
  // Contents of `bytes` that are not bytes of the record. ExampleParser leaves it empty. The `bytes` of a copied
  // FeatureValue point into the original.
  std::vector<char> own;
  // Sequence requests: entry i of the list holds values [splits[i], splits[i + 1]). Empty for other requests and for
  // missing lists.
  std::vector<uint32_t> splits;
  // The serialized map entry of the key, in the record. Null if there is none. Only the parser uses it.
  std::string_view entry;

  // Removes all values and keeps their memory.
  void Clear() {
    missing = true;
    ints.clear();
    floats.clear();
    bytes.clear();
    own.clear();
    splits.clear();
    entry = {};
  }
  // Returns the number of values of any kind.
  size_t count() const { return ints.size() + floats.size() + bytes.size(); }
};

// The values of one record, in the order of the requests. Pass the same object to each call of Parse, which reuses its
// memory and soon allocates nothing. Valid as long as the record's bytes.
using ParsedExample = std::vector<FeatureValue>;

struct ParserOptions {
  RecordFormat format = RecordFormat::kExample;
  // Upper bound on the memory of all values parsed from one record. An int64 counts 8 bytes, whatever its length on the
  // wire. A byte string that stays in the record counts 16 bytes, whatever its length.
  uint64_t max_value_bytes = uint64_t{256} << 20;
};

// Immutable. Any number of threads may use it, each with its own ParsedExample.
//
// As in protobuf, the last of duplicate keys wins. Within one Feature, lists of the same kind are joined and the last
// kind wins. Unknown fields are skipped. Unlike protobuf, it does not read features without a request, and keys need
// not be UTF-8.
class ExampleParser {
 public:
  // Creates a parser. Returns InvalidArgument for a request without a kind, a sequence request for an Example, or
  // element_bytes with numbers. Two requests may name the same key.
  static absl::StatusOr<ExampleParser> Create(std::vector<FeatureRequest> requests, const ParserOptions& options = {});

  const std::vector<FeatureRequest>& requests() const { return requests_; }

  // Parses `record` into *out. Returns InvalidArgument, with the key if there is one, if the wire data is malformed or
  // a feature has another kind than requested (the message names both). Returns ResourceExhausted if the values exceed
  // the limit. After an error, *out is unspecified.
  absl::Status Parse(std::string_view record, ParsedExample* out) const;

 private:
  ExampleParser(std::vector<FeatureRequest> requests, const ParserOptions& options);

  std::vector<FeatureRequest> requests_;
  ParserOptions options_;
  std::vector<uint32_t> by_key_;  // indices of requests, sorted by (sequence, key)
};

// One feature of a record, for display.
struct FeatureInfo {
  std::string key;
  FeatureKind kind = FeatureKind::kNone;  // for a list, the kind of its first entry that has one
  bool sequence = false;
  uint64_t count = 0;                 // total number of values
  uint64_t list_length = 0;           // entries of a feature list
  bool is_field = false;              // a field of a CSV row, whose empty text is a value
  std::string_view first_bytes = {};  // kBytes with a value: the first value, in the record
  int64_t least = 0, most = 0;        // kInt64 with a value, not in a list: the smallest and the largest
  // A field of an array: NumPy's name of its type, such as "<f4", and its shape in a row.
  std::string descr = {};
  std::vector<int64_t> shape = {};
};

// Returns all features of an Example or a SequenceExample, sorted by (sequence, key). Returns InvalidArgument if the
// data is malformed anywhere.
absl::StatusOr<std::vector<FeatureInfo>> ListFeatures(std::string_view record, RecordFormat format);

// Returns the probable format of a record: kSequenceExample if it parses as one and has feature lists, otherwise
// kExample. Returns InvalidArgument if it is neither.
absl::StatusOr<RecordFormat> GuessFormat(std::string_view record);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_EXAMPLE_PARSER_H_
