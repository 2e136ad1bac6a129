#include "pipeline/sources/lines/line_container.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/little_endian.h"
#include "base/status_macros.h"
#include "pipeline/sources/crc32c.h"
#include "pipeline/sources/damage.h"
#include "pipeline/sources/lines/csv_quotes.h"
#include "pipeline/sources/lines/text_bytes.h"
#include "pipeline/sources/record_limits.h"

namespace penstock::sources {
namespace {

constexpr size_t kChunkBytes = 64 << 10;

class LineWalker final : public RecordWalker {
 public:
  LineWalker(Input input, ContainerKind container)
      : RecordWalker(std::move(input)),
        skips_blank_(container == ContainerKind::kJsonl),
        has_rows_(DelimiterOf(container) != 0),
        quotes_(DelimiterOf(container)) {
    identity_bytes_[0] = static_cast<char>(container);
    identity_ = {identity_bytes_, sizeof(identity_bytes_) - (has_rows_ ? 0 : sizeof(uint32_t))};
    members_.resize(1);
  }

  // Reads the data of each record, because its CRC is in no other place.
  absl::StatusOr<Step> Next(std::string* data) override {
    record_ = next_record_;
    for (bool is_record = false; !is_record;) {
      offset_ = position_;
      length_ = 0;
      const bool is_head = has_rows_ && head_.empty();
      const uint64_t limit = is_head ? kMaxHeadBytes - 1 : options().max_record_bytes;
      std::string names;
      PS_RETURN_IF_ERROR(ReadLine(limit, is_head ? &names : data));
      if (is_too_long_) {
        return Break(Damage::kTooLong,
                     absl::StrCat(is_head ? "the limit for the row of names is " : "the limit is ", limit,
                                  quotes_.open() ? "; a quote before it has no end there" : ""));
      }
      if (quotes_.open() && !stream_is_damaged()) {
        return Break(Damage::kQuotes, "a field begins with a quote that has no end");
      }
      if (has_lines_ && quotes_.are_wrong()) {
        return Break(Damage::kQuotes, "a field in quotes has an end of a line, and bytes follow its last quote");
      }
      if (!has_end_ && stream_is_damaged()) {
        return BreakShort(length_ == 0 ? Damage::kTruncatedHeader : Damage::kTruncatedData, length_, length_ + 1);
      }
      if (length_ == 0) {
        ReportProgress(true);
        return Step::kEnd;
      }
      is_record = skips_blank_ ? !is_blank_ : !has_rows_ || data_bytes_ > 0;
      if (is_record && is_head) {
        if (HasReturn(names)) {
          return Break(Damage::kQuotes, "the row of names has a carriage return outside of quotes; end rows with LF");
        }
        head_ = names + "\n";
        StoreLittleEndian<uint32_t>(data_crc_, identity_bytes_ + 1 + sizeof(uint64_t) + sizeof(uint32_t));
        is_record = false;
      }
    }
    StoreLittleEndian<uint64_t>(data_bytes_, identity_bytes_ + 1);
    StoreLittleEndian<uint32_t>(data_crc_, identity_bytes_ + 1 + sizeof(uint64_t));
    next_record_ = record_ + 1;
    ReportProgress(false);
    return Step::kRecord;
  }

 private:
  // Reads the next line or row: sets length_ (0: the stream ends) and members_, and all members below for it. Sets
  // *data to the head and the line. Stops after `limit` bytes.
  absl::Status ReadLine(uint64_t limit, std::string* data) {
    if (data != nullptr) data->assign(head_);
    quotes_.Clear();
    data_bytes_ = 0;
    data_crc_ = 0;
    is_blank_ = true;
    has_end_ = false;
    is_too_long_ = false;
    has_lines_ = false;
    bool has_return = false;  // the bytes so far end with "\r", which is not yet known to be data
    while (!has_end_) {
      if (begin_ == end_) {
        PS_RETURN_IF_ERROR(ReadChunk());
        if (begin_ == end_) break;
      }
      const char* const from = chunk_.data() + begin_;
      const void* const found = std::memchr(from, '\n', end_ - begin_);
      std::string_view piece(
          from, found != nullptr ? static_cast<size_t>(static_cast<const char*>(found) - from) : end_ - begin_);
      const size_t used = piece.size() + (found != nullptr ? 1 : 0);
      if (has_rows_) quotes_.Read(piece);
      has_end_ = found != nullptr && !quotes_.open();
      begin_ += used;
      position_ += used;
      length_ += used;
      if (length_ > limit) {
        is_too_long_ = true;
        return absl::OkStatus();
      }
      if (has_return && !piece.empty()) AddData("\r", data);
      has_return = piece.empty() ? has_return : piece.back() == '\r';
      if (!piece.empty() && has_return) piece.remove_suffix(1);
      AddData(piece, data);
      if (found == nullptr || has_end_) continue;
      has_lines_ = true;
      AddData(has_return ? "\r\n" : "\n", data);
      has_return = false;
    }
    const bool ends_with_return = has_return && (has_end_ || has_rows_);
    if (has_return && !ends_with_return) AddData("\r", data);
    const std::string_view end = has_end_ ? (has_return ? "\r\n" : "\n") : ends_with_return ? "\r" : "";
    members_[0].bytes = static_cast<uint32_t>(length_);
    members_[0].crc = Crc32cExtend(data_crc_, end);
    return absl::OkStatus();
  }

