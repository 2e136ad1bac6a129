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
#include "pipeline/augment/op/sample_key.h"
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
  // A column of a fixed number of values, `elements`, some of which may be padding.
  bool is_padded = false;
  bool truncate = false;                    // a record may have more values
  v1::PadTo::Keep keep = v1::PadTo::FIRST;  // the values that stay then
  std::string padding;                      // one value of the padding, little-endian
  // A column that no feature of the record has: facts about the packed records, or the number of values of a padded
  // feature, `source`. Its value is little-endian.
  enum class Made : uint8_t { kNo, kSegmentIds, kPositions, kLengths, kRecords, kCount };
  Made made = Made::kNo;
  size_t source = 0;  // kCount: number of the plan

  size_t element_bytes() const { return batch::DTypeSize(type.dtype); }
  bool is_string() const { return type.dtype == batch::DType::kString; }
};

// All features of a job. Immutable, thread-safe.
class FeatureSet {
 public:
  // Adds "features[i].FIELD: MESSAGE" to *errors per mistake. The set is usable only if it added none.
  static FeatureSet Create(const v1::JobSpec& job, std::vector<std::string>* errors);

  // Returns the plans of the job's features, in their order, then those of columns that are made.
  const std::vector<FeaturePlan>& plans() const { return plans_; }
  // Returns the bytes that a row needs for its padding: those of all padded columns, and of the columns of a window.
  size_t padded_bytes() const;
  // Returns whether the records are rows of several records: packed, or windows.
  bool is_packed() const { return !packed_.empty(); }
  // Returns whether a column depends on the key of the sample.
  bool draws() const;

  // Parses `record`, which may be a row of packed records (sources/pack_frame.h). The result has one entry per plan.
  // Its bytes point into the record, or into the result.
  absl::Status Parse(std::string_view record, records::ParsedExample* out) const;

  // The three functions below return InvalidArgument if the record's values are missing without a default, or do not
  // have the shape. ReadString reads the single string of a plan whose type IsEncoded. *out points into the record or,
  // for a default, this object.
  absl::Status ReadString(size_t plan, const records::ParsedExample& parsed, std::string_view* out) const;
  // Reads the dense elements of a plan with a fixed shape, and its padding. *out points into the record, the parsed
  // values, the arena or, for a default, this object. `key` decides which values of a longer list stay, if they are
  // drawn.
  absl::Status ReadTensor(size_t plan, const records::ParsedExample& parsed, const SampleKey& key, Arena* arena,
                          const uint8_t** out) const;
  // Replaces *out with the encoding of a ragged plan's values (pipeline/batch/row.h).
  absl::Status ReadRagged(size_t plan, const records::ParsedExample& parsed, std::string* out) const;

 private:
  // Checks the padding of the features and the pack of the job, and adds their columns (padded_columns.cc).
  void PlanPadding(const v1::JobSpec& job, std::vector<std::string>* errors);
  void PlanPack(const v1::JobSpec& job, std::vector<std::string>* errors);
  void PlanWindow(const v1::JobSpec& job, std::vector<std::string>* errors);
  void AddMade(FeaturePlan::Made made, const std::string& column, size_t source, const std::string& field,
               std::vector<std::string>* errors);
  // Parses a row of several records (packed_row.cc).
  absl::Status ParseRow(std::string_view row, records::ParsedExample* out) const;
  // Appends the values of feature f in one record of a window. Without values, the feature must have a default.
  absl::Status AppendValues(size_t f, const records::FeatureValue& value, records::FeatureValue* row,
                            std::vector<size_t>* sizes) const;
  // Sets the values of columns that are made.
  void AddCounts(records::ParsedExample* out) const;

  std::vector<FeaturePlan> plans_;
  size_t features_ = 0;       // plans of the job's features; columns that are made follow
  std::vector<char> packed_;  // by feature: whether a pack has it; empty: rows are single records
  size_t align_ = 1;          // values of a packed record begin at multiples of this number
  size_t window_ = 0;         // records of a window; 0: rows are no windows
  bool raw_ = false;
  std::optional<records::RecordParser> parser_;
};

// Returns the format of the job's records.
v1::RecordFormat RecordFormatOf(const v1::JobSpec& job);
// Returns the format of the job's parser. RAW records need no parser; the result for them is kExample.
records::RecordFormat ParserFormatOf(const v1::JobSpec& job);

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_FEATURES_FEATURES_H_
