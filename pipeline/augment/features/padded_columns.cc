// Checks of padded features, of packs and of windows of records.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/half.h"
#include "base/near_name.h"
#include "pipeline/augment/features/features.h"
#include "pipeline/plan/job_dataset.h"

namespace penstock::augment {
namespace {

constexpr char kPack[] = "dataset.select.pack", kWindow[] = "dataset.select.window";
constexpr size_t kMostDefaultBytes = 64 << 20;  // the defaults of all records in a window

template <typename T>
std::optional<std::string> BytesOf(double value) {
  // 2^63 is a double, and the largest int64 is not.
  const double least = static_cast<double>(std::numeric_limits<T>::lowest());
  const double most = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (!std::is_floating_point_v<T> && !(value == std::floor(value) && value >= least && value < most)) {
    return std::nullopt;
  }
  const T number = static_cast<T>(value);
  return std::string(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Returns the bytes of a number of this type, or none if the type does not have the number.
std::optional<std::string> BytesOf(batch::DType dtype, double value) {
  switch (dtype) {
    case batch::DType::kBool:
      if (value != 0 && value != 1) return std::nullopt;
      return BytesOf<uint8_t>(value);
    case batch::DType::kUint8:
      return BytesOf<uint8_t>(value);
    case batch::DType::kInt8:
      return BytesOf<int8_t>(value);
    case batch::DType::kUint16:
      return BytesOf<uint16_t>(value);
    case batch::DType::kInt16:
      return BytesOf<int16_t>(value);
    case batch::DType::kUint32:
      return BytesOf<uint32_t>(value);
    case batch::DType::kInt32:
      return BytesOf<int32_t>(value);
    case batch::DType::kUint64:
      return BytesOf<uint64_t>(value);
    case batch::DType::kInt64:
      return BytesOf<int64_t>(value);
    case batch::DType::kFloat32:
      if (std::abs(value) > std::numeric_limits<float>::max() && !std::isinf(value)) return std::nullopt;
      return BytesOf<float>(value);
    case batch::DType::kFloat64:
      return BytesOf<double>(value);
    case batch::DType::kFloat16:
      if (std::abs(value) > 65504) return std::nullopt;
      return BytesOf<uint16_t>(FloatToHalf(static_cast<float>(value)));
    case batch::DType::kBfloat16:
      if (std::abs(value) > 3e38) return std::nullopt;
      return BytesOf<uint16_t>(FloatToBfloat16(static_cast<float>(value)));
    case batch::DType::kString:
      break;
  }
  return std::nullopt;
}

// Makes a ragged column of numbers a padded one of `length` elements. Passes a mistake to `error`.
void Pad(const v1::PadTo& pad, uint64_t length, FeaturePlan* plan, const std::function<void(std::string)>& error) {
  if (plan->is_string() || !plan->type.ragged || plan->request.sequence) {
    return error("needs numbers with variable_length: true");
  }
  const std::optional<std::string> padding = BytesOf(plan->type.dtype, pad.value());
  if (!padding.has_value()) {
    return error(
        absl::StrCat("value ", pad.value(), " is none of the type ", std::string(batch::DTypeName(plan->type.dtype))));
  }
  plan->is_padded = true;
  plan->padding = *padding;
  plan->truncate = pad.truncate();
  plan->keep = pad.keep();
  plan->elements *= length;
  plan->type.ragged = false;
  plan->type.shape.insert(plan->type.shape.begin(), static_cast<int64_t>(length));
}

}  // namespace

size_t FeatureSet::padded_bytes() const {
  size_t bytes = 0;
  for (const FeaturePlan& plan : plans_) {
    if (plan.is_padded || (window_ > 0 && !plan.type.ragged)) bytes += plan.elements * plan.element_bytes();
  }
  // With padding between its records, a row has more values than they have, in a vector that grows.
  return align_ > 1 ? 3 * bytes : bytes;
}

bool FeatureSet::draws() const {
  return std::any_of(plans_.begin(), plans_.end(),
                     [](const FeaturePlan& plan) { return plan.keep == v1::PadTo::RANDOM; });
}

void FeatureSet::PlanPadding(const v1::JobSpec& job, std::vector<std::string>* errors) {
  const v1::Pack* const pack = plan::PackOf(plan::DatasetOf(job));
  for (int i = 0; i < job.features_size(); ++i) {
    const v1::Feature& feature = job.features(i);
    const bool is_packed =
        pack != nullptr && std::count(pack->features().begin(), pack->features().end(), feature.key()) > 0;
    if (!feature.has_pad() || is_packed) continue;
    const v1::PadTo& pad = feature.pad();
    const std::string field = absl::StrCat("features[", i, "].pad");
    if (pad.length() < 1 || pad.length() > plan::kMaxPackLength) {
      errors->push_back(absl::StrCat(field, ".length: ", pad.length(), ": give the number of values, from 1 to 2^28"));
      continue;
    }
    if (pad.keep() != v1::PadTo::FIRST && !pad.truncate()) errors->push_back(field + ".keep: it needs truncate: true");
    Pad(pad, pad.length(), &plans_[static_cast<size_t>(i)],
        [&](const std::string& text) { errors->push_back(absl::StrCat(field, ": ", text)); });
    if (!pad.lengths().empty()) {
      AddMade(FeaturePlan::Made::kCount, pad.lengths(), static_cast<size_t>(i), field + ".lengths", errors);
    }
  }
}

void FeatureSet::AddMade(FeaturePlan::Made made, const std::string& column, size_t source, const std::string& field,
                         std::vector<std::string>* errors) {
  const auto is_same = [&](const FeaturePlan& plan) { return plan.column == column; };
  if (std::any_of(plans_.begin(), plans_.end(), is_same)) {
    errors->push_back(absl::StrCat(field, ": there is another column '", column, "'"));
  }
  FeaturePlan plan;
  plan.column = column;
  plan.label = absl::StrCat(field, " (column '", column, "')");
  plan.made = made;
  plan.source = source;
  plan.request.kind = records::FeatureKind::kBytes;
  plan.type.dtype = made == FeaturePlan::Made::kRecords ? batch::DType::kInt64 : batch::DType::kInt32;
  plan.request.element_bytes = static_cast<uint32_t>(batch::DTypeSize(plan.type.dtype));
  plan.padding = std::string(plan.request.element_bytes, '\0');
  if (made == FeaturePlan::Made::kSegmentIds || made == FeaturePlan::Made::kPositions) {
    plan.is_padded = true;
    plan.elements = plans_[source].elements;
    plan.type.shape = {static_cast<int64_t>(plan.elements)};
  } else if (made == FeaturePlan::Made::kRecords && window_ > 0) {
    plan.elements = window_;
    plan.type.shape = {static_cast<int64_t>(window_)};
  } else if (made != FeaturePlan::Made::kCount) {
    plan.type.ragged = true;
    plan.fixed_count = false;
  }
  plans_.push_back(std::move(plan));
}

void FeatureSet::PlanPack(const v1::JobSpec& job, std::vector<std::string>* errors) {
  const v1::Pack* const pack = plan::PackOf(plan::DatasetOf(job));
  if (pack == nullptr || pack->features().empty() || pack->length() < 1 || pack->length() > plan::kMaxPackLength) {
    return;  // config/select_check.h reports these
  }
  if (job.has_annotations()) errors->push_back(absl::StrCat("annotations: boxes and masks do not work with a pack"));
  packed_.assign(features_, 0);
  align_ = std::max<size_t>(1, pack->align());
  std::vector<std::string> keys;
  for (const v1::Feature& feature : job.features()) keys.push_back(feature.key());
  for (const std::string& key : pack->features()) {
    const auto found = static_cast<size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
    if (found == keys.size()) {
      errors->push_back(
          absl::StrCat(kPack, ".features: '", key, "' is the key of no entry of `features`", DidYouMean(key, keys)));
      return;
    }
    const std::string field = absl::StrCat("features[", found, "]");
    const v1::PadTo& pad = job.features(static_cast<int>(found)).pad();
    if ((pad.length() != 0 && pad.length() != pack->length()) || pad.truncate() || pad.keep() != v1::PadTo::FIRST ||
        !pad.lengths().empty()) {
      errors->push_back(absl::StrCat(field, ".pad: the feature is packed; give only a value"));
    }
    if (packed_[found] != 0) {
      errors->push_back(absl::StrCat(kPack, ".features: '", key, "' is there twice"));
      return;
    }
    if (plans_[found].elements != 1) {
      errors->push_back(absl::StrCat(
          field, ".shape: a packed feature has single numbers; write variable_length: true instead of the shape"));
      return;
    }
    if (plans_[found].has_default) {
      errors->push_back(
          absl::StrCat(field, ".default: a packed record without the feature has no values; leave it out"));
    }
    packed_[found] = 1;
    Pad(pad, pack->length(), &plans_[found],
        [&](const std::string& text) { errors->push_back(absl::StrCat(field, ": it is packed, which ", text)); });
  }
  for (size_t i = 0; i < features_; ++i) {
    const FeaturePlan& plan = plans_[i];
    if (packed_[i] != 0 || (plan.type.ragged && !plan.fixed_count && !plan.request.sequence)) continue;
    errors->push_back(absl::StrCat("features[", i, "]: '", plan.request.key,
                                   "' has a value for each packed record; write variable_length: true instead of a "
                                   "shape, sequence or pad"));
  }
  const auto first = static_cast<size_t>(std::find(keys.begin(), keys.end(), pack->features(0)) - keys.begin());
  const std::string name = plans_[first].column;
  std::vector<int> outputs(pack->outputs().begin(), pack->outputs().end());
  if (outputs.empty()) outputs = {v1::Pack::SEGMENT_IDS, v1::Pack::POSITIONS};
  for (const int output : outputs) {
    const auto add = [&](FeaturePlan::Made made, const char* suffix) {
      AddMade(made, absl::StrCat(name, suffix), first, absl::StrCat(kPack, ".outputs"), errors);
    };
    if (output == v1::Pack::SEGMENT_IDS) add(FeaturePlan::Made::kSegmentIds, "_segment_ids");
    if (output == v1::Pack::POSITIONS) add(FeaturePlan::Made::kPositions, "_positions");
    if (output == v1::Pack::LENGTHS) add(FeaturePlan::Made::kLengths, "_lengths");
    if (output == v1::Pack::RECORDS) add(FeaturePlan::Made::kRecords, "_records");
  }
}

void FeatureSet::PlanWindow(const v1::JobSpec& job, std::vector<std::string>* errors) {
  // config/select_check.h reports a wrong size.
  const v1::RecordWindow* const window = plan::RecordWindowOf(plan::DatasetOf(job));
  if (window == nullptr || window->size() < 1 || window->size() > plan::kMaxWindowRecords) return;
  if (job.has_annotations()) errors->push_back("annotations: boxes and masks do not work with a window of records");
  packed_.assign(features_, 0);
  window_ = window->size();
  for (size_t f = 0; f < features_; ++f) {
    const v1::Feature& feature = job.features(static_cast<int>(f));
    FeaturePlan& plan = plans_[f];
    if (feature.has_pad() || feature.sequence()) {
      errors->push_back(absl::StrCat("features[", f, "].", feature.sequence() ? "sequence" : "pad",
                                     ": it does not work with ", kWindow, ", whose rows have several records"));
    }
    size_t bytes = plan.default_numbers.size();
    for (const std::string& text : plan.default_strings) bytes += text.size();
    if (bytes > kMostDefaultBytes / window_) {
      errors->push_back(absl::StrCat("features[", f, "].default: it has ", bytes, " bytes, and a window of ", window_,
                                     " records may need it for each of them; all of them may have 64 MiB"));
    }
    if (!plan.fixed_count) continue;  // the values of all records, one after another
    plan.elements *= window_;
    plan.type.scalar = false;
    if (!plan.is_string()) plan.type.shape.insert(plan.type.shape.begin(), static_cast<int64_t>(window_));
  }
  if (window->records().empty()) return;
  AddMade(FeaturePlan::Made::kRecords, window->records(), 0, absl::StrCat(kWindow, ".records"), errors);
}

}  // namespace penstock::augment
