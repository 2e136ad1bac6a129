// Evaluates the steps of a selection for the bytes of a record.
#ifndef PENSTOCK_PIPELINE_SELECTION_RECORD_FILTER_H_
#define PENSTOCK_PIPELINE_SELECTION_RECORD_FILTER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/record_parser.h"
#include "pipeline/select/value.h"
#include "pipeline/selection/feature_types.h"
#include "pipeline/selection/step.h"
#include "pipeline/sources/requested_features.h"
#include "pipeline/sources/shard_kind.h"

namespace penstock::selection {

// Immutable, thread-safe.
class RecordFilter {
 public:
  // Creates the filter of the records that each of `steps` keeps. `types` must have their features. Returns the errors
  // of RecordParser.
  static absl::StatusOr<RecordFilter> Create(std::vector<Step> steps, const FeatureTypes& types);

  // Returns the number of steps.
  size_t size() const { return steps_.size(); }
  // Returns the features' names, each once, in the order of the steps.
  const std::vector<std::string>& names() const { return names_; }
  // Returns the request for what the steps need of a record in this container, or null if they need whole records.
  std::shared_ptr<const sources::RequestedFeatures> FeaturesToRead(sources::ContainerKind container) const;

  // Memory that a thread keeps from record to record.
  struct Scratch {
    records::ParsedExample parsed;
    std::vector<select::Value> values;
    std::string group;    // if makes_groups(): the group of the last record that all steps keep
    uint32_t length = 0;  // if packing(): the packed values of that record
    std::string run;      // if windows(): the key of its run
  };

  // Returns the number of steps, from the first on, that keep the record before one that drops it. Evaluates no step
  // after that one, so a record is not bad because of its features. Returns the errors of the parser and of
  // Step::Keeps(). Afterwards scratch->parsed has the values of names(). It is empty if a step drops the record and a
  // feature of another step is bad.
  absl::StatusOr<size_t> CountMatches(std::string_view record, Scratch* scratch) const;
  // Returns whether the last step makes groups of the records.
  bool makes_groups() const { return !steps_.empty() && steps_.back().step.makes_groups(); }
  // Returns how the last step packs records, or null if it does not.
  const plan::PackOptions* packing() const {
    return !steps_.empty() && steps_.back().step.packing() ? &*steps_.back().step.packing() : nullptr;
  }
  // Returns the windows that the last step makes of the records, or null if it makes none.
  const plan::WindowOptions* windows() const {
    return !steps_.empty() && steps_.back().step.windows() ? &*steps_.back().step.windows() : nullptr;
  }
  // Returns whether all steps keep the record.
  absl::StatusOr<bool> Matches(std::string_view record, Scratch* scratch) const;

 private:
  struct ParsedStep {
    Step step;
    std::vector<size_t> places;    // by operand: index in names_
    records::RecordParser parser;  // finds the operands, in their order
  };

  RecordFilter(std::vector<ParsedStep> steps, records::RecordParser parser)
      : steps_(std::move(steps)), parser_(std::move(parser)) {}

  // Returns whether the step keeps the record. Sets scratch->group if the step makes groups, scratch->length if it
  // packs records, and scratch->run if it makes windows.
  absl::StatusOr<bool> Keeps(const Step& step, std::string_view record, Scratch* scratch) const;
  // Does the same as CountMatches() for a record in which a feature of some step is bad. `parsed` is that error.
  absl::StatusOr<size_t> CountStepByStep(std::string_view record, const absl::Status& parsed, Scratch* scratch) const;
  // Returns the error of a record in which a feature has another type than in the first records. `parsed` is the error
  // of the parser.
  absl::Status WrongType(std::string_view record, const absl::Status& parsed) const;

  std::vector<ParsedStep> steps_;
  records::RecordFormat format_ = records::RecordFormat::kExample;
  std::vector<records::FeatureRequest> requests_;  // by name
  records::RecordParser parser_;
  std::vector<std::string> names_;
};

}  // namespace penstock::selection

#endif  // PENSTOCK_PIPELINE_SELECTION_RECORD_FILTER_H_
