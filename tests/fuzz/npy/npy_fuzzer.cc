// Any bytes as a .npy file, and as a row of an array: no access is out of bounds, every view is inside the record or
// the value's own memory, and values stay within their limit. The rows of a file are the bytes after its header, also
// in windows and up to a mark, and the parser reads each record.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/check.h"
#include "base/npy_header.h"
#include "pipeline/records/array_row_parser.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/sources/npy/megatron_index.h"
#include "pipeline/sources/npy/row_windows.h"
#include "pipeline/sources/record_walker.h"
#include "tests/fuzz/bytes_file.h"
#include "tests/fuzz/inside.h"

namespace {

using penstock::records::ArrayRowParser;
using penstock::records::FeatureKind;
using penstock::sources::RowWindows;

constexpr uint64_t kMaxValueBytes = 1 << 12;
constexpr int kMostRecords = 500;  // that a walk checks; more take seconds

// Returns whether the record is a row.
bool CheckRecord(std::string_view record) {
  const auto listed = penstock::records::ListArrayRow(record);
  PS_CHECK(listed.ok() || absl::IsInvalidArgument(listed.status()));
  for (const FeatureKind kind : {FeatureKind::kBytes, FeatureKind::kInt64, FeatureKind::kFloat}) {
    std::vector<penstock::records::FeatureRequest> requests = {{.key = "row", .kind = kind},
                                                               {.key = "x", .kind = kind}};
    if (listed.ok() && !listed->empty()) requests.push_back({.key = listed->back().key, .kind = kind});
    const auto parser = ArrayRowParser::Create(requests, {.max_value_bytes = kMaxValueBytes});
    PS_CHECK(parser.ok());
    penstock::records::ParsedExample values;
    const absl::Status parsed = parser->Parse(record, &values);
    PS_CHECK(parsed.ok() || absl::IsInvalidArgument(parsed) || absl::IsResourceExhausted(parsed));
    PS_CHECK(!parsed.ok() || listed.ok());
    if (!parsed.ok()) continue;
    uint64_t bytes = 0;
    for (const auto& value : values) {
      PS_CHECK(!value.missing || value.count() == 0);
      bytes += value.own.size() + 8 * value.ints.size() + 4 * value.floats.size();
      for (const std::string_view each : value.bytes) {
        PS_CHECK(penstock::fuzz::IsInside(each, record) ||
                 penstock::fuzz::IsInside(each, {value.own.data(), value.own.size()}));
      }
    }
    PS_CHECK(bytes <= kMaxValueBytes);
  }
  return listed.ok();
}

// Each record of the walk is the header of its rows, and these rows.
void CheckWalk(std::string_view bytes, const RowWindows& windows) {
  namespace sources = penstock::sources;
  const penstock::fuzz::BytesFile file(bytes);
  const auto walker = sources::RecordWalker::Start(&file, {.compression = sources::Compression::kNone,
                                                           .container = sources::ContainerKind::kNpy,
                                                           .windows = windows,
                                                           .max_record_bytes = 1 << 16});
  if (!walker.ok()) return;
  const auto header = penstock::ParseNpyHeader(bytes);
  const uint64_t first = windows.type.empty() && header.ok() ? header->data_offset : 0;
  std::string record;
  uint64_t next = first;  // of records with a mark
  for (int records = 0; records < kMostRecords; ++records) {
    const auto step = (*walker)->Next(&record);
    PS_CHECK(step.ok());
    if (*step != sources::RecordWalker::Step::kRecord) break;
    const std::string& head = (*walker)->head();
    const uint64_t step_bytes = windows.size == 0 ? (*walker)->length() : (*walker)->step_bytes();
    PS_CHECK((header.ok() || !windows.type.empty()) && std::string_view(record).starts_with(head));
    PS_CHECK(std::string_view(record).substr(head.size()) == bytes.substr((*walker)->offset(), (*walker)->length()));
    if (windows.end.has_value()) {
      PS_CHECK((*walker)->offset() == next && (*walker)->length() > 0);
      next += (*walker)->length();
    } else {
      PS_CHECK((*walker)->offset() == first + (*walker)->record() * step_bytes);
    }
    PS_CHECK(CheckRecord(record));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto copy = std::make_unique<char[]>(size);  // a sanitizer sees a read after it
  std::copy_n(reinterpret_cast<const char*>(data), size, copy.get());
  const std::string_view bytes(copy.get(), size);
  CheckRecord(bytes);
  const auto megatron = penstock::sources::ParseMegatronIndex(bytes);
  PS_CHECK(megatron.ok() || absl::IsInvalidArgument(megatron.status()));
  PS_CHECK(!megatron.ok() || megatron->sequences.size() <= size / 12);

  CheckWalk(bytes, {});
  if (bytes.empty()) return 0;
  const auto last = static_cast<uint8_t>(bytes.back());
  const RowWindows windows = {.size = 1 + last % 5u, .stride = 1 + last / 5 % 7u};
  CheckWalk(bytes, windows);
  CheckWalk(bytes, {.size = windows.size, .stride = windows.stride, .type = last % 2 == 0 ? "<u2" : "<i4"});
  CheckWalk(bytes, {.end = last % 9});
  CheckWalk(bytes, {.type = last % 2 == 0 ? "<u2" : "<i4", .end = last % 9});
  return 0;
}
