// Evaluates expressions for the bytes of a record.
#ifndef PENSTOCK_PIPELINE_SELECTION_RECORD_FILTER_H_
#define PENSTOCK_PIPELINE_SELECTION_RECORD_FILTER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/record_parser.h"
#include "pipeline/select/expression.h"
#include "pipeline/selection/feature_types.h"

namespace penstock::selection {

// Immutable, thread-safe.
class RecordFilter {
 public:
  // Creates the filter of the records that match each of `expressions`. `types` must have their features. Returns the
  // errors of RecordParser.
  static absl::StatusOr<RecordFilter> Create(std::vector<select::Expression> expressions, const FeatureTypes& types);

  // Returns the number of expressions.
  size_t size() const { return steps_.size(); }
  // Returns the features' names, each once, in the order of the expressions.
  const std::vector<std::string>& names() const { return names_; }

  // Memory that a thread keeps from record to record.
  struct Scratch {
    records::ParsedExample parsed;
    std::vector<select::Value> values;
  };

  // Returns the number of expressions, from the first on, that the record matches before one that it does not match.
  // Evaluates no expression after that one, so a record is not bad because of its features. Returns the errors of the
  // parser and of Expression::Matches(). If the record matches all, scratch->parsed has the values of names().
  absl::StatusOr<size_t> CountMatches(std::string_view record, Scratch* scratch) const;
  // Returns whether the record matches all expressions.
  absl::StatusOr<bool> Matches(std::string_view record, Scratch* scratch) const;

 private:
  struct Step {
    select::Expression expression;
    std::vector<size_t> places;    // by operand: index in names_
    records::RecordParser parser;  // finds the operands, in their order
  };

  RecordFilter(std::vector<Step> steps, records::RecordParser parser)
      : steps_(std::move(steps)), parser_(std::move(parser)) {}

  // Does the same as CountMatches() for a record in which a feature of some step is bad. `parsed` is that error.
  absl::StatusOr<size_t> CountStepByStep(std::string_view record, const absl::Status& parsed, Scratch* scratch) const;
  // Returns the error of a record in which a feature has another type than in the first records. `parsed` is the error
  // of the parser.
  absl::Status WrongType(std::string_view record, const absl::Status& parsed) const;

  std::vector<Step> steps_;
  records::RecordFormat format_ = records::RecordFormat::kExample;
  std::vector<records::FeatureRequest> requests_;  // by name
  records::RecordParser parser_;
  std::vector<std::string> names_;
};

}  // namespace penstock::selection

#endif  // PENSTOCK_PIPELINE_SELECTION_RECORD_FILTER_H_
