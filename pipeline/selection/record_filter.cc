#include "pipeline/selection/record_filter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "pipeline/selection/sample_features.h"

namespace penstock::selection {
namespace {

select::Value SingleValue(const records::FeatureValue& value) {
  if (value.count() > 1) return select::Value::Several(static_cast<int64_t>(value.count()));
  if (!value.ints.empty()) return select::Value::Int64(value.ints[0]);
  if (!value.floats.empty()) return select::Value::Double(value.floats[0]);
  if (!value.bytes.empty()) return select::Value::String(value.bytes[0]);
  return select::Value::Missing();
}

select::Value ValueOf(select::Operand::Fact fact, const records::FeatureValue& value) {
  switch (fact) {
    case select::Operand::Fact::kValue:
      return SingleValue(value);
    case select::Operand::Fact::kLen:
      return select::Value::Int64(static_cast<int64_t>(value.count()));
    case select::Operand::Fact::kBytes: {
      size_t bytes = 0;
      for (const std::string_view each : value.bytes) bytes += each.size();
      return select::Value::Int64(static_cast<int64_t>(bytes));
    }
    case select::Operand::Fact::kHas:
      return select::Value::Bool(value.count() > 0);
  }
  return select::Value::Missing();
}

}  // namespace

absl::StatusOr<RecordFilter> RecordFilter::Create(std::vector<Step> steps, const FeatureTypes& types) {
  std::vector<std::string> names;
  std::vector<records::FeatureRequest> requests;
  std::vector<ParsedStep> parsed_steps;
  for (Step& step : steps) {
    std::vector<size_t> places;
    std::vector<records::FeatureRequest> own;
    for (const select::Operand& operand : step.operands()) {
      const auto found = std::find(names.begin(), names.end(), operand.feature);
      places.push_back(static_cast<size_t>(found - names.begin()));
      own.push_back(types.RequestOf(operand.feature));
      if (found != names.end()) continue;
      names.push_back(operand.feature);
      requests.push_back(types.RequestOf(operand.feature));
    }
    PS_ASSIGN_OR_RETURN(records::RecordParser parser,
                        records::RecordParser::Create(std::move(own), {.format = types.format()}));
    parsed_steps.push_back({std::move(step), std::move(places), std::move(parser)});
  }
  PS_ASSIGN_OR_RETURN(records::RecordParser parser,
                      records::RecordParser::Create(requests, {.format = types.format()}));
  RecordFilter filter(std::move(parsed_steps), std::move(parser));
  filter.format_ = types.format();
  filter.requests_ = std::move(requests);
  filter.names_ = std::move(names);
  return filter;
}

std::shared_ptr<const sources::RequestedFeatures> RecordFilter::FeaturesToRead(sources::ContainerKind container) const {
  const auto reads_content = [](const ParsedStep& parsed) { return parsed.step.reads_content(); };
  return std::any_of(steps_.begin(), steps_.end(), reads_content) ? nullptr : FeaturesOf(container, names_);
}

absl::StatusOr<bool> RecordFilter::Matches(std::string_view record, Scratch* scratch) const {
  PS_ASSIGN_OR_RETURN(const size_t matches, CountMatches(record, scratch));
  return matches == steps_.size();
}

absl::StatusOr<bool> RecordFilter::Keeps(const Step& step, std::string_view record, Scratch* scratch) const {
  if (step.packing()) {
    PS_ASSIGN_OR_RETURN(const std::optional<uint32_t> length, step.LengthOf(scratch->values));
    scratch->length = length.value_or(0);
    return length.has_value();
  }
  if (step.windows()) {
    PS_ASSIGN_OR_RETURN(scratch->run, step.RunOf(scratch->values));
    return true;
  }
  if (!step.makes_groups()) return step.Keeps(record, format_, scratch->values);
  PS_ASSIGN_OR_RETURN(scratch->group, step.GroupOf(scratch->values));
  return true;
}

absl::StatusOr<size_t> RecordFilter::CountMatches(std::string_view record, Scratch* scratch) const {
  if (requests_.empty()) {
    scratch->parsed.clear();
  } else {
    const absl::Status parsed = parser_.Parse(record, &scratch->parsed);
    if (!parsed.ok()) return CountStepByStep(record, parsed, scratch);
  }
  for (size_t n = 0; n < steps_.size(); ++n) {
    const auto& [step, places, parser] = steps_[n];
    scratch->values.clear();
    for (size_t i = 0; i < places.size(); ++i) {
      scratch->values.push_back(ValueOf(step.operands()[i].fact, scratch->parsed[places[i]]));
    }
    PS_ASSIGN_OR_RETURN(const bool keeps, Keeps(step, record, scratch));
    if (!keeps) return n;
  }
  return steps_.size();
}

// Slower than one parse, but a record that an early step drops is not bad because of a later one.
absl::StatusOr<size_t> RecordFilter::CountStepByStep(std::string_view record, const absl::Status& parsed,
                                                     Scratch* scratch) const {
  for (size_t n = 0; n < steps_.size(); ++n) {
    const auto& [step, places, parser] = steps_[n];
    if (!places.empty() && !parser.Parse(record, &scratch->parsed).ok()) {
      return FaultOf(parsed) == Fault::kWrongKind ? WrongType(record, parsed) : parsed;
    }
    scratch->values.clear();
    for (size_t i = 0; i < places.size(); ++i) {
      scratch->values.push_back(ValueOf(step.operands()[i].fact, scratch->parsed[i]));
    }
    PS_ASSIGN_OR_RETURN(const bool keeps, Keeps(step, record, scratch));
    if (!keeps) {
      scratch->parsed.clear();
      return n;
    }
  }
  return steps_.size();
}

absl::Status RecordFilter::WrongType(std::string_view record, const absl::Status& parsed) const {
  if (format_ != records::RecordFormat::kExample && format_ != records::RecordFormat::kSequenceExample) return parsed;
  PS_ASSIGN_OR_RETURN(const std::vector<records::FeatureInfo> infos, records::ListFeatures(record, format_));
  for (const records::FeatureInfo& info : infos) {
    for (const records::FeatureRequest& request : requests_) {
      if (info.key != request.key || info.sequence != request.sequence || info.kind == request.kind) continue;
      return WithFault(
          Fault::kWrongKind,
          absl::InvalidArgumentError(absl::StrCat(
              "the feature '", info.key, "' is ", std::string(records::FeatureKindName(info.kind)), " here, but ",
              std::string(records::FeatureKindName(request.kind)), " in the first records")));
    }
  }
  return parsed;
}

}  // namespace penstock::selection
