#include "client/cli/select/feature_types.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "pipeline/records/sample_parser.h"

namespace penstock::cli {
namespace {

constexpr char kSampleKey[] = "__key__";

records::FeatureKind KindOf(v1::Feature::Type type) {
  switch (type) {
    case v1::Feature::BYTES:
      return records::FeatureKind::kBytes;
    case v1::Feature::INT64:
      return records::FeatureKind::kInt64;
    case v1::Feature::FLOAT:
      return records::FeatureKind::kFloat;
    default:
      return records::FeatureKind::kNone;
  }
}

std::string NameOf(records::FeatureKind kind) { return std::string(records::FeatureKindName(kind)); }

}  // namespace

absl::Status FeatureTypes::AddRecord(const std::string& path, sources::ContainerKind container,
                                     std::string_view record) {
  std::vector<records::FeatureInfo> infos;
  if (container == sources::ContainerKind::kTar) {
    format_ = records::RecordFormat::kSample;
    PS_ASSIGN_OR_RETURN(infos, records::ListMembers(record));
    infos.push_back({.key = kSampleKey, .kind = records::FeatureKind::kBytes});
  } else {
    if (!format_) {
      PS_ASSIGN_OR_RETURN(format_, records::GuessFormat(record));
    }
    PS_ASSIGN_OR_RETURN(infos, records::ListFeatures(record, *format_));
  }
  for (const records::FeatureInfo& info : infos) {
    if (info.kind == records::FeatureKind::kNone) continue;
    const Known shown{.kind = info.kind, .sequence = info.sequence, .path = path, .last_path = path};
    const auto [found, added] = known_.emplace(info.key, shown);
    Known& known = found->second;
    if (added || known.last_path == path) continue;
    known.last_path = path;
    if (info.kind == known.kind || known.other != records::FeatureKind::kNone) continue;
    known.other = info.kind;
    known.other_path = path;
  }
  return absl::OkStatus();
}

void FeatureTypes::AddJob(const v1::JobSpec& job) {
  for (const v1::Feature& feature : job.features()) {
    const records::FeatureKind kind = KindOf(feature.type());
    if (kind != records::FeatureKind::kNone)
      known_.emplace(feature.key(), Known{.kind = kind, .sequence = feature.sequence()});
  }
}

std::map<std::string, select::ColumnType> FeatureTypes::Columns() const {
  std::map<std::string, select::ColumnType> columns;
  for (const auto& [name, known] : known_) {
    columns[name] = known.kind == records::FeatureKind::kInt64   ? select::ColumnType::kInt64
                    : known.kind == records::FeatureKind::kFloat ? select::ColumnType::kFloat
                                                                 : select::ColumnType::kBytes;
  }
  return columns;
}

records::FeatureRequest FeatureTypes::RequestOf(const std::string& feature) const {
  const auto found = known_.find(feature);
  PS_CHECK(found != known_.end());
  return {.key = feature, .kind = found->second.kind, .sequence = found->second.sequence};
}

absl::Status FeatureTypes::CheckSameTypes(const select::Expression& expression) const {
  for (const select::Operand& operand : expression.operands()) {
    const Known& known = known_.at(operand.feature);
    if (known.other == records::FeatureKind::kNone) continue;
    return absl::InvalidArgumentError(absl::StrCat("the feature '", operand.feature, "' is ", NameOf(known.kind),
                                                   " in ", known.path, " and ", NameOf(known.other), " in ",
                                                   known.other_path, "; select from files in which it has one type"));
  }
  return absl::OkStatus();
}

}  // namespace penstock::cli
