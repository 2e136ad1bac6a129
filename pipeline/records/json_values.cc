// The list of a JSON object's values.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>

#include "base/status_macros.h"
#include "pipeline/records/json_line.h"
#include "pipeline/records/json_path.h"
#include "pipeline/records/json_record_parser.h"

namespace penstock::records {
namespace {

// Lists the values of one record.
class JsonLister final : public JsonLineHandler {
 public:
  void OnKey(std::string_view name) override {
    if (arrays_ > 0) return;
    pending_ = JoinJsonPath(open_.back().value.key, name);
    // The last of members with the same name counts.
    values_.erase(pending_);
    const std::string below = pending_ + ".";
    const auto begin = values_.lower_bound(below);
    auto end = begin;
    while (end != values_.end() && end->first.starts_with(below)) ++end;
    values_.erase(begin, end);
  }

  void OnScalar(const JsonToken& scalar) override {
    if (open_.back().is_array) return AddElement(scalar, &open_.back().value);
    if (arrays_ > 0 || scalar.type == JsonToken::Type::kNull) return;
    FeatureInfo single{.key = pending_};
    AddElement(scalar, &single);
    Keep(std::move(single));
  }

  void OnOpen(bool is_array) override {
    if (!open_.empty()) open_.back().has_nested = true;
    open_.push_back({.value = {.key = pending_}, .is_array = is_array});
    if (is_array) ++arrays_;
  }

  void OnClose(std::string_view text, size_t) override {
    Open closed = std::move(open_.back());
    open_.pop_back();
    if (!closed.is_array || --arrays_ > 0) return;
    if (closed.has_nested) {
      closed.value.kind = FeatureKind::kBytes;
      closed.value.count = 1;
      closed.value.first_bytes = text;
    }
    Keep(std::move(closed.value));
  }

  std::vector<FeatureInfo> Take() {
    std::vector<FeatureInfo> out;
    out.reserve(values_.size());
    for (auto& [path, value] : values_) out.push_back(std::move(value));
    return out;
  }

 private:
  // An array or object around the next value.
  struct Open {
    FeatureInfo value;  // an object's has only a key
    bool is_array = false;
    bool has_nested = false;  // an array or object in it
  };

  void AddElement(const JsonToken& scalar, FeatureInfo* info) {
    if (scalar.type == JsonToken::Type::kNull) return;
    FeatureInfo& value = *info;
    FeatureKind kind = FeatureKind::kBytes;
    int64_t integer = scalar.token == "true" ? 1 : 0;
    if (scalar.type == JsonToken::Type::kBool) kind = FeatureKind::kInt64;
    if (scalar.type == JsonToken::Type::kNumber) {
      const char* const end = scalar.token.data() + scalar.token.size();
      const auto parsed = std::from_chars(scalar.token.data(), end, integer);
      kind = parsed.ec == std::errc() && parsed.ptr == end ? FeatureKind::kInt64 : FeatureKind::kFloat;
    }
    if (value.count++ == 0) {
      value.kind = kind;
      value.least = value.most = integer;
      // Only for display: an escaped text is listed as it stands.
      if (kind == FeatureKind::kBytes && scalar.token.size() >= 2) {
        value.first_bytes = scalar.token.substr(1, scalar.token.size() - 2);
      }
      return;
    }
    value.least = std::min(value.least, integer);
    value.most = std::max(value.most, integer);
    if (value.kind == FeatureKind::kInt64 && kind == FeatureKind::kFloat) value.kind = kind;
  }

  void Keep(FeatureInfo value) {
    if (value.kind != FeatureKind::kInt64) value.least = value.most = 0;
    if (value.key.empty()) return;  // no path leads to a member without a name
    values_.insert_or_assign(value.key, std::move(value));
  }

  std::map<std::string, FeatureInfo> values_;  // by path
  std::vector<Open> open_;
  size_t arrays_ = 0;  // in open_
  std::string pending_;
};

}  // namespace

absl::StatusOr<std::vector<FeatureInfo>> ListJsonValues(std::string_view record) {
  JsonLister lister;
  PS_RETURN_IF_ERROR(ReadJsonLine(record, &lister));
  return lister.Take();
}

bool HasJsonPath(const std::vector<FeatureInfo>& values, std::string_view key) {
  const auto is_below = [](std::string_view path, std::string_view above) {
    return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '.');
  };
  return std::any_of(values.begin(), values.end(),
                     [&](const FeatureInfo& value) { return is_below(value.key, key) || is_below(key, value.key); });
}

}  // namespace penstock::records
