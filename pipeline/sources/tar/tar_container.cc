#include "pipeline/sources/tar/tar_container.h"

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/little_endian.h"
#include "base/status_macros.h"
#include "pipeline/sources/crc32c.h"
#include "pipeline/sources/damage.h"
#include "pipeline/sources/tar/sample_members.h"
#include "pipeline/sources/tar/sample_name.h"
#include "pipeline/sources/tar/tar_header.h"

namespace penstock::sources {
namespace {

class TarWalker final : public RecordWalker {
 public:
  explicit TarWalker(Input input) : RecordWalker(std::move(input)) {}

  absl::StatusOr<Step> Next(std::string* data) override {
    record_ = next_record_;
    length_ = 0;
    data_is_right_ = true;
    identities_.clear();
    members_.clear();
    if (data != nullptr) data->clear();

    std::string key;
    bool is_open = false;  // a member of the sample was read
    size_t members = 0;    // up to the last one with an extension
    for (;;) {
      if (!has_head_) PS_RETURN_IF_ERROR(ReadHead());
      if (head_.kind != Head::kMember) {
        // The sample is whole if the archive ends after it. A damaged header can be that of its next member.
        if (is_open && (head_.kind == Head::kEnd || head_.is_after_end_mark)) break;
        return End();
      }
      if (head_.name.has_value() && is_open && head_.name->key != key) break;
      if (head_.name.has_value() && !is_open) {
        is_open = true;
        key = std::string(head_.name->key);
        offset_ = head_.offset;
      }
      const uint64_t begin = is_open ? offset_ : head_.offset;
      const uint64_t body = TarPaddedBytes(head_.member.size);
      const bool fits =
          position_ - begin <= options().max_record_bytes && body <= options().max_record_bytes - (position_ - begin);
      if (head_.name.has_value() && !fits) {
        length_ = position_ - begin + body;
        return Break(Damage::kTooLong, absl::StrCat(Place(), "with its sample it has ", length_,
                                                    " bytes or more; the limit is ", options().max_record_bytes));
      }
      has_head_ = false;
      uint64_t got = 0;
      if (!is_open || !fits) {  // a member that belongs to no sample
        PS_RETURN_IF_ERROR(SkipFully(body, &got));
      } else {
        if (data != nullptr) data->append(head_.bytes);
        uint32_t crc = Crc32cExtend(0, head_.bytes), data_crc = 0;
        uint64_t padding = 0;
        PS_RETURN_IF_ERROR(ReadPieces(head_.member.size, data, {&crc, &data_crc}, &got));
        if (got == head_.member.size) PS_RETURN_IF_ERROR(ReadPieces(body - got, data, {&crc}, &padding));
        got += padding;
        if (got == body) AddMember(crc, data_crc, static_cast<uint32_t>(head_.bytes.size() + body));
      }
      position_ += got;
      if (got < body) {
        if (!is_open) offset_ = head_.offset;
        return BreakShort(Damage::kTruncatedData, got, body, Place());
      }
      skipped_ += head_.name.has_value() ? 0 : 1;
      if (head_.name.has_value()) {
        length_ = position_ - offset_;
        members = members_.size();
      }
    }
    members_.resize(members);
    if (data != nullptr) data->resize(length_);
    identity_ = identities_;
    next_record_ = record_ + 1;
    ReportProgress(false);
    return Step::kRecord;
  }

 private:
  // The headers of a member, or why there is none.
  struct Head {
    enum Kind { kMember, kEnd, kMalformed, kShort };
    Kind kind = kEnd;
    uint64_t offset = 0;
    std::string bytes;
    TarMember member = {};
    std::optional<SampleName> name = std::nullopt;  // a part of member.name; nullopt: the member belongs to no sample
    std::string detail = {};                        // kMalformed
    uint64_t got = 0, wanted = 0;                   // kShort: bytes of the last block
    bool is_after_end_mark = false;
  };

