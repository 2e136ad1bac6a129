// The values of a row of several records, and of columns that are made.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/little_endian.h"
#include "base/status_macros.h"
#include "base/status_place.h"
#include "pipeline/augment/features/features.h"
#include "pipeline/sources/pack_frame.h"

namespace penstock::augment {
namespace {

template <typename T>
void AppendNumber(T number, std::vector<char>* out) {
  char bytes[sizeof(T)];
  StoreLittleEndian(number, bytes);
  out->insert(out->end(), bytes, bytes + sizeof(bytes));
}

// Appends values [first, first + count) of one record to those of a row, which it copies. Returns false if the record
// has fewer.
bool AppendPart(const FeaturePlan& plan, const records::FeatureValue& value, size_t first, size_t count,
                records::FeatureValue* row) {
  const auto append = [&](const auto& from, auto* to) {
    to->insert(to->end(), from.begin() + static_cast<ptrdiff_t>(first),
               from.begin() + static_cast<ptrdiff_t>(first + count));
  };
  if (plan.request.kind == records::FeatureKind::kInt64) {
    if (value.ints.size() < first + count) return false;
    append(value.ints, &row->ints);
    return true;
  }
  if (plan.request.kind == records::FeatureKind::kFloat) {
    if (value.floats.size() < first + count) return false;
    append(value.floats, &row->floats);
    return true;
  }
  size_t skipped = first * plan.element_bytes(), wanted = count * plan.element_bytes();
  for (std::string_view bytes : value.bytes) {
    const size_t skip = std::min(skipped, bytes.size());
    bytes = bytes.substr(skip, wanted);
    skipped -= skip;
    wanted -= bytes.size();
    row->own.insert(row->own.end(), bytes.begin(), bytes.end());
  }
  return skipped == 0 && wanted == 0;
}

// Appends `count` values of padding to those of a row.
void AppendPadding(const FeaturePlan& plan, size_t count, records::FeatureValue* row) {
  const auto append = [&](auto* to) {
    auto number = to->emplace_back();
    std::memcpy(&number, plan.padding.data(), sizeof(number));
    to->back() = number;
  };
  for (; count > 0; --count) {
    if (plan.request.kind == records::FeatureKind::kInt64) {
      append(&row->ints);
    } else if (plan.request.kind == records::FeatureKind::kFloat) {
      append(&row->floats);
    } else {
      row->own.insert(row->own.end(), plan.padding.begin(), plan.padding.end());
    }
  }
}

// Appends all values of one record. `sizes` receives the length of each string.
void AppendAll(const records::FeatureValue& value, records::FeatureValue* row, std::vector<size_t>* sizes) {
  row->ints.insert(row->ints.end(), value.ints.begin(), value.ints.end());
  row->floats.insert(row->floats.end(), value.floats.begin(), value.floats.end());
  for (const std::string_view bytes : value.bytes) {
    row->own.insert(row->own.end(), bytes.begin(), bytes.end());
    sizes->push_back(bytes.size());
  }
}

// Returns the values of padding after a part of a row, so that the next one begins at a multiple of `align`.
size_t GapAfter(const sources::FramedPart& part, size_t align) { return (align - part.count % align) % align; }

void SetMade(FeaturePlan::Made made, const std::vector<sources::FramedPart>& parts, size_t align,
             std::vector<char>* out) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const uint32_t count = parts[i].count;
    const size_t gap = i + 1 < parts.size() ? GapAfter(parts[i], align) : 0;
    switch (made) {
      case FeaturePlan::Made::kSegmentIds:
        for (uint32_t k = 0; k < count; ++k) AppendNumber(static_cast<uint32_t>(i + 1), out);
        out->insert(out->end(), gap * sizeof(uint32_t), 0);
        break;
      case FeaturePlan::Made::kPositions:
        for (uint32_t k = 0; k < count; ++k) AppendNumber(k, out);
        out->insert(out->end(), gap * sizeof(uint32_t), 0);
        break;
      case FeaturePlan::Made::kLengths:
        AppendNumber(count, out);
        break;
      case FeaturePlan::Made::kRecords:
        AppendNumber(uint64_t{parts[i].number}, out);
        break;
      case FeaturePlan::Made::kNo:
      case FeaturePlan::Made::kCount:
        break;
    }
  }
}

}  // namespace

