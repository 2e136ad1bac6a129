#include "client/cli/box_finder.h"

#include <algorithm>
#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock::cli {
namespace {

constexpr std::array<const char*, 4> kSides = {"xmin", "ymin", "xmax", "ymax"};
constexpr char kUsualPrefix[] = "image/object/bbox/";
constexpr float kLargestFraction = 2;  // annotators draw beyond the border

const records::FeatureInfo* Find(const std::vector<records::FeatureInfo>& features, const std::string& key) {
  const auto found = std::find_if(features.begin(), features.end(),
                                  [&](const records::FeatureInfo& f) { return !f.sequence && f.key == key; });
  return found == features.end() ? nullptr : &*found;
}

}  // namespace

void BoxFinder::FindGroup(const std::vector<records::FeatureInfo>& features) {
  for (const records::FeatureInfo& feature : features) {
    if (feature.sequence || !absl::EndsWith(feature.key, kSides[0])) continue;
    Group group;
    group.prefix = feature.key.substr(0, feature.key.size() - 4);
    std::vector<records::FeatureRequest> requests;
    bool numbers = true;
    for (const char* side : kSides) {
      const records::FeatureInfo* const found = Find(features, group.prefix + side);
      const records::FeatureKind kind = found == nullptr ? records::FeatureKind::kNone : found->kind;
      numbers = numbers && (kind == records::FeatureKind::kFloat || kind == records::FeatureKind::kInt64);
      group.floats = group.floats && kind == records::FeatureKind::kFloat;
      requests.push_back({.key = group.prefix + side, .kind = records::FeatureKind::kFloat});
    }
    if (!numbers) continue;
    if (auto parser = records::ExampleParser::Create(std::move(requests)); parser.ok())
      group.parser = *std::move(parser);
    group_ = std::move(group);
    return;
  }
}

void BoxFinder::AddRecord(std::string_view record, const std::vector<records::FeatureInfo>& features) {
  if (!group_.has_value()) FindGroup(features);
  const records::FeatureInfo* const xmin = group_.has_value() ? Find(features, group_->prefix + kSides[0]) : nullptr;
  const uint64_t boxes = xmin == nullptr ? 0 : xmin->count;
  varies_ = varies_ || boxes != 1;
  if (boxes > 0) ++records_with_boxes_;
  for (const records::FeatureInfo& feature : features) {
    if (feature.sequence || feature.kind == records::FeatureKind::kNone || IsSide(feature.key)) continue;
    Other& other = others_[feature.key];
    other.other_length = other.other_length || feature.count != boxes;
    if (boxes > 0) ++other.with_boxes;
  }
  if (boxes == 0 || !found() || !group_->parser.has_value() || !group_->parser->Parse(record, &parsed_).ok()) return;
  for (const records::FeatureValue& value : parsed_) {
    for (const float number : value.floats) largest_ = std::max(largest_, number);
  }
}

bool BoxFinder::IsSide(const std::string& key) const {
  return group_.has_value() &&
         std::any_of(kSides.begin(), kSides.end(), [&](const char* side) { return key == group_->prefix + side; });
}

bool BoxFinder::IsCompanion(const std::string& key) const {
  if (!found() || records_with_boxes_ == 0) return false;
  const auto other = others_.find(key);
  if (other == others_.end() || other->second.other_length || other->second.with_boxes != records_with_boxes_)
    return false;
  // With a single value in each record, only the name shows whether the value belongs to the only box or to the image.
  const size_t slash =
      group_->prefix.size() < 2 ? std::string::npos : group_->prefix.rfind('/', group_->prefix.size() - 2);
  const bool beside = slash != std::string::npos && absl::StartsWith(key, group_->prefix.substr(0, slash + 1));
  return varies_ || beside;
}

std::string BoxFinder::AnnotationsText() const {
  std::string out = "annotations {\n  boxes {";
  if (group_->prefix != kUsualPrefix) {
    for (const char* side : kSides) {
      absl::StrAppend(&out, "\n    ", side, "_key: \"", absl::CEscape(group_->prefix), side, "\"");
    }
  }
  if (largest_ > kLargestFraction) absl::StrAppend(&out, "\n    pixels: true");
  for (const auto& [key, other] : others_) {
    if (IsCompanion(key)) absl::StrAppend(&out, "\n    companions: \"", absl::CEscape(key), "\"");
  }
  return absl::StrCat(out, "\n  }\n}\n");
}

}  // namespace penstock::cli
