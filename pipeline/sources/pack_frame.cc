#include "pipeline/sources/pack_frame.h"

#include "base/little_endian.h"

namespace penstock::sources {
namespace {

absl::Status Malformed() { return absl::InvalidArgumentError("the bytes are no row of packed records"); }

}  // namespace

void StorePackHeader(const std::vector<FramedPart>& parts, char* out) {
  const auto store = [&out](size_t value) {
    StoreLittleEndian(static_cast<uint32_t>(value), out);
    out += sizeof(uint32_t);
  };
  store(parts.size());
  for (const FramedPart& part : parts) {
    store(part.number);
    store(part.first);
    store(part.count);
    store(part.record.size());
  }
}

absl::Status ParsePack(std::string_view row, std::vector<FramedPart>* parts) {
  parts->clear();
  const char* at = row.data();
  const auto load = [&at] {
    const auto value = LoadLittleEndian<uint32_t>(at);
    at += sizeof(uint32_t);
    return value;
  };
  if (row.size() < PackHeaderBytes(0)) return Malformed();
  const uint32_t count = load();
  if (count == 0 || count > row.size() / PackHeaderBytes(0) || row.size() < PackHeaderBytes(count)) return Malformed();
  std::string_view records = row.substr(PackHeaderBytes(count));
  parts->reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    FramedPart part{.number = load(), .first = load(), .count = load()};
    const uint32_t bytes = load();
    if (bytes > records.size()) return Malformed();
    part.record = records.substr(0, bytes);
    records.remove_prefix(bytes);
    parts->push_back(part);
  }
  return records.empty() ? absl::OkStatus() : Malformed();
}

}  // namespace penstock::sources