absl::Status FeatureSet::AppendValues(size_t f, const records::FeatureValue& value, records::FeatureValue* row,
                                      std::vector<size_t>* sizes) const {
  const FeaturePlan& plan = plans_[f];
  const size_t wanted = plan.elements / window_;
  size_t found = value.count();
  if (plan.request.kind == records::FeatureKind::kBytes && !plan.is_string()) {
    found = 0;
    for (const std::string_view bytes : value.bytes) found += bytes.size() / plan.element_bytes();
  }
  const bool fits = plan.fixed_count ? found == wanted : plan.is_string() || found % plan.elements == 0;
  if (fits && (found > 0 || plan.fixed_count || !plan.has_default)) {
    AppendAll(value, row, sizes);
    return absl::OkStatus();
  }
  if (found > 0) {
    return WithFault(
        Fault::kWrongShape,
        absl::InvalidArgumentError(absl::StrCat(
            plan.label, ": it has ", found, found == 1 ? " value" : " values", ", and each record of a window has ",
            plan.fixed_count ? "" : "a multiple of ", plan.fixed_count ? wanted : plan.elements)));
  }
  if (!plan.has_default) {
    return WithFault(Fault::kMissingFeature,
                     absl::InvalidArgumentError(
                         absl::StrCat(plan.label, ": missing or empty in the record, and the feature has no default")));
  }
  for (const std::string& text : plan.default_strings) {
    row->own.insert(row->own.end(), text.begin(), text.end());
    sizes->push_back(text.size());
  }
  const std::string& numbers = plan.default_numbers;
  const auto append = [&numbers](auto* to) {
    const size_t before = to->size();
    to->resize(before + numbers.size() / sizeof((*to)[0]));
    std::memcpy(to->data() + before, numbers.data(), numbers.size());
  };
  if (plan.is_string()) return absl::OkStatus();
  if (plan.request.kind == records::FeatureKind::kInt64) append(&row->ints);
  if (plan.request.kind == records::FeatureKind::kFloat) append(&row->floats);
  if (plan.request.kind == records::FeatureKind::kBytes) {
    append(&row->own);
    sizes->push_back(numbers.size());
  }
  return absl::OkStatus();
}

absl::Status FeatureSet::ParseRow(std::string_view row, records::ParsedExample* out) const {
  std::vector<sources::FramedPart> parts;
  PS_RETURN_IF_ERROR(sources::ParsePack(row, &parts));
  out->resize(plans_.size());
  for (records::FeatureValue& value : *out) value.Clear();
  records::ParsedExample single;
  std::vector<std::vector<size_t>> sizes(features_);  // the length of each string
  size_t gap = 0;                                     // values of padding before the part
  for (const sources::FramedPart& part : parts) {
    const auto place = [&] { return absl::StrCat(window_ > 0 ? "record " : "packed record ", part.number); };
    if (const absl::Status parsed = parser_->Parse(part.record, &single); !parsed.ok()) {
      return AtPlace(place(), parsed);
    }
    for (size_t f = 0; f < features_; ++f) {
      (*out)[f].missing = (*out)[f].missing && single[f].missing;
      if (window_ > 0) {
        const absl::Status appended = AppendValues(f, single[f], &(*out)[f], &sizes[f]);
        if (!appended.ok()) return AtPlace(place(), appended);
      } else if (packed_[f] == 0) {
        AppendAll(single[f], &(*out)[f], &sizes[f]);
      } else {
        AppendPadding(plans_[f], gap, &(*out)[f]);
        if (!AppendPart(plans_[f], single[f], part.first, part.count, &(*out)[f])) {
          return AtPlace(place(), WithFault(Fault::kWrongShape,
                                            absl::InvalidArgumentError(absl::StrCat(
                                                plans_[f].label, ": it has fewer values than the pack counted"))));
        }
      }
    }
    gap = GapAfter(part, align_);
  }
  for (size_t p = 0; p < plans_.size(); ++p) {
    records::FeatureValue& value = (*out)[p];
    if (plans_[p].made != FeaturePlan::Made::kNo) SetMade(plans_[p].made, parts, align_, &value.own);
    const std::string_view own(value.own.data(), value.own.size());
    const bool is_array = window_ > 0 && plans_[p].fixed_count && !plans_[p].is_string();
    const bool is_list = p < features_ && packed_[p] == 0 && !is_array;
    if (!is_list) {
      if (!own.empty()) value.bytes.push_back(own);
      continue;
    }
    for (size_t i = 0, begin = 0; i < sizes[p].size(); begin += sizes[p][i++]) {
      value.bytes.push_back(own.substr(begin, sizes[p][i]));
    }
  }
  return absl::OkStatus();
}

void FeatureSet::AddCounts(records::ParsedExample* out) const {
  out->resize(plans_.size());
  for (size_t p = features_; p < plans_.size(); ++p) {
    const FeaturePlan& plan = plans_[plans_[p].source];
    const records::FeatureValue& source = (*out)[plans_[p].source];
    size_t found = source.ints.size() + source.floats.size();
    for (const std::string_view bytes : source.bytes) found += bytes.size() / plan.element_bytes();
    if (found == 0) found = plan.default_numbers.size() / plan.element_bytes();
    const size_t per_element = plan.elements / static_cast<size_t>(plan.type.shape[0]);
    records::FeatureValue& count = (*out)[p];
    count.Clear();
    AppendNumber(static_cast<uint32_t>(std::min(found, plan.elements) / per_element), &count.own);
    count.bytes.push_back({count.own.data(), count.own.size()});
  }
}

}  // namespace penstock::augment
