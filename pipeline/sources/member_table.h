// The members of all records of a shard, with their checksums. Containers without checksums of their own have them. A
// member of a tar archive is one file of a sample; a line of a JSONL file is one member.
#ifndef PENSTOCK_PIPELINE_SOURCES_MEMBER_TABLE_H_
#define PENSTOCK_PIPELINE_SOURCES_MEMBER_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::sources {

// A member of a record, as a walk over the shard finds it.
struct RecordMember {
  std::optional<std::string> extension = std::nullopt;  // nullopt: no feature can request the member
  uint32_t bytes = 0;                                   // stored bytes, with headers and padding
  uint32_t crc = 0;                                     // CRC-32C of the stored bytes
};

// Plain data, in columns. Takes 9 bytes per member and 4 per record. Members have consecutive numbers over all records,
// in the order of the records. The stored bytes of a record are those of its members, one after another.
class MemberTable {
 public:
  // Each of the first kOther extensions has a number of its own, below kOther. Later extensions, and those of more than
  // 255 bytes, share the number kOther. Every read of a record includes its members with kOther. kNone is the number of
  // a member without an extension.
  static constexpr uint8_t kOther = 254;
  static constexpr uint8_t kNone = 255;
  static constexpr size_t kNumbers = 256;

  // Adds a record with these members, at least one.
  void AppendRecord(std::span<const RecordMember> members);
  // Releases memory that the columns reserved for further records.
  void Compact();
  size_t MemoryBytes() const;

  uint64_t records() const { return starts_.size(); }
  // The members of record k are First(k) to First(k + 1) - 1. k <= records().
  uint64_t First(uint64_t k) const {
    return k == starts_.size() ? bytes_.size() : bases_[k / kBaseStride] + starts_[k];
  }
  uint32_t bytes(uint64_t member) const { return bytes_[member]; }
  uint32_t crc(uint64_t member) const { return crcs_[member]; }
  uint8_t extension(uint64_t member) const { return extension_numbers_[member]; }
  // Returns the number of an extension. Returns nullopt if no member has the extension, or if its members have the
  // number kOther.
  std::optional<uint8_t> NumberOf(std::string_view extension) const;
  // Returns the extension with the number, which must be below kOther and in use.
  const std::string& Extension(uint8_t number) const { return extensions_[number]; }

  // Returns the table of the records with these numbers, which ascend.
  MemberTable Selected(std::span<const uint32_t> numbers) const;

  // Returns the content of the index's section.
  std::string Serialize() const;
  // Parses the result of Serialize(). `lengths` are the stored bytes of each record. Returns nullopt if `content` is
  // malformed or contradicts `lengths`. Never allocates more than a small multiple of their size.
  static std::optional<MemberTable> Parse(std::string_view content, std::span<const uint32_t> lengths);

  bool operator==(const MemberTable&) const = default;

 private:
  static constexpr uint64_t kBaseStride = 64;

  void BeginRecord();

  std::vector<std::string> extensions_;  // by number, in the order of their first members
  std::vector<uint64_t> bases_;          // first member of one in kBaseStride records
  std::vector<uint32_t> starts_;         // first member of each record, from its base
  std::vector<uint32_t> bytes_, crcs_;
  std::vector<uint8_t> extension_numbers_;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_MEMBER_TABLE_H_
