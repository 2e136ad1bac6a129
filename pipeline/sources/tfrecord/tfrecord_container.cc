#include "pipeline/sources/tfrecord/tfrecord_container.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/little_endian.h"
#include "base/status_macros.h"
#include "pipeline/sources/crc32c.h"
#include "pipeline/sources/damage.h"
#include "pipeline/sources/tfrecord/framing.h"

namespace penstock::sources {
namespace {

class TfRecordWalker final : public RecordWalker {
 public:
  explicit TfRecordWalker(Input input) : RecordWalker(std::move(input)) { identity_ = {frame_, sizeof(frame_)}; }

  absl::StatusOr<Step> Next(std::string* data) override {
    record_ = next_record_;
    offset_ = next_offset_;
    length_ = 0;
    data_is_right_ = true;

    size_t got = 0;
    PS_RETURN_IF_ERROR(ReadFully(frame_, kRecordHeaderBytes, &got));
    if (got == 0 && !stream_is_damaged()) {
      ReportProgress(true);
      return Step::kEnd;
    }
    if (got < kRecordHeaderBytes) return BreakShort(Damage::kTruncatedHeader, got, kRecordHeaderBytes);
    if (!HeaderCrcIsRight(frame_)) return Break(Damage::kLengthCrc, "");
    length_ = HeaderLength(frame_);
    if (length_ > options().max_record_bytes) {
      return Break(Damage::kTooLong, absl::StrCat("the limit is ", options().max_record_bytes));
    }

    uint64_t body = 0;
    uint32_t crc = 0;
    const bool reads = options().check_data || data != nullptr;
    if (data != nullptr) data->clear();
    if (reads) {
      PS_RETURN_IF_ERROR(ReadPieces(length_, data, {&crc}, &body));
    } else {
      PS_RETURN_IF_ERROR(SkipFully(length_, &body));
    }
    if (body == length_) {
      PS_RETURN_IF_ERROR(ReadFully(footer(), kRecordFooterBytes, &got));
      body += got;
    }
    if (body < length_ + kRecordFooterBytes) {
      return BreakShort(Damage::kTruncatedData, body, length_ + kRecordFooterBytes);
    }
    data_is_right_ = !reads || MaskCrc(crc) == LoadLittleEndian<uint32_t>(footer());
    next_record_ = record_ + 1;
    next_offset_ = offset_ + length_ + kRecordFrameBytes;
    ReportProgress(false);
    return Step::kRecord;
  }

 private:
  char* footer() { return frame_ + kRecordHeaderBytes; }

  uint64_t next_record_ = 0, next_offset_ = 0;
  char frame_[kRecordFrameBytes] = {};  // header and footer of the current record
};

}  // namespace

std::unique_ptr<RecordWalker> TfRecordContainer::Walk(RecordWalker::Input input) const {
  return std::make_unique<TfRecordWalker>(std::move(input));
}

absl::StatusOr<std::string_view> TfRecordContainer::DataOf(const ShardIndex& index, uint64_t k,
                                                           const RequestedFeatures* features,
                                                           const char* stored) const {
  const uint32_t length = index.RecordLength(k);
  const auto broken = [&](absl::string_view what) {
    return DamagedRead({what.data(), what.size()}, {stored, index.StoredBytes(k)});
  };
  if (!HeaderCrcIsRight(stored)) return broken("the CRC of its length is wrong");
  if (HeaderLength(stored) != length) {
    return broken(
        absl::StrCat("its length is ", HeaderLength(stored), ", but was ", length, " when the shard was indexed"));
  }
  const std::string_view data(stored + kRecordHeaderBytes, length);
  if (MaskedCrc32c(data) != LoadLittleEndian<uint32_t>(data.data() + data.size())) {
    return broken("the CRC of its data is wrong");
  }
  return data;
}

}  // namespace penstock::sources
