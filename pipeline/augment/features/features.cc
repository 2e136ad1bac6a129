#include "pipeline/augment/features/features.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace penstock::augment {
namespace {

absl::Status WrongShape(const FeaturePlan& plan, std::string_view what) {
  return WithFault(Fault::kWrongShape, absl::InvalidArgumentError(absl::StrCat(plan.label, ": ", std::string(what))));
}

absl::Status Missing(const FeaturePlan& plan) {
  return WithFault(Fault::kMissingFeature,
                   absl::InvalidArgumentError(
                       absl::StrCat(plan.label, ": missing or empty in the record, and the feature has no default")));
}

absl::Status WrongCount(const FeaturePlan& plan, size_t found) {
  return WrongShape(
      plan, absl::StrCat("the record holds ", found, found == 1 ? " value" : " values", " where the shape wants ",
                         plan.elements, "; give the right shape, or variable_length: true"));
}

absl::Status PartialElement(const FeaturePlan& plan, size_t found, size_t per_element) {
  return WrongShape(plan, absl::StrCat("the record holds ", found, " values, no multiple of ", per_element,
                                       ", which one element of the column has"));
}

// Returns the number of elements in values [begin, end).
size_t CountElements(const FeaturePlan& plan, const records::FeatureValue& value, size_t begin, size_t end) {
  if (value.bytes.empty() || plan.is_string()) return end - begin;
  size_t bytes = 0;
  for (size_t i = begin; i < end; ++i) bytes += value.bytes[i].size();
  return bytes / plan.element_bytes();
}

void AppendNumbers(const records::FeatureValue& value, std::string* out) {
  out->append(reinterpret_cast<const char*>(value.ints.data()), value.ints.size() * sizeof(int64_t));
  out->append(reinterpret_cast<const char*>(value.floats.data()), value.floats.size() * sizeof(float));
  for (const std::string_view bytes : value.bytes) out->append(bytes);
}

template <typename Strings>
void AppendStrings(const Strings& strings, std::string* out) {
  batch::AppendRaggedHeader(static_cast<uint32_t>(strings.size()), out);
  for (const auto& s : strings) batch::AppendRaggedHeader(static_cast<uint32_t>(s.size()), out);
  for (const auto& s : strings) out->append(s);
}

// Returns the number of values before those that stay, of `found` values.
size_t FirstKept(const FeaturePlan& plan, size_t found, size_t per_element, const SampleKey& key) {
  if (found <= plan.elements || plan.keep == v1::PadTo::FIRST) return 0;
  const size_t last = (found - plan.elements) / per_element;
  if (plan.keep == v1::PadTo::LAST) return last * per_element;
  // One path for all columns, so that those of equal lengths are cut alike.
  return key.RandomOf(Hash64("features.pad")).Below(static_cast<uint32_t>(last + 1)) * per_element;
}

// Reads a padded column, whose record has `found` elements.
absl::Status ReadPadded(const FeaturePlan& plan, const records::FeatureValue& value, size_t found, const SampleKey& key,
                        Arena* arena, const uint8_t** out) {
  const size_t bytes = plan.elements * plan.element_bytes();
  const size_t per_element = plan.elements / static_cast<size_t>(plan.type.shape[0]);
  if (found % per_element != 0) return PartialElement(plan, found, per_element);
  if (found > plan.elements && !plan.truncate) {
    return WrongShape(plan, absl::StrCat("the record holds ", found, " values, and the column has ", plan.elements,
                                         "; give a greater pad.length, or pad { truncate: true }"));
  }
  uint8_t* const padded = arena->Acquire(bytes);
  *out = padded;
  size_t skip = FirstKept(plan, found, per_element, key) * plan.element_bytes(), filled = 0;
  const auto add = [&](const void* from, size_t size) {
    const size_t skipped = std::min(skip, size);
    skip -= skipped;
    size = std::min(size - skipped, bytes - filled);
    if (size > 0) std::memcpy(padded + filled, static_cast<const uint8_t*>(from) + skipped, size);
    filled += size;
  };
  if (found == 0) add(plan.default_numbers.data(), plan.default_numbers.size());
  add(value.ints.data(), value.ints.size() * sizeof(int64_t));
  add(value.floats.data(), value.floats.size() * sizeof(float));
  for (const std::string_view each : value.bytes) add(each.data(), each.size());
  for (; filled < bytes; filled += plan.padding.size()) {
    std::memcpy(padded + filled, plan.padding.data(), plan.padding.size());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FeatureSet::Parse(std::string_view record, records::ParsedExample* out) const {
  if (!packed_.empty()) return ParseRow(record, out);
  if (!raw_) {
    PS_RETURN_IF_ERROR(parser_->Parse(record, out));
    if (features_ < plans_.size()) AddCounts(out);
    return absl::OkStatus();
  }
  out->resize(1);
  records::FeatureValue& value = out->front();
  value.missing = false;
  value.bytes.assign(1, record);
  const FeaturePlan& plan = plans_.front();
  if (!plan.is_string() && record.size() % plan.element_bytes() != 0) {
    return WrongShape(plan,
                      absl::StrCat("the record's ", record.size(), " bytes are no multiple of ", plan.element_bytes()));
  }
  return absl::OkStatus();
}

absl::Status FeatureSet::ReadString(size_t p, const records::ParsedExample& parsed, std::string_view* out) const {
  const FeaturePlan& plan = plans_[p];
  const records::FeatureValue& value = parsed[p];
  if (value.bytes.empty()) {
    if (!plan.has_default) return Missing(plan);
    *out = plan.default_strings[0];
    return absl::OkStatus();
  }
  if (value.bytes.size() != 1) return WrongCount(plan, value.bytes.size());
  *out = value.bytes[0];
  return absl::OkStatus();
}

absl::Status FeatureSet::ReadTensor(size_t p, const records::ParsedExample& parsed, const SampleKey& key, Arena* arena,
                                    const uint8_t** out) const {
  const FeaturePlan& plan = plans_[p];
  const records::FeatureValue& value = parsed[p];
  const size_t values = value.count();
  const size_t found = CountElements(plan, value, 0, values);
  if (plan.is_padded) return ReadPadded(plan, value, found, key, arena, out);
  if (found == 0) {
    if (!plan.has_default) return Missing(plan);
    *out = reinterpret_cast<const uint8_t*>(plan.default_numbers.data());
    return absl::OkStatus();
  }
  if (found != plan.elements) return WrongCount(plan, found);
  if (!value.ints.empty()) {
    *out = reinterpret_cast<const uint8_t*>(value.ints.data());
  } else if (!value.floats.empty()) {
    *out = reinterpret_cast<const uint8_t*>(value.floats.data());
  } else if (value.bytes.size() == 1) {
    *out = reinterpret_cast<const uint8_t*>(value.bytes[0].data());
  } else {
    uint8_t* joined = arena->Acquire(plan.elements * plan.element_bytes());
    *out = joined;
    for (const std::string_view bytes : value.bytes) {
      if (!bytes.empty()) std::memcpy(joined, bytes.data(), bytes.size());
      joined += bytes.size();
    }
  }
  return absl::OkStatus();
}

absl::Status FeatureSet::ReadRagged(size_t p, const records::ParsedExample& parsed, std::string* out) const {
  const FeaturePlan& plan = plans_[p];
  const records::FeatureValue& value = parsed[p];
  out->clear();
  const size_t values = value.count();
  if (values == 0 && plan.has_default) {
    if (plan.is_string()) {
      AppendStrings(plan.default_strings, out);
    } else {
      batch::AppendRaggedHeader(
          static_cast<uint32_t>(plan.default_numbers.size() / plan.element_bytes() / plan.elements), out);
      out->append(plan.default_numbers);
    }
    return absl::OkStatus();
  }
  if (plan.request.sequence) {
    for (size_t entry = 0; entry + 1 < value.splits.size(); ++entry) {
      const size_t found = CountElements(plan, value, value.splits[entry], value.splits[entry + 1]);
      if (found != plan.elements) {
        return WrongShape(plan, absl::StrCat("entry ", entry, " of the list holds ", found,
                                             " values where its shape wants ", plan.elements));
      }
    }
  }
  if (plan.is_string()) {
    if (plan.fixed_count) {
      if (values == 0) return Missing(plan);
      if (values != plan.elements) return WrongCount(plan, values);
    }
    AppendStrings(value.bytes, out);
    return absl::OkStatus();
  }
  const size_t found = CountElements(plan, value, 0, values);
  if (found % plan.elements != 0) {
    return PartialElement(plan, found, plan.elements);
  }
  batch::AppendRaggedHeader(static_cast<uint32_t>(found / plan.elements), out);
  AppendNumbers(value, out);
  return absl::OkStatus();
}

}  // namespace penstock::augment
