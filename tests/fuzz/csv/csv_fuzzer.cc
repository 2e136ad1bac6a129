// Any bytes as a record of a CSV or TSV file: no access is out of bounds, every view is inside the record or the
// value's own memory, and values stay within their limit. As a file, the bytes give records whose names and rows the
// parser reads as one row each, unless they are no CSV.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/check.h"
#include "pipeline/records/csv_record_parser.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/sources/record_walker.h"
#include "tests/fuzz/bytes_file.h"
#include "tests/fuzz/inside.h"

namespace {

using penstock::records::CsvRecordParser;
using penstock::records::FeatureKind;
using penstock::records::RecordFormat;

constexpr uint64_t kMaxValueBytes = 1 << 12;

void CheckRecord(std::string_view record, RecordFormat format) {
  const auto listed = penstock::records::ListCsvColumns(record, format);
  PS_CHECK(listed.ok() || absl::IsInvalidArgument(listed.status()));
  for (const FeatureKind kind : {FeatureKind::kBytes, FeatureKind::kInt64, FeatureKind::kFloat}) {
    std::vector<penstock::records::FeatureRequest> requests = {{.key = "a", .kind = kind}, {.key = "a"}};
    if (listed.ok() && !listed->empty()) requests.push_back({.key = listed->front().key, .kind = kind});
    const auto parser = CsvRecordParser::Create(requests, {.format = format, .max_value_bytes = kMaxValueBytes});
    PS_CHECK(parser.ok());
    penstock::records::ParsedExample values;
    const absl::Status parsed = parser->Parse(record, &values);
    PS_CHECK(parsed.ok() || absl::IsInvalidArgument(parsed) || absl::IsResourceExhausted(parsed));
    PS_CHECK(!parsed.ok() || listed.ok());
    if (!parsed.ok()) continue;
    uint64_t bytes = 0;
    for (const auto& value : values) {
      PS_CHECK(value.missing ? value.count() == 0 : value.count() == 1);
      bytes += value.own.size();
      for (const std::string_view each : value.bytes) {
        PS_CHECK(penstock::fuzz::IsInside(each, record) ||
                 penstock::fuzz::IsInside(each, {value.own.data(), value.own.size()}));
      }
    }
    PS_CHECK(bytes <= kMaxValueBytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto copy = std::make_unique<char[]>(size);  // a sanitizer sees a read after it
  std::copy_n(reinterpret_cast<const char*>(data), size, copy.get());
  const std::string_view bytes(copy.get(), size);
  CheckRecord(bytes, RecordFormat::kCsv);
  CheckRecord(bytes, RecordFormat::kTsv);

  namespace sources = penstock::sources;
  const penstock::fuzz::BytesFile file(bytes);
  const auto walker = sources::RecordWalker::Start(&file, {.compression = sources::Compression::kNone,
                                                           .container = sources::ContainerKind::kCsv,
                                                           .max_record_bytes = 1 << 16});
  if (!walker.ok()) return 0;
  std::string record;
  for (;;) {
    const auto step = (*walker)->Next(&record);
    PS_CHECK(step.ok());
    if (*step != sources::RecordWalker::Step::kRecord) break;
    PS_CHECK(std::string_view(record).starts_with((*walker)->head()));
    const auto listed = penstock::records::ListCsvColumns(record, RecordFormat::kCsv);
    // The walker ends each row outside of quotes.
    PS_CHECK(listed.ok() || !absl::StrContains(listed.status().message(), "a quote without an end"));
    PS_CHECK(listed.ok() || !absl::StrContains(listed.status().message(), "an end of a line"));
    CheckRecord(record, RecordFormat::kCsv);
  }
  return 0;
}