  // Reads the headers of the next member.
  absl::Status ReadHead() {
    has_head_ = true;
    head_ = {.offset = position_, .bytes = {}};
    for (;;) {
      PS_ASSIGN_OR_RETURN(const bool whole, ReadBlocks(kTarBlockBytes));
      if (!whole) {
        const bool at_end = head_.got == 0 && head_.bytes.empty() && !stream_is_damaged();
        head_.kind = at_end ? Head::kEnd : Head::kShort;  // archives without an end mark are common
        return absl::OkStatus();
      }
      const auto next = tar_.AddHeader(head_.bytes.data() + head_.bytes.size() - kTarBlockBytes);
      if (!next.ok()) return Malformed(next.status());
      switch (*next) {
        case TarAssembler::Next::kEnd:
          return ReadRest();
        case TarAssembler::Next::kHeader:
          break;
        case TarAssembler::Next::kExtension: {
          const size_t begin = head_.bytes.size();
          PS_ASSIGN_OR_RETURN(const bool payload, ReadBlocks(TarPaddedBytes(tar_.extension_bytes())));
          if (!payload) {
            head_.kind = Head::kShort;
            return absl::OkStatus();
          }
          const absl::Status added =
              tar_.AddExtension({head_.bytes.data() + begin, static_cast<size_t>(tar_.extension_bytes())});
          if (!added.ok()) return Malformed(added);
          break;
        }
        case TarAssembler::Next::kMember:
          head_.kind = Head::kMember;
          head_.member = tar_.member();
          if (head_.member.is_file) head_.name = ParseSampleName(head_.member.name);
          return absl::OkStatus();
      }
    }
  }

  // Appends `length` bytes to the head. Returns false if the stream ends before them.
  absl::StatusOr<bool> ReadBlocks(uint64_t length) {
    const size_t begin = head_.bytes.size();
    head_.bytes.resize(begin + length);
    size_t got = 0;
    PS_RETURN_IF_ERROR(ReadFully(head_.bytes.data() + begin, length, &got));
    position_ += got;
    head_.bytes.resize(begin + got);
    head_.got = got;
    head_.wanted = length;
    if (got == 0) head_.bytes.resize(begin);
    return got == length;
  }

  absl::Status Malformed(const absl::Status& reason) {
    head_.kind = Head::kMalformed;
    head_.detail = std::string(reason.message());
    return absl::OkStatus();
  }

  // Reads a compressed stream to its end, because its checksum is there.
  absl::Status ReadRest() {
    head_.kind = Head::kEnd;
    if (kind().compression == Compression::kNone) return absl::OkStatus();
    uint64_t got = 0;
    PS_RETURN_IF_ERROR(SkipFully(std::numeric_limits<int64_t>::max(), &got));
    if (stream_is_damaged())
      head_ = {
          .kind = Head::kShort, .offset = position_, .bytes = {}, .wanted = kTarBlockBytes, .is_after_end_mark = true};
    return absl::OkStatus();
  }

  // Ends the walk without a further sample.
  Step End() {
    offset_ = head_.offset;
    length_ = 0;  // the sample before it may have set it
    switch (head_.kind) {
      case Head::kMalformed:
        return Break(Damage::kMember, head_.detail);
      case Head::kShort:
        return BreakShort(Damage::kTruncatedHeader, head_.got, head_.wanted, "");
      case Head::kMember:
      case Head::kEnd:
        break;
    }
    ReportProgress(true);
    return Step::kEnd;
  }

  std::string Place() const {
    return absl::StrCat("member ", absl::CHexEscape(head_.member.name), " at offset ", head_.offset, ": ");
  }

