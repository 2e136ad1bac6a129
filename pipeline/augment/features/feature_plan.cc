// Checks of the job's features.
#include <bit>
#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"
#include "pipeline/augment/features/features.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/records/job_format.h"

namespace penstock::augment {
namespace {

constexpr uint64_t kDefaultRecordBytes = uint64_t{256} << 20;

// Receives the mistakes of one feature.
struct Report {
  std::string path;
  std::vector<std::string>* errors;
  void Error(std::string_view field, std::string_view message) const {
    errors->push_back(absl::StrCat(path, field.empty() ? "" : ".", std::string(field), ": ", std::string(message)));
  }
};

template <typename T, typename Numbers>
std::string Spread(const Numbers& numbers, size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) {
    const T value = numbers.Get(numbers.size() == 1 ? 0 : static_cast<int>(i));
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return bytes;
}

void PlanType(const v1::Feature& feature, const Report& report, FeaturePlan* plan) {
  ValueType& type = plan->type;
  switch (feature.type()) {
    case v1::Feature::BYTES:
      plan->request.kind = records::FeatureKind::kBytes;
      type.dtype = batch::DType::kString;
      break;
    case v1::Feature::INT64:
      plan->request.kind = records::FeatureKind::kInt64;
      type.dtype = batch::DType::kInt64;
      break;
    case v1::Feature::FLOAT:
      plan->request.kind = records::FeatureKind::kFloat;
      type.dtype = batch::DType::kFloat32;
      break;
    default:
      report.Error("type", "must be BYTES, INT64 or FLOAT");
      return;
  }
  if (feature.decode_raw() == v1::DATA_TYPE_UNSPECIFIED) return;
  if (feature.type() != v1::Feature::BYTES) {
    report.Error("decode_raw", "is for BYTES only");
  } else if (!batch::IsDType(feature.decode_raw()) || feature.decode_raw() == v1::STRING) {
    report.Error("decode_raw", "must name a numeric type, such as UINT8");
  } else {
    type.dtype = static_cast<batch::DType>(feature.decode_raw());
    plan->request.element_bytes = static_cast<uint32_t>(batch::DTypeSize(type.dtype));
  }
}

void PlanShape(const v1::Feature& feature, uint64_t max_bytes, const Report& report, FeaturePlan* plan) {
  ValueType& type = plan->type;
  for (const int64_t extent : feature.shape()) {
    if (extent < 1 || static_cast<uint64_t>(extent) > max_bytes / plan->elements) {
      report.Error("shape", absl::StrCat("has an extent of ", extent,
                                         "; extents are positive and a value fits max_record_bytes"));
      return;
    }
    plan->elements *= static_cast<size_t>(extent);
  }
  type.ragged = feature.variable_length() || feature.sequence();
  plan->fixed_count = !type.ragged;
  if (!plan->is_string()) {
    type.shape.assign(feature.shape().begin(), feature.shape().end());
    return;
  }
  if (type.ragged && !feature.shape().empty()) {
    report.Error("shape", "goes with numbers; a list of strings of any length has none");
  }
  // Strings have no fixed size. A shape fixes only their number.
  type.scalar = !type.ragged && feature.shape().empty();
  type.ragged = true;
}

void PlanDefault(const v1::Feature& feature, const Report& report, FeaturePlan* plan) {
  if (!feature.has_default_()) return;
  const v1::Default& values = feature.default_();
  const size_t ints = static_cast<size_t>(values.ints_size());
  const size_t floats = static_cast<size_t>(values.floats_size());
  const size_t strings = static_cast<size_t>(values.bytes_values_size());
  const bool wrong = (feature.type() != v1::Feature::INT64 && ints > 0) ||
                     (feature.type() != v1::Feature::FLOAT && floats > 0) ||
                     (feature.type() != v1::Feature::BYTES && strings > 0);
  if (wrong || ints + floats + strings == 0) {
    report.Error("default", "must hold ints for INT64, floats for FLOAT, bytes_values for BYTES");
    return;
  }
  plan->has_default = true;
  if (plan->is_string()) {
    plan->default_strings.assign(values.bytes_values().begin(), values.bytes_values().end());
    if (plan->fixed_count && strings == 1) plan->default_strings.resize(plan->elements, plan->default_strings[0]);
    if (plan->fixed_count && plan->default_strings.size() != plan->elements) {
      report.Error("default", absl::StrCat("has ", strings, " values for a shape of ", plan->elements));
    }
    return;
  }
  size_t count = plan->elements;
  if (strings > 0) {
    for (const std::string& value : values.bytes_values()) plan->default_numbers += value;
    count = plan->default_numbers.size() / plan->element_bytes();
    if (count * plan->element_bytes() != plan->default_numbers.size()) count = 0;
  } else {
    const size_t given = ints + floats;
    if (plan->type.ragged && given != 1) count = given;
    if (given != 1 && given != count) {
      count = given;
    } else if (ints > 0) {
      plan->default_numbers = Spread<int64_t>(values.ints(), count);
    } else {
      plan->default_numbers = Spread<float>(values.floats(), count);
    }
  }
  const bool fits = plan->type.ragged ? count > 0 && count % plan->elements == 0 : count == plan->elements;
  if (!fits) {
    report.Error("default", absl::StrCat("does not fill the shape of ", plan->elements, " elements"));
  }
}

}  // namespace

v1::RecordFormat RecordFormatOf(const v1::JobSpec& job) { return plan::DatasetOf(job).format(); }

records::RecordFormat ParserFormatOf(const v1::JobSpec& job) { return records::FormatOf(RecordFormatOf(job)); }

FeatureSet FeatureSet::Create(const v1::JobSpec& job, std::vector<std::string>* errors) {
  static_assert(std::endian::native == std::endian::little, "rows are little-endian");
  FeatureSet set;
  const size_t before = errors->size();
  const v1::RecordFormat format = RecordFormatOf(job);
  const uint64_t max_bytes =
      job.limits().max_record_bytes() > 0 ? job.limits().max_record_bytes() : kDefaultRecordBytes;
  set.raw_ = format == v1::RAW;
  if (job.features_size() == 0) errors->push_back("features: there must be at least one");
  std::set<std::string> columns;
  for (int i = 0; i < job.features_size(); ++i) {
    const v1::Feature& feature = job.features(i);
    const Report report{absl::StrCat("features[", i, "]"), errors};
    FeaturePlan plan;
    plan.column = feature.column().empty() ? feature.key() : feature.column();
    plan.label = set.raw_ ? report.path : absl::StrCat(report.path, " (key '", feature.key(), "')");
    plan.request.key = feature.key();
    plan.request.sequence = feature.sequence();
    if (feature.key().empty() && !set.raw_) report.Error("key", "is missing");
    if (plan.column.empty()) {
      report.Error("column", "is missing");
    } else if (!columns.insert(plan.column).second) {
      report.Error("column", absl::StrCat("'", plan.column, "' is the name of an earlier feature's column too"));
    }
    PlanType(feature, report, &plan);
    PlanShape(feature, max_bytes, report, &plan);
    PlanDefault(feature, report, &plan);
    if (feature.sequence() && format != v1::SEQUENCE_EXAMPLE) {
      report.Error("sequence", "needs dataset.format: SEQUENCE_EXAMPLE");
    }
    if (set.raw_ && (feature.type() != v1::Feature::BYTES || feature.variable_length())) {
      report.Error("type", "must be BYTES with a fixed shape, because the records are RAW");
    }
    set.plans_.push_back(std::move(plan));
  }
  set.features_ = set.plans_.size();
  set.PlanPadding(job, errors);
  set.PlanPack(job, errors);
  set.PlanWindow(job, errors);
  if (set.raw_ && job.features_size() > 1) {
    errors->push_back("features: a RAW record is one feature; take out the others");
  }
  if (errors->size() != before || set.raw_) return set;
  std::vector<records::FeatureRequest> requests;
  for (size_t i = 0; i < set.features_; ++i) requests.push_back(set.plans_[i].request);
  auto parser =
      records::RecordParser::Create(std::move(requests), {.format = ParserFormatOf(job), .max_value_bytes = max_bytes});
  if (!parser.ok()) {
    errors->push_back(absl::StrCat("features: ", parser.status().message()));
    return set;
  }
  set.parser_ = *std::move(parser);
  return set;
}

}  // namespace penstock::augment
