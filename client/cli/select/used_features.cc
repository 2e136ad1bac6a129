#include "client/cli/select/used_features.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fault.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/utf8.h"

namespace penstock::cli {
namespace {

constexpr size_t kShownValues = 8, kShownBytes = 60;

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

// Returns the start of a text in quotes, or only the length of bytes that are no text.
std::string BytesText(std::string_view bytes) {
  size_t end = 0;
  while (end < bytes.size()) {
    const size_t length = Utf8SequenceLength(bytes, end);
    const bool control = length == 1 && static_cast<unsigned char>(bytes[end]) < 0x20 && bytes[end] != '\n' &&
                         bytes[end] != '\t' && bytes[end] != '\r';
    if (length == 0 || control) return absl::StrCat("(", bytes.size(), " bytes)");
    if (end + length > kShownBytes) break;
    end += length;
  }
  return absl::StrCat(Json::Quote(bytes.substr(0, end)),
                      end < bytes.size() ? absl::StrCat("... (", bytes.size(), " bytes)") : "");
}

}  // namespace

absl::StatusOr<UsedFeatures> UsedFeatures::Create(const select::Expression& expression, const FeatureTypes& types) {
  std::vector<std::string> names;
  std::vector<size_t> places;
  std::vector<records::FeatureRequest> requests;
  for (const select::Operand& operand : expression.operands()) {
    const auto found = std::find(names.begin(), names.end(), operand.feature);
    places.push_back(static_cast<size_t>(found - names.begin()));
    if (found != names.end()) continue;
    names.push_back(operand.feature);
    requests.push_back(types.RequestOf(operand.feature));
  }
  PS_ASSIGN_OR_RETURN(records::RecordParser parser,
                      records::RecordParser::Create(requests, {.format = types.format()}));
  UsedFeatures used(expression, std::move(parser));
  used.format_ = types.format();
  used.requests_ = std::move(requests);
  used.names_ = std::move(names);
  used.places_ = std::move(places);
  return used;
}

absl::StatusOr<bool> UsedFeatures::Matches(std::string_view record, Scratch* scratch) const {
  if (const absl::Status parsed = parser_.Parse(record, &scratch->parsed); !parsed.ok()) {
    return FaultOf(parsed) == Fault::kWrongKind ? WrongType(record, parsed) : parsed;
  }
  scratch->values.clear();
  for (size_t i = 0; i < places_.size(); ++i) {
    scratch->values.push_back(ValueOf(expression_.operands()[i].fact, scratch->parsed[places_[i]]));
  }
  return expression_.Matches(scratch->values);
}

absl::Status UsedFeatures::WrongType(std::string_view record, const absl::Status& parsed) const {
  if (format_ == records::RecordFormat::kSample) return parsed;
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

std::string UsedFeatures::Text(const records::FeatureValue& value) {
  if (value.count() == 0) return "none";
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(value.count(), kShownValues); ++i) {
    if (!value.ints.empty()) {
      shown.push_back(absl::StrCat(value.ints[i]));
    } else if (!value.floats.empty()) {
      shown.push_back(absl::StrCat(value.floats[i]));
    } else {
      shown.push_back(BytesText(value.bytes[i]));
    }
  }
  return absl::StrCat(absl::StrJoin(shown, " "),
                      value.count() > kShownValues ? absl::StrCat(" ... (", value.count(), " values)") : "");
}

}  // namespace penstock::cli
