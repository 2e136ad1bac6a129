// Any bytes as a record of a manifest: no access is out of bounds, every view is inside the record or the value's own
// memory, and values stay within their limit. As a manifest, the bytes give records that the parser reads, and rows in
// which the names of files are found.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/check.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/file_row_parser.h"
#include "pipeline/records/manifest_fields.h"
#include "pipeline/sources/file_frame.h"
#include "pipeline/sources/record_walker.h"
#include "tests/fuzz/bytes_file.h"
#include "tests/fuzz/inside.h"

namespace {

using penstock::records::FeatureKind;
using penstock::records::FileRowParser;

constexpr uint64_t kMaxValueBytes = 1 << 12;

bool IsRefusal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status);
}

// Returns whether the record has a row and a file.
bool CheckRecord(std::string_view record) {
  const auto listed = penstock::records::ListFileRow(record);
  PS_CHECK(listed.ok() || absl::IsInvalidArgument(listed.status()));
  for (const FeatureKind kind : {FeatureKind::kBytes, FeatureKind::kInt64, FeatureKind::kFloat}) {
    std::vector<penstock::records::FeatureRequest> requests = {{.key = "contents"}, {.key = "a", .kind = kind}};
    if (listed.ok() && listed->front().key != "contents")
      requests.push_back({.key = listed->front().key, .kind = kind});
    const auto parser = FileRowParser::Create(requests, {.max_value_bytes = kMaxValueBytes});
    if (!parser.ok()) continue;  // a key that is no path of JSON
    penstock::records::ParsedExample values;
    const absl::Status parsed = parser->Parse(record, &values);
    PS_CHECK(parsed.ok() || IsRefusal(parsed));
    if (!parsed.ok()) continue;
    for (const auto& value : values) {
      PS_CHECK(!value.missing || value.count() == 0);
      PS_CHECK(value.own.size() <= kMaxValueBytes);
      for (const std::string_view each : value.bytes) {
        PS_CHECK(penstock::fuzz::IsInside(each, record) ||
                 penstock::fuzz::IsInside(each, {value.own.data(), value.own.size()}));
      }
    }
  }
  return listed.ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto copy = std::make_unique<char[]>(size);  // a sanitizer sees a read after it
  std::copy_n(reinterpret_cast<const char*>(data), size, copy.get());
  const std::string_view bytes(copy.get(), size);
  CheckRecord(bytes);
  const penstock::fuzz::BytesFile file(bytes);
  const auto walker =
      penstock::sources::RecordWalker::Start(&file, {.compression = penstock::sources::Compression::kNone,
                                                     .container = penstock::sources::ContainerKind::kManifest,
                                                     .max_record_bytes = 1 << 16});
  if (!walker.ok()) {
    PS_CHECK(!absl::IsInternal(walker.status()));
    return 0;
  }
  const auto usual = penstock::records::RowFilesOf({});
  const auto parts = penstock::records::RowFilesOf({.file = "a", .offset = "b", .length = "c"});
  std::string record;
  for (;;) {
    const auto step = (*walker)->Next(&record);
    PS_CHECK(step.ok());
    if (*step != penstock::sources::RecordWalker::Step::kRecord) return 0;
    const auto framed = penstock::sources::ParseFileFrame(record);
    PS_CHECK(framed.ok() && framed->state == penstock::sources::FileState::kNotRead && framed->file.empty());
    CheckRecord(record);
    for (const auto& finder : {usual, parts}) {
      const auto named = finder->FileOf(framed->text, framed->row);
      PS_CHECK(named.ok() || IsRefusal(named.status()));
    }
  }
}
