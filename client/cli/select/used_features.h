// The features that an expression uses, as values of a record.
#ifndef PENSTOCK_CLIENT_CLI_SELECT_USED_FEATURES_H_
#define PENSTOCK_CLIENT_CLI_SELECT_USED_FEATURES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/select/feature_types.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/record_parser.h"
#include "pipeline/select/expression.h"

namespace penstock::cli {

// Immutable, thread-safe.
class UsedFeatures {
 public:
  // `types` must have the features of the expression. Returns the errors of RecordParser.
  static absl::StatusOr<UsedFeatures> Create(const select::Expression& expression, const FeatureTypes& types);

  // Returns the names, each once, in the order of the expression.
  const std::vector<std::string>& names() const { return names_; }

  // Memory that a thread keeps from record to record.
  struct Scratch {
    records::ParsedExample parsed;
    std::vector<select::Value> values;
  };

  // Returns whether the record matches. Returns the errors of the parser and of Expression::Matches(). Fills
  // scratch->parsed with the values of names().
  absl::StatusOr<bool> Matches(std::string_view record, Scratch* scratch) const;

  // Returns a feature's values for display, the first 8 of them, or "none". A text is in quotes and has at most 60
  // bytes. Other bytes are "(107245 bytes)".
  static std::string Text(const records::FeatureValue& value);

 private:
  UsedFeatures(select::Expression expression, records::RecordParser parser)
      : expression_(std::move(expression)), parser_(std::move(parser)) {}

  // Returns the error of a record in which a feature has another type than in the first records. `parsed` is the error
  // of the parser.
  absl::Status WrongType(std::string_view record, const absl::Status& parsed) const;

  select::Expression expression_;
  records::RecordFormat format_ = records::RecordFormat::kExample;
  std::vector<records::FeatureRequest> requests_;  // by name
  records::RecordParser parser_;
  std::vector<std::string> names_;
  std::vector<size_t> places_;  // by operand: index in names_
};

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_SELECT_USED_FEATURES_H_
