// Reads the initial value of each column from a record's bytes, according to the job's features.
#ifndef PENSTOCK_PIPELINE_AUGMENT_FEATURES_FEATURES_H_
#define PENSTOCK_PIPELINE_AUGMENT_FEATURES_FEATURES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/augment/value/arena.h"
#include "pipeline/augment/value/value.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/record_parser.h"

namespace penstock::augment {

// One checked feature, with its defaults expanded.
struct FeaturePlan {
  std::string column;  // name in the batch
  std::string label;   // "features[0] (key 'image/encoded')"
  ValueType type;      // type of its value
  records::FeatureRequest request;
  size_t elements = 1;      // elements of a fixed tensor, or of one ragged element
  bool fixed_count = true;  // the record must hold exactly `elements`
  bool has_default = false;
  std::string default_numbers;  // all elements, little-endian
  std::vector<std::string> default_strings;

  size_t element_bytes() const { return batch::DTypeSize(type.dtype); }
  bool is_string() const { return type.dtype == batch::DType::kString; }
};

// All features of a job. Immutable, thread-safe.
class FeatureSet {
 public:
  // Adds "features[i].FIELD: MESSAGE" to *errors per mistake. The set is usable only if it added none.
  static FeatureSet Create(const v1::JobSpec& job, std::vector<std::string>* errors);

  const std::vector<FeaturePlan>& plans() const { return plans_; }

  // Parses `record`. The result has one entry per plan. Its bytes point into the record.
  absl::Status Parse(std::string_view record, records::ParsedExample* out) const;

  // The three functions below return InvalidArgument if the record's values are missing without a default, or do not
  // have the shape. ReadString reads the single string of a plan whose type IsEncoded. *out points into the record or,
  // for a default, this object.
  absl::Status ReadString(size_t plan, const records::ParsedExample& parsed, std::string_view* out) const;
  // Reads the dense elements of a plan with a fixed shape. *out points into the record, the parsed values, the arena
  // or, for a default, this object.
  absl::Status ReadTensor(size_t plan, const records::ParsedExample& parsed, Arena* arena, const uint8_t** out) const;
  // Replaces *out with the encoding of a ragged plan's values (pipeline/batch/row.h).
  absl::Status ReadRagged(size_t plan, const records::ParsedExample& parsed, std::string* out) const;

 private:
  std::vector<FeaturePlan> plans_;
  bool raw_ = false;
  std::optional<records::RecordParser> parser_;
};

// Returns the format of the job's records.
v1::RecordFormat RecordFormatOf(const v1::JobSpec& job);
// Returns the format of the job's parser. RAW records need no parser; the result for them is kExample.
records::RecordFormat ParserFormatOf(const v1::JobSpec& job);

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_FEATURES_FEATURES_H_
