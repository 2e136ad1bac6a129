#include "pipeline/sources/member_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/little_endian.h"
#include "base/wire.h"

// The section, in columns. Numbers are varints unless noted:
//   extensions, for each: its bytes, the extension,
//   for each record: its members,
//   for each member: u8 number of its extension, 254 for any other extension, 255 for none,
//   for each member: its stored bytes,
//   for each member: u32 CRC-32C of these bytes, little-endian.
namespace penstock::sources {
namespace {

// Longer extensions are not in the table.
constexpr size_t kMostExtensionBytes = 255;

}  // namespace

void MemberTable::BeginRecord() {
  if (starts_.size() % kBaseStride == 0) bases_.push_back(bytes_.size());
  starts_.push_back(static_cast<uint32_t>(bytes_.size() - bases_.back()));
}

void MemberTable::AppendRecord(std::span<const RecordMember> members) {
  PS_CHECK(!members.empty());
  BeginRecord();
  for (const RecordMember& member : members) {
    uint8_t number = kNone;
    if (member.extension.has_value()) {
      number = NumberOf(*member.extension).value_or(kOther);
      const bool fits = extensions_.size() < kOther && member.extension->size() <= kMostExtensionBytes;
      if (number == kOther && fits) {
        number = static_cast<uint8_t>(extensions_.size());
        extensions_.push_back(*member.extension);
      }
    }
    extension_numbers_.push_back(number);
    bytes_.push_back(member.bytes);
    crcs_.push_back(member.crc);
  }
}

void MemberTable::Compact() {
  extensions_.shrink_to_fit();
  bases_.shrink_to_fit();
  starts_.shrink_to_fit();
  bytes_.shrink_to_fit();
  crcs_.shrink_to_fit();
  extension_numbers_.shrink_to_fit();
}

size_t MemberTable::MemoryBytes() const {
  size_t bytes = bases_.capacity() * sizeof(uint64_t) + extension_numbers_.capacity() +
                 (starts_.capacity() + bytes_.capacity() + crcs_.capacity()) * sizeof(uint32_t) +
                 extensions_.capacity() * sizeof(std::string);
  for (const std::string& extension : extensions_) bytes += extension.capacity();
  return bytes;
}

std::optional<uint8_t> MemberTable::NumberOf(std::string_view extension) const {
  const auto found = std::find(extensions_.begin(), extensions_.end(), extension);
  if (found == extensions_.end()) return std::nullopt;
  return static_cast<uint8_t>(found - extensions_.begin());
}

MemberTable MemberTable::Selected(std::span<const uint32_t> numbers) const {
  MemberTable made;
  made.extensions_ = extensions_;
  for (const uint32_t number : numbers) {
    made.BeginRecord();
    for (uint64_t member = First(number); member < First(uint64_t{number} + 1); ++member) {
      made.extension_numbers_.push_back(extension_numbers_[member]);
      made.bytes_.push_back(bytes_[member]);
      made.crcs_.push_back(crcs_[member]);
    }
  }
  return made;
}

std::string MemberTable::Serialize() const {
  std::string out;
  AppendVarint(extensions_.size(), &out);
  for (const std::string& extension : extensions_) {
    AppendVarint(extension.size(), &out);
    out += extension;
  }
  for (uint64_t k = 0; k < records(); ++k) AppendVarint(First(k + 1) - First(k), &out);
  out.append(extension_numbers_.begin(), extension_numbers_.end());
  for (const uint32_t bytes : bytes_) AppendVarint(bytes, &out);
  for (const uint32_t crc : crcs_) {
    char number[sizeof(crc)];
    StoreLittleEndian(crc, number);
    out.append(number, sizeof(number));
  }
  return out;
}

std::optional<MemberTable> MemberTable::Parse(std::string_view content, std::span<const uint32_t> lengths) {
  WireReader in(content);
  MemberTable table;
  uint64_t extensions = 0;
  if (!in.ReadVarint(&extensions) || extensions > kOther) return std::nullopt;
  for (uint64_t i = 0; i < extensions; ++i) {
    std::string_view extension;
    if (!in.ReadLengthPrefixed(&extension) || extension.size() > kMostExtensionBytes ||
        table.NumberOf(extension).has_value()) {
      return std::nullopt;
    }
    table.extensions_.emplace_back(extension);
  }
  std::vector<uint64_t> counts;
  uint64_t members = 0;
  if (lengths.size() > in.left()) return std::nullopt;
  counts.reserve(lengths.size());
  for (size_t k = 0; k < lengths.size(); ++k) {
    uint64_t count = 0;
    // Each member takes at least 6 bytes, so a forged count allocates nothing.
    if (!in.ReadVarint(&count) || count == 0 || count > in.left() || members > in.left() - count) return std::nullopt;
    members += count;
    counts.push_back(count);
  }
  std::string_view numbers;
  if (!in.ReadBytes(members, &numbers)) return std::nullopt;
  for (const char number : numbers) {
    const auto value = static_cast<uint8_t>(number);
    if (value >= extensions && value < kOther) return std::nullopt;
    table.extension_numbers_.push_back(value);
  }
  table.bytes_.reserve(members);
  table.starts_.reserve(lengths.size());
  for (size_t k = 0; k < lengths.size(); ++k) {
    table.BeginRecord();
    uint64_t sum = 0;
    for (uint64_t i = 0; i < counts[k]; ++i) {
      uint64_t bytes = 0;
      if (!in.ReadVarint(&bytes) || bytes > lengths[k] - sum) return std::nullopt;
      sum += bytes;
      table.bytes_.push_back(static_cast<uint32_t>(bytes));
    }
    if (sum != lengths[k]) return std::nullopt;
  }
  std::string_view crcs;
  if (in.left() != sizeof(uint32_t) * members || !in.ReadBytes(in.left(), &crcs)) return std::nullopt;
  table.crcs_.reserve(members);
  for (uint64_t i = 0; i < members; ++i) {
    table.crcs_.push_back(LoadLittleEndian<uint32_t>(crcs.data() + sizeof(uint32_t) * i));
  }
  return table;
}

}  // namespace penstock::sources
