// Any bytes as a sample of a WebDataset archive: no access is out of bounds, and every view is inside the record or the
// value's own memory. The target also repairs the checksums of headers, to reach the code after their check.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/check.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/sample_parser.h"
#include "pipeline/sources/tar/sample_name.h"
#include "pipeline/sources/tar/tar_header.h"
#include "tests/pipeline/sources/tar/tar_maker.h"

namespace {

using penstock::records::FeatureKind;
using penstock::records::SampleParser;

constexpr uint64_t kMaxValueBytes = 1 << 20;

SampleParser MakeSampleParser(std::vector<penstock::records::FeatureRequest> requests) {
  auto parser = SampleParser::Create(std::move(requests), {.max_value_bytes = kMaxValueBytes});
  PS_CHECK(parser.ok());
  return *std::move(parser);
}

// Each request has a parser of its own, so that an error of one hides no other. The last one has several of one member.
const std::vector<SampleParser>& SampleParsers() {
  static const auto* const parsers = [] {
    auto* out = new std::vector<SampleParser>();
    for (const FeatureKind kind : {FeatureKind::kBytes, FeatureKind::kInt64, FeatureKind::kFloat}) {
      for (const char* key : {"jpg;png", "cls", "npy", "json", "json/a", "json/a/0/b;json/b;cls"}) {
        out->push_back(MakeSampleParser({{.key = key, .kind = kind}}));
      }
    }
    out->push_back(MakeSampleParser({{.key = "__key__"}, {.key = "npy", .element_bytes = 4}}));
    out->push_back(
        MakeSampleParser({{.key = "json/a"}, {.key = "json/a/0"}, {.key = "json/a/0/b"}, {.key = "json/b"}}));
    return out;
  }();
  return *parsers;
}

bool IsInside(std::string_view bytes, const char* begin, size_t size) {
  return bytes.data() >= begin && bytes.data() + bytes.size() <= begin + size;
}

void CheckSample(std::string_view record) {
  size_t members = 0;
  std::string key;
  const absl::Status walked = penstock::sources::ForEachSampleMember(
      record, [&](const penstock::sources::SampleName& name, std::string_view data) {
        PS_CHECK(IsInside(data, record.data(), record.size()) && !name.key.empty());
        PS_CHECK(members == 0 || name.key == key);
        key = std::string(name.key);
        ++members;
        return absl::OkStatus();
      });
  PS_CHECK(walked.ok() || absl::IsInvalidArgument(walked));

  const auto listed = penstock::records::ListMembers(record);
  const auto sample_key = penstock::records::KeyOfSample(record);
  PS_CHECK(listed.ok() == sample_key.ok());
  if (listed.ok()) {
    PS_CHECK(walked.ok() && listed->size() == members && *sample_key == key);
    for (const penstock::records::FeatureInfo& info : *listed) {
      PS_CHECK(info.first_bytes.data() == nullptr || IsInside(info.first_bytes, record.data(), record.size()));
      PS_CHECK(info.least <= info.most && info.count <= record.size());
    }
  }

  static auto* const parsed = new penstock::records::ParsedExample();
  for (const SampleParser& parser : SampleParsers()) {
    const absl::Status status = parser.Parse(record, parsed);
    PS_CHECK(status.ok() || absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status));
    PS_CHECK(listed.ok() || !status.ok());
    if (!status.ok()) continue;
    uint64_t bytes = 0;
    for (const penstock::records::FeatureValue& value : *parsed) {
      for (const std::string_view text : value.bytes) {
        PS_CHECK(text.empty() || IsInside(text, record.data(), record.size()) ||
                 IsInside(text, value.own.data(), value.own.size()));
      }
      PS_CHECK(value.splits.empty() && (!value.missing || value.count() == 0));
      bytes += value.ints.size() * sizeof(int64_t) + value.floats.size() * sizeof(float) + value.own.size();
    }
    PS_CHECK(bytes <= kMaxValueBytes);
  }
}

// Repairs the checksum of each block at which the walk over the sample expects a header.
void RepairChecksums(std::string* record) {
  penstock::sources::TarAssembler assembler;
  for (size_t at = 0; record->size() - at >= penstock::sources::kTarBlockBytes;) {
    std::string block = record->substr(at, penstock::sources::kTarBlockBytes);
    penstock::sources::RepairTarChecksum(&block);
    record->replace(at, block.size(), block);
    at += penstock::sources::kTarBlockBytes;
    const auto next = assembler.AddHeader(block.data());
    if (!next.ok()) return;
    uint64_t size = 0;
    if (*next == penstock::sources::TarAssembler::Next::kExtension) size = assembler.extension_bytes();
    if (*next == penstock::sources::TarAssembler::Next::kMember) size = assembler.member().size;
    if (penstock::sources::TarPaddedBytes(size) > record->size() - at) return;
    if (*next == penstock::sources::TarAssembler::Next::kExtension &&
        !assembler.AddExtension(std::string_view(*record).substr(at, size)).ok()) {
      return;
    }
    at += penstock::sources::TarPaddedBytes(size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string record(reinterpret_cast<const char*>(data), size);
  CheckSample(record);
  RepairChecksums(&record);
  CheckSample(record);
  return 0;
}