  // Adds the member that was read. `crc` includes its headers and padding, `stored` counts them.
  void AddMember(uint32_t crc, uint32_t data_crc, uint32_t stored) {
    RecordMember member{.bytes = stored, .crc = crc};
    if (head_.name.has_value()) member.extension = std::move(head_.name->extension);
    members_.push_back(std::move(member));
    if (!head_.name.has_value()) return;
    char numbers[12];
    StoreLittleEndian<uint64_t>(head_.member.size, numbers);
    StoreLittleEndian<uint32_t>(data_crc, numbers + 8);
    identities_.append(head_.member.name).append(1, '\0').append(numbers, sizeof(numbers));
  }

  TarAssembler tar_;
  uint64_t position_ = 0;  // in the stream
  uint64_t next_record_ = 0;
  bool has_head_ = false;  // head_ was read, its data was not
  Head head_;
  std::string identities_;  // one for each member of the current sample
};

// Names a member whose stored bytes may be damaged: by its header if that is intact, otherwise by its extension.
std::string MemberName(const MemberTable& table, uint64_t member, std::string_view stored) {
  TarAssembler headers;
  for (size_t at = 0; stored.size() - at >= kTarBlockBytes;) {
    const auto next = headers.AddHeader(stored.data() + at);
    if (!next.ok() || *next == TarAssembler::Next::kEnd) break;
    if (*next == TarAssembler::Next::kMember) {
      return absl::StrCat("member ", absl::CHexEscape(headers.member().name));
    }
    at += kTarBlockBytes;
    if (*next != TarAssembler::Next::kExtension) continue;
    const uint64_t bytes = headers.extension_bytes();
    if (TarPaddedBytes(bytes) > stored.size() - at || !headers.AddExtension(stored.substr(at, bytes)).ok()) break;
    at += TarPaddedBytes(bytes);
  }
  const uint8_t extension = table.extension(member);
  if (extension >= MemberTable::kOther) return "a member";
  return absl::StrCat("member .", absl::CHexEscape(table.Extension(extension)));
}

}  // namespace

std::unique_ptr<RecordWalker> TarContainer::Walk(RecordWalker::Input input) const {
  return std::make_unique<TarWalker>(std::move(input));
}

std::vector<ByteRange> TarContainer::RangesOf(const ShardIndex& index, uint64_t k,
                                              const RequestedFeatures& features) const {
  const MemberTable& table = index.members();
  const uint64_t place = index.PlaceOf(k);
  const SampleMembers members(table, place, features);
  std::vector<ByteRange> ranges;
  uint64_t offset = index.RecordOffset(k);
  for (uint64_t member = table.First(place); member < table.First(place + 1); ++member) {
    const uint64_t bytes = table.bytes(member);
    if (members.Has(member)) {
      const bool is_adjacent = !ranges.empty() && ranges.back().offset + ranges.back().length == offset;
      if (!is_adjacent) ranges.push_back({offset, 0});
      ranges.back().length += bytes;
    }
    offset += bytes;
  }
  return ranges;
}

absl::StatusOr<std::string_view> TarContainer::DataOf(const ShardIndex& index, uint64_t k,
                                                      const RequestedFeatures* features, const char* stored) const {
  const MemberTable& table = index.members();
  const uint64_t place = index.PlaceOf(k);
  std::optional<SampleMembers> members;
  if (features != nullptr) members.emplace(table, place, *features);
  uint64_t offset = index.RecordOffset(k), read = 0;
  std::optional<std::string> damage;
  for (uint64_t member = table.First(place); member < table.First(place + 1); ++member) {
    const uint32_t bytes = table.bytes(member);
    if (!members.has_value() || members->Has(member)) {
      const std::string_view data(stored + read, bytes);
      if (!damage.has_value() && Crc32cExtend(0, data) != table.crc(member)) {
        damage =
            absl::StrCat(MemberName(table, member, data), " at offset ", offset, ": its CRC is not that of the index");
      }
      read += bytes;
    }
    offset += bytes;
  }
  const std::string_view all(stored, read);
  if (damage.has_value()) return DamagedRead(*damage, all);
  return all;
}

}  // namespace penstock::sources
