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
#include "pipeline/sources/lines/text_bytes.h"

namespace penstock::sources {
namespace {

constexpr size_t kChunkBytes = 64 << 10;

class LineWalker final : public RecordWalker {
 public:
  LineWalker(Input input, ContainerKind container)
      : RecordWalker(std::move(input)), skips_blank_(container == ContainerKind::kJsonl) {
    identity_bytes_[0] = static_cast<char>(container);
    identity_ = {identity_bytes_, sizeof(identity_bytes_)};
    members_.resize(1);
  }

  // Reads the data of each record, because its CRC is in no other place.
  absl::StatusOr<Step> Next(std::string* data) override {
    record_ = next_record_;
    do {
      offset_ = position_;
      length_ = 0;
      PS_RETURN_IF_ERROR(ReadLine(data));
      if (is_too_long_) {
        return Break(Damage::kTooLong, absl::StrCat("the limit is ", options().max_record_bytes));
      }
      if (!has_end_ && stream_is_damaged()) {
        return BreakShort(length_ == 0 ? Damage::kTruncatedHeader : Damage::kTruncatedData, length_, length_ + 1);
      }
      if (length_ == 0) {
        ReportProgress(true);
        return Step::kEnd;
      }
    } while (is_blank_ && skips_blank_);
    StoreLittleEndian<uint64_t>(data_bytes_, identity_bytes_ + 1);
    StoreLittleEndian<uint32_t>(data_crc_, identity_bytes_ + 1 + sizeof(uint64_t));
    next_record_ = record_ + 1;
    ReportProgress(false);
    return Step::kRecord;
  }

 private:
  // Reads the next line: sets length_ (0: the stream ends) and members_, and all members below for the line.
  absl::Status ReadLine(std::string* data) {
    if (data != nullptr) data->clear();
    data_bytes_ = 0;
    data_crc_ = 0;
    is_blank_ = true;
    has_end_ = false;
    is_too_long_ = false;
    bool has_return = false;  // the bytes so far end with "\r", which is not yet known to be data
    while (!has_end_) {
      if (begin_ == end_) {
        PS_RETURN_IF_ERROR(ReadChunk());
        if (begin_ == end_) break;
      }
      const char* const from = chunk_.data() + begin_;
      const void* const found = std::memchr(from, '\n', end_ - begin_);
      has_end_ = found != nullptr;
      std::string_view piece(from,
                             has_end_ ? static_cast<size_t>(static_cast<const char*>(found) - from) : end_ - begin_);
      const size_t used = piece.size() + (has_end_ ? 1 : 0);
      begin_ += used;
      position_ += used;
      length_ += used;
      if (length_ > options().max_record_bytes) {
        is_too_long_ = true;
        return absl::OkStatus();
      }
      if (has_return && !piece.empty()) AddData("\r", data);
      has_return = piece.empty() ? has_return : piece.back() == '\r';
      if (!piece.empty() && has_return) piece.remove_suffix(1);
      AddData(piece, data);
    }
    if (has_return && !has_end_) AddData("\r", data);
    const std::string_view end = !has_end_ ? "" : has_return ? "\r\n" : "\n";
    members_[0].bytes = static_cast<uint32_t>(length_);
    members_[0].crc = Crc32cExtend(data_crc_, end);
    return absl::OkStatus();
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
  std::string chunk_;
  size_t begin_ = 0, end_ = 0;  // the unread part of chunk_
  uint64_t position_ = 0;       // of that part in the stream
  uint64_t next_record_ = 0;
  char identity_bytes_[1 + sizeof(uint64_t) + sizeof(uint32_t)] = {};
  // The current line.
  uint64_t data_bytes_ = 0;
  uint32_t data_crc_ = 0;
  bool is_blank_ = true, has_end_ = false, is_too_long_ = false;
};

// Checks a line of an index, and returns it without its end.
absl::StatusOr<std::string_view> CheckedLine(const ShardIndex& index, uint64_t k, const char* stored) {
  const std::string_view all(stored, index.StoredBytes(k));
  if (Crc32cExtend(0, all) != index.members().crc(index.members().First(k))) {
    return DamagedRead("its CRC is not that of the index", all);
  }
  std::string_view data = all;
  if (!data.ends_with('\n')) return data;
  data.remove_suffix(1);
  if (data.ends_with('\r')) data.remove_suffix(1);
  return data;
}

}  // namespace

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

}  // namespace penstock::sources
