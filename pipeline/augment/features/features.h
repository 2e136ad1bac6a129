// From a record's bytes to the first value of each column, as the job's features say.
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

namespace penstock {

// One feature, checked, with its defaults spread out.
struct FeaturePlan {
  std::string column;  // its name in the batch
  std::string label;   // "features[0] (key 'image/encoded')"
  ValueType type;      // what comes out
  FeatureRequest request;
  size_t elements = 1;      // of a fixed tensor, or of one ragged element
  bool fixed_count = true;  // the record must hold exactly `elements`
  bool has_default = false;
  std::string default_numbers;  // little-endian, whole
  std::vector<std::string> default_strings;

  size_t element_bytes() const { return DTypeSize(type.dtype); }
  bool is_string() const { return type.dtype == DType::kString; }
};

// All features of a job. Immutable, thread-safe.
class FeatureSet {
 public:
  // Adds "features[i].FIELD: MESSAGE" to *errors for every mistake; without one the set is ready.
  static FeatureSet Create(const v1::JobSpec& job, std::vector<std::string>* errors);

  const std::vector<FeaturePlan>& plans() const { return plans_; }

  // Parses `record`; the result has one entry for each plan, and points into the record.
  absl::Status Parse(std::string_view record, ParsedExample* out) const;

  // The single string of a plan whose type IsEncoded.
  absl::Status ReadString(size_t plan, const ParsedExample& parsed, std::string_view* out) const;
  // The dense elements of a plan of fixed shape: in the record, in the parsed values or in the arena.
  absl::Status ReadTensor(size_t plan, const ParsedExample& parsed, Arena* arena, const uint8_t** out) const;
  // Replaces *out by the encoding of a ragged plan's values (pipeline/batch/row.h).
  absl::Status ReadRagged(size_t plan, const ParsedExample& parsed, std::string* out) const;

 private:
  std::vector<FeaturePlan> plans_;
  bool raw_ = false;
  std::optional<ExampleParser> parser_;
};

// The format of the job's records.
v1::RecordFormat RecordFormatOf(const v1::JobSpec& job);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_FEATURES_FEATURES_H_
