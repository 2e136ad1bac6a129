// One step of a job's selection (docs/select.md).
#ifndef PENSTOCK_PIPELINE_SELECTION_STEP_H_
#define PENSTOCK_PIPELINE_SELECTION_STEP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/plan/record_packs.h"
#include "pipeline/plan/record_windows.h"
#include "pipeline/select/expression.h"
#include "pipeline/selection/feature_types.h"

namespace penstock::selection {

// Immutable, thread-safe.
class Step {
 public:
  // Creates the step that keeps the records that match the condition.
  explicit Step(select::Expression condition) : expression_(std::move(condition)) {}

  // Parses `step`, whose name in messages is `place`, for features of these types. Returns InvalidArgument if it is
  // wrong or of a newer release; the message may have several lines.
  static absl::StatusOr<Step> Parse(const v1::Select& step, const std::string& place, const FeatureTypes& types);

  // Returns the operands of the step's expression, if it has one.
  std::span<const select::Operand> operands() const;
  // Returns whether the step needs all bytes of a record.
  bool reads_content() const { return !expression_ && !packing_ && !windows_; }
  // Returns whether the step makes groups of the records, and keeps those that have one.
  bool makes_groups() const { return groups_ != Groups::kNone; }
  // Returns how the step packs records; none if it does not.
  const std::optional<plan::PackOptions>& packing() const { return packing_; }
  // Returns the windows that the step makes of the records; none if it makes none.
  const std::optional<plan::WindowOptions>& windows() const { return windows_; }

  // Returns whether the step, which makes no groups, keeps the record. `values` are those of operands(). `record` may
  // be a part of the record unless reads_content(). Returns InvalidArgument if the record is bad: it has no value to
  // split by, or the errors of Expression::Evaluate() and HashContent().
  absl::StatusOr<bool> Keeps(std::string_view record, records::RecordFormat format,
                             std::span<const select::Value> values) const;
  // Returns the name of a record's group: the text of its value or, if groups are sorted, its key
  // (base/ordered_key.h). `values` are as for Keeps(). Requires makes_groups(). Returns InvalidArgument if the record
  // has no value or NaN, one of more than kMaxGroupName bytes, or a weight that is negative or infinite.
  absl::StatusOr<std::string> GroupOf(std::span<const select::Value> values) const;
  // Returns the number of a record's values that are packed; none if the step drops the record, because it has too
  // many. `values` are as for Keeps(). Requires packing(). Returns InvalidArgument if the packed features have
  // different numbers of values, or too many.
  absl::StatusOr<std::optional<uint32_t>> LengthOf(std::span<const select::Value> values) const;
  static constexpr size_t kMaxGroupName = 256;
  // Returns the key of a record's run: two records have one key if their values are equal. `values` are as for Keeps().
  // Requires windows(). Returns InvalidArgument if the record has no value or NaN.
  absl::StatusOr<std::string> RunOf(std::span<const select::Value> values) const;

 private:
  // The hashes in a part of [0, 2^64).
  struct Part {
    uint64_t from = 0;
    std::optional<uint64_t> to = {};  // none: up to the end
    uint64_t seed = 0;
    bool of_sample = false;  // it compares the hash of the content hash
    bool Has(uint64_t hash) const { return hash >= from && (!to || hash < *to); }
  };

  enum class Groups : uint8_t { kNone, kBalanced, kWeighted, kSorted, kSized };

  explicit Step(Part part) : part_(part) {}

  // Parses the step that makes groups by the value of `by`, the field `field`.
  static absl::StatusOr<Step> ParseGroups(const std::string& by, const std::string& field, Groups groups,
                                          const FeatureTypes& types);

  static absl::StatusOr<Step> ParsePack(const v1::Pack& pack, const std::string& field, const FeatureTypes& types);
  static absl::StatusOr<Step> ParseWindow(const v1::RecordWindow& window, const std::string& field,
                                          const FeatureTypes& types);

  // Returns the value of the expression. Returns InvalidArgument if the record has none; `purpose` is for the message.
  absl::StatusOr<select::Value> ValueOf(std::span<const select::Value> values, absl::string_view purpose) const;
  absl::Status NoValue(absl::string_view purpose) const;

  std::optional<select::Expression> expression_;  // a condition, or the value that a part hashes; none: the content
  std::optional<Part> part_;                      // none: expression_ is a condition, or makes groups
  Groups groups_ = Groups::kNone;
  std::optional<plan::PackOptions> packing_;
  std::optional<plan::WindowOptions> windows_;
  bool longer_is_bad_ = false;              // packing_: a record with too many values is bad
  std::vector<select::Operand> lengths_;    // packing_: one for each packed feature
  std::vector<uint32_t> bytes_of_numbers_;  // by feature: the bytes of a number; 1 for values
};

// Returns the hash of a record's content: HashWithSeed() of its bytes. For a tar sample it is that of the hashes of
// each member's extension and data, in order, each as 8 little-endian bytes; so the names and times of members do not
// matter. Returns InvalidArgument for a malformed sample.
absl::StatusOr<uint64_t> HashContent(std::string_view record, records::RecordFormat format, uint64_t seed);

// Returns the step as messages and listings show it: a filter's text, or "split of patient_id from 0 to 0.9". The text
// has all that concerns indexes: of a step that makes groups, only the expression.
std::string StepText(const v1::Select& step);

}  // namespace penstock::selection

#endif  // PENSTOCK_PIPELINE_SELECTION_STEP_H_
