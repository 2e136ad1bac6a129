// Any bytes as a record of a JSONL file: no access is out of bounds, every view is inside the record or the value's own
// memory, values stay within their limit, and nlohmann-json accepts the same objects.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/check.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/json_record_parser.h"

namespace {

using penstock::records::FeatureInfo;
using penstock::records::FeatureKind;
using penstock::records::JsonRecordParser;

constexpr uint64_t kMaxValueBytes = 1 << 16;

JsonRecordParser MakeParser(std::vector<penstock::records::FeatureRequest> requests) {
  auto parser = JsonRecordParser::Create(std::move(requests), {.max_value_bytes = kMaxValueBytes});
  PS_CHECK(parser.ok());
  return *std::move(parser);
}

// Each request has a parser of its own, so that an error of one hides no other. The last one has several requests.
const std::vector<JsonRecordParser>& Parsers() {
  static const auto* const parsers = [] {
    auto* out = new std::vector<JsonRecordParser>();
    for (const FeatureKind kind : {FeatureKind::kBytes, FeatureKind::kInt64, FeatureKind::kFloat}) {
      for (const char* key : {"a", "a.b", "a.0", "a.0.b", "a\\.b"}) {
        out->push_back(MakeParser({{.key = key, .kind = kind}}));
      }
    }
    out->push_back(MakeParser({{.key = "a"}, {.key = "a.b"}, {.key = "a.0"}, {.key = "b", .element_bytes = 4}}));
    return out;
  }();
  return *parsers;
}

bool IsInside(std::string_view bytes, const char* begin, size_t size) {
  return bytes.empty() || (bytes.data() >= begin && bytes.data() + bytes.size() <= begin + size);
}

// Checks the values of a record that is a JSON object.
void CheckValues(std::string_view record) {
  for (const JsonRecordParser& parser : Parsers()) {
    penstock::records::ParsedExample values;
    const absl::Status parsed = parser.Parse(record, &values);
    PS_CHECK(parsed.ok() || absl::IsInvalidArgument(parsed) || absl::IsResourceExhausted(parsed));
    if (!parsed.ok()) continue;
    uint64_t bytes = 0;
    for (const auto& value : values) {
      PS_CHECK(!value.missing || value.count() == 0);
      bytes += value.ints.size() * sizeof(int64_t) + value.floats.size() * sizeof(float) + value.own.size();
      for (const std::string_view each : value.bytes) {
        PS_CHECK(IsInside(each, record.data(), record.size()) || IsInside(each, value.own.data(), value.own.size()));
        bytes += sizeof(std::string_view);
      }
    }
    PS_CHECK(bytes <= kMaxValueBytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto copy = std::make_unique<char[]>(size);  // a sanitizer sees a read after it
  std::copy_n(reinterpret_cast<const char*>(data), size, copy.get());
  const std::string_view record(copy.get(), size);
  const absl::StatusOr<std::vector<FeatureInfo>> listed = penstock::records::ListJsonValues(record);
  if (listed.ok()) {
    for (const FeatureInfo& info : *listed) {
      PS_CHECK(!info.key.empty() && IsInside(info.first_bytes, record.data(), record.size()));
      auto parser = JsonRecordParser::Create({{.key = info.key, .kind = FeatureKind::kBytes}});
      PS_CHECK(parser.ok());
    }
    CheckValues(record);
    return 0;
  }
  PS_CHECK(absl::IsInvalidArgument(listed.status()));
  // nlohmann-json skips a byte order mark, stops at a zero byte, and has no limit on nesting.
  const bool is_comparable = !record.starts_with("\xEF") && record.find('\0') == std::string_view::npos &&
                             !absl::StrContains(listed.status().message(), "nested");
  const nlohmann::json document = nlohmann::json::parse(record, nullptr, /*allow_exceptions=*/false);
  PS_CHECK(!is_comparable || !document.is_object());
  return 0;
}
