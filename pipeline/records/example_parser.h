// Parsing serialized tf.train.Example and tf.train.SequenceExample for just the features that a job
// wants.
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
// Read by the wire format itself, so that nothing is copied and features that nobody wants cost one
// jump.
#ifndef PENSTOCK_PIPELINE_RECORDS_EXAMPLE_PARSER_H_
#define PENSTOCK_PIPELINE_RECORDS_EXAMPLE_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// The numbers are the fields of tf.train.Feature.
enum class FeatureKind : uint8_t { kNone = 0, kBytes = 1, kFloat = 2, kInt64 = 3 };

// "none", "BYTES", "FLOAT", "INT64".
std::string_view FeatureKindName(FeatureKind kind);

enum class RecordFormat : uint8_t { kExample = 0, kSequenceExample = 1 };

struct FeatureRequest {
  std::string key;
  FeatureKind kind = FeatureKind::kBytes;
  // kBytes only: each value is an array of little-endian elements of this many bytes (decode_raw):
  // a value whose length is no multiple is an error. 0: any length.
  uint32_t element_bytes = 0;
  // kSequenceExample only: a feature list rather than a feature of the context.
  bool sequence = false;
};

// What a record holds for one request. Only the vector of the requested kind is filled.
struct FeatureValue {
  // The record has no such key, or its Feature has no kind set. A present, empty list is not
  // missing.
  bool missing = true;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string_view> bytes;  // pointing into the record
  // Sequence requests: entry i of the list holds values [splits[i], splits[i + 1]). Empty for
  // others and when missing.
  std::vector<uint32_t> splits;
  // The serialized map entry that was taken, in the record; null when there is none. For the parser.
  std::string_view entry;

  // Number of values of whichever kind.
  size_t count() const { return ints.size() + floats.size() + bytes.size(); }
};

// The values of one record, in the order of the requests. Keep it and hand it in again: its memory
// is used again, so that parsing allocates nothing in the steady state. Valid while the record's
// bytes are.
using ParsedExample = std::vector<FeatureValue>;

struct ParserOptions {
  RecordFormat format = RecordFormat::kExample;
  // Upper bound on the memory of all values parsed from one record (8 bytes for each int64, however
  // short on the wire).
  uint64_t max_value_bytes = uint64_t{256} << 20;
};

// Immutable; safe to use from many threads, each with a ParsedExample of its own.
//
// As protobuf does: the last of duplicate keys wins; within one Feature lists of one kind are
// joined, and the last kind wins; unknown fields are skipped. Not as protobuf does: features that
// no request names are not looked into, and keys need not be UTF-8.
class ExampleParser {
 public:
  // InvalidArgument for a request without a kind, a sequence request in an Example, or
  // element_bytes on numbers. Two requests may name one key.
  static absl::StatusOr<ExampleParser> Create(std::vector<FeatureRequest> requests, const ParserOptions& options = {});

  const std::vector<FeatureRequest>& requests() const { return requests_; }

  // InvalidArgument, naming the key where there is one: the wire data is malformed, or a feature is
  // of another kind than requested (both kinds are named). ResourceExhausted: more values than the
  // limit. *out is then unspecified.
  absl::Status Parse(std::string_view record, ParsedExample* out) const;

 private:
  ExampleParser(std::vector<FeatureRequest> requests, const ParserOptions& options);

  std::vector<FeatureRequest> requests_;
  ParserOptions options_;
  std::vector<uint32_t> by_key_;  // request numbers, sorted by (sequence, key)
};

// One feature of a record, for showing what there is.
struct FeatureInfo {
  std::string key;
  FeatureKind kind = FeatureKind::kNone;  // of a list: of its first entry that has one
  bool sequence = false;
  uint64_t count = 0;                 // values in all
  uint64_t list_length = 0;           // entries of a feature list
  std::string_view first_bytes = {};  // kBytes with a value: the first one, in the record
};

// All features of a record, sorted by (sequence, key). InvalidArgument for malformed data anywhere
// in it.
absl::StatusOr<std::vector<FeatureInfo>> ListFeatures(std::string_view record, RecordFormat format);

// Which of the two formats a record most likely is: kSequenceExample when it parses as one and has
// feature lists. InvalidArgument when it is neither.
absl::StatusOr<RecordFormat> GuessFormat(std::string_view record);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_EXAMPLE_PARSER_H_