  // Returns whether the row has a carriage return outside of quotes.
  bool HasReturn(std::string_view row) {
    quotes_.Clear();
    for (const char& c : row) {
      if (c == '\r' && !quotes_.open()) return true;
      quotes_.Read({&c, 1});
    }
    return false;
  }

  void AddData(std::string_view piece, std::string* data) {
    data_crc_ = Crc32cExtend(data_crc_, piece);
    data_bytes_ += piece.size();
    is_blank_ = is_blank_ && std::all_of(piece.begin(), piece.end(), IsJsonSpace);
    if (data != nullptr) data->append(piece);
  }

  // Reads the next bytes of the stream. Reads none at its end, and after damage.
  absl::Status ReadChunk() {
    begin_ = end_ = 0;
    if (stream_is_damaged()) return absl::OkStatus();
    chunk_.resize(kChunkBytes);
    PS_RETURN_IF_ERROR(ReadFully(chunk_.data(), kChunkBytes, &end_));
    if (position_ == 0 && std::string_view(chunk_).substr(0, end_).starts_with(kByteOrderMark)) {
      begin_ = kByteOrderMark.size();
      position_ = offset_ = begin_;
    }
    return absl::OkStatus();
  }

  const bool skips_blank_;
  const bool has_rows_;  // CSV and TSV
  CsvQuotes quotes_;     // state in the current row
  std::string chunk_;
  size_t begin_ = 0, end_ = 0;  // the unread part of chunk_
  uint64_t position_ = 0;       // of that part in the stream
  uint64_t next_record_ = 0;
  char identity_bytes_[1 + sizeof(uint64_t) + 2 * sizeof(uint32_t)] = {};
  // The current line.
  uint64_t data_bytes_ = 0;
  uint32_t data_crc_ = 0;
  bool is_blank_ = true, has_end_ = false, is_too_long_ = false;
  bool has_lines_ = false;  // an end of a line is inside of quotes
};

// Checks a line of an index, and returns it without its end. "\r" at the end of a file ends only a row.
absl::StatusOr<std::string_view> CheckedLine(const ShardIndex& index, uint64_t k, const char* stored) {
  PS_ASSIGN_OR_RETURN(const std::string_view all, CheckedStoredLine(index, k, stored));
  std::string_view data = all;
  if (data.ends_with('\n')) {
    data.remove_suffix(1);
  } else if (DelimiterOf(index.kind().container) == 0) {
    return data;
  }
  if (data.ends_with('\r')) data.remove_suffix(1);
  return data;
}

}  // namespace

absl::StatusOr<std::string_view> CheckedStoredLine(const ShardIndex& index, uint64_t k, const char* stored) {
  const std::string_view all(stored, index.StoredBytes(k));
  if (Crc32cExtend(0, all) == index.members().crc(index.members().First(index.PlaceOf(k)))) return all;
  return DamagedRead("its CRC is not that of the index", all);
}

std::unique_ptr<RecordWalker> JsonlContainer::Walk(RecordWalker::Input input) const {
  return std::make_unique<LineWalker>(std::move(input), ContainerKind::kJsonl);
}

absl::StatusOr<std::string_view> JsonlContainer::DataOf(const ShardIndex& index, uint64_t k,
                                                        const RequestedFeatures* features, const char* stored) const {
  return CheckedLine(index, k, stored);
}

std::unique_ptr<RecordWalker> TextContainer::Walk(RecordWalker::Input input) const {
  return std::make_unique<LineWalker>(std::move(input), ContainerKind::kText);
}

absl::StatusOr<std::string_view> TextContainer::DataOf(const ShardIndex& index, uint64_t k,
                                                       const RequestedFeatures* features, const char* stored) const {
  return CheckedLine(index, k, stored);
}

std::unique_ptr<RecordWalker> CsvContainer::Walk(RecordWalker::Input input) const {
  return std::make_unique<LineWalker>(std::move(input), kind_);
}

absl::StatusOr<std::string_view> CsvContainer::DataOf(const ShardIndex& index, uint64_t k,
                                                      const RequestedFeatures* features, const char* stored) const {
  return CheckedLine(index, k, stored);
}

}  // namespace penstock::sources
