#include "pipeline/sources/npy/npy_container.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/little_endian.h"
#include "base/npy_header.h"
#include "base/npy_row.h"
#include "base/status_macros.h"
#include "pipeline/sources/crc32c.h"
#include "pipeline/sources/damage.h"
#include "pipeline/sources/record_limits.h"

namespace penstock::sources {
namespace {

// Limit of the records of a file. The walk and the index take about 50 bytes in memory for each.
constexpr uint64_t kMostWindows = uint64_t{1} << 27;
// Magic, version and the longest length of the dict.
constexpr size_t kHeaderStartBytes = 12;

class NpyWalker final : public RecordWalker {
 public:
  // `plain` is the file, or null if it is compressed.
  NpyWalker(Input input, const RandomAccessFile* plain) : RecordWalker(std::move(input)), plain_(plain) {
    identity_bytes_[0] = static_cast<char>(ContainerKind::kNpy);
    identity_ = {identity_bytes_, sizeof(identity_bytes_)};
    members_.resize(1);
    window_ = options().windows.empty() ? RowWindows{.size = 1, .stride = 1} : options().windows;
  }

  // Reads the data of each record, because its CRC is in no other place.
  absl::StatusOr<Step> Next(std::string* data) override {
    record_ = next_record_;
    offset_ = next_offset_;
    length_ = 0;
    if (head_.empty()) {
      PS_ASSIGN_OR_RETURN(const Step at, ReadHeader());
      if (at != Step::kRecord) return at;
      offset_ = next_offset_;
    }
    if (rows_ && (*rows_ < window_.size || record_ > (*rows_ - window_.size) / window_.stride)) return AtEnd();
    length_ = window_.size * row_bytes_;
    if (length_ > options().max_record_bytes) {
      return Break(Damage::kTooLong, absl::StrCat("the limit is ", options().max_record_bytes));
    }
    uint64_t body = 0;
    uint32_t crc = 0;
    if (data != nullptr) data->assign(head_);
    if (options().windows.empty()) {
      PS_RETURN_IF_ERROR(ReadPieces(length_, data, {&crc}, &body));
    } else {
      PS_RETURN_IF_ERROR(ReadWindow(&body));
      if (!rows_ && body < length_ && !stream_is_damaged()) return AtEndOfNumbers(body);
      crc = Crc32cExtend(0, rows_of_window_);
      if (data != nullptr) data->append(rows_of_window_);
    }
    if (body < length_) return BreakShort(Damage::kTruncatedData, body, length_);
    members_[0].bytes = static_cast<uint32_t>(length_);
    members_[0].crc = crc;
    StoreLittleEndian<uint64_t>(length_, identity_bytes_ + 1);
    StoreLittleEndian<uint32_t>(crc, identity_bytes_ + 1 + sizeof(uint64_t));
    next_record_ = record_ + 1;
    next_offset_ = offset_ + window_.stride * row_bytes_;
    ReportProgress(false);
    return Step::kRecord;
  }

 private:
  // Reads the rows of the next window that are not rows of the last one too. Sets *body to the bytes of the window that
  // there are.
  absl::Status ReadWindow(uint64_t* body) {
    const uint64_t step = window_.stride * row_bytes_;
    uint64_t got = 0;
    if (record_ > 0 && step > length_) {
      PS_RETURN_IF_ERROR(SkipFully(step - length_, &got));
      rows_of_window_.clear();
      *body = got % row_bytes_;  // a row that is cut off is damage, also between two records
      if (got < step - length_) return absl::OkStatus();
    } else if (record_ > 0) {
      rows_of_window_.erase(0, step);
    }
    const uint64_t kept = rows_of_window_.size();
    PS_RETURN_IF_ERROR(ReadPieces(length_ - kept, &rows_of_window_, {}, &got));
    rows_of_window_.resize(kept + got);
    *body = rows_of_window_.size();
    return absl::OkStatus();
  }

  // Sets head_ and row_bytes_ for a file of numbers without a header.
  absl::StatusOr<Step> BeginNumbers() {
    const absl::StatusOr<NpyType> type = ParseNpyType(window_.type);
    if (!type.ok()) return Unreadable(type.status().message());
    row_bytes_ = type->bytes;
    if (plain_ != nullptr) {
      PS_ASSIGN_OR_RETURN(const FileInfo info, plain_->Info());
      rows_ = info.size / row_bytes_;
      cut_off_ = info.size % row_bytes_;
    }
    return SetHead(window_.type, {});
  }

  // Sets head_ for rows of this type and shape, and the steps. Returns kRecord if they are valid.
  Step SetHead(std::string_view descr, std::vector<int64_t> row_shape) {
    if (!options().windows.empty()) {
      const uint64_t most = ShardIndex::kMaxStepBytes / row_bytes_;
      if (window_.size >= most || window_.stride >= most) {
        return Unreadable(absl::StrCat("dataset.window: a row has ", row_bytes_,
                                       " bytes, so size and stride are below ", most,
                                       " rows (2 GiB); make them smaller"));
      }
      if (rows_ && *rows_ >= window_.size && (*rows_ - window_.size) / window_.stride >= kMostWindows) {
        return Unreadable(absl::StrCat("dataset.window: the file has ", *rows_, " rows, which make more than ",
                                       kMostWindows, " records; give a greater stride, or cut the file"));
      }
      row_shape.insert(row_shape.begin(), static_cast<int64_t>(window_.size));
      step_bytes_ = window_.stride * row_bytes_;
    }
    head_ = NpyHeaderText(descr, row_shape);
    if (head_.size() > kMaxHeadBytes) return Unreadable("its header is longer than 64 KiB");
    StoreLittleEndian<uint32_t>(Crc32cExtend(0, head_), identity_bytes_ + 1 + sizeof(uint64_t) + sizeof(uint32_t));
    return Step::kRecord;
  }

  // Reads the header of the file: sets head_, rows_, row_bytes_ and next_offset_. Returns kRecord if rows may follow.
  absl::StatusOr<Step> ReadHeader() {
    if (!window_.type.empty()) return BeginNumbers();
    std::string header(kHeaderStartBytes, '\0');
    size_t got = 0;
    PS_RETURN_IF_ERROR(ReadFully(header.data(), header.size(), &got));
    if (got < header.size()) return BreakShort(Damage::kTruncatedHeader, got, header.size());
    // Versions 2 and 3 have two more bytes of the length.
    const bool is_first_version = header[kNpyMagic.size()] == 1;
    const char* const length = header.data() + kNpyMagic.size() + 2;
    const size_t rest =
        is_first_version ? size_t{LoadLittleEndian<uint16_t>(length)} - 2 : size_t{LoadLittleEndian<uint32_t>(length)};
    if (rest > kMaxHeadBytes) return Unreadable("its header is longer than 64 KiB, or malformed");
    header.resize(kHeaderStartBytes + rest);
    PS_RETURN_IF_ERROR(ReadFully(header.data() + kHeaderStartBytes, rest, &got));
    if (got < rest) return BreakShort(Damage::kTruncatedHeader, kHeaderStartBytes + got, header.size());
    const absl::StatusOr<NpyHeader> array = ParseNpyHeader(header);
    if (!array.ok()) return Unreadable(array.status().message());
    if (array->shape.empty()) return Unreadable("it is one number, not an array with rows");
    if (array->fortran_order && array->shape.size() > 1) {
      return Unreadable("it is in Fortran order, so its rows are not contiguous; save numpy.ascontiguousarray(array)");
    }
    const std::vector<int64_t> row_shape(array->shape.begin() + 1, array->shape.end());
    const absl::StatusOr<NpyRow> row = NpyRowOf(*array, row_shape);
    if (!row.ok()) return Unreadable(row.status().message());
    if (!options().windows.empty() && !array->fields.empty()) {
      return Unreadable("dataset.window is for arrays without fields; read its rows one by one, or save each field");
    }
    rows_ = static_cast<uint64_t>(array->shape[0]);
    row_bytes_ = row->bytes;
    next_offset_ = array->data_offset;
    return SetHead(array->descr, row_shape);
  }

  // Ends the walk after the last record.
  absl::StatusOr<Step> AtEnd() {
    // The rows of the header that fill no record.
    const uint64_t read = record_ == 0 ? 0 : (record_ - 1) * window_.stride + window_.size;
    const uint64_t rest = (*rows_ - read) * row_bytes_;
    uint64_t skipped = 0;
    PS_RETURN_IF_ERROR(SkipFully(rest, &skipped));
    if (skipped < rest) return BreakShort(Damage::kTruncatedData, skipped, rest);
    if (cut_off_ > 0) return BreakShort(Damage::kTruncatedData, cut_off_, row_bytes_);
    char next = 0;
    size_t got = 0;
    PS_RETURN_IF_ERROR(ReadFully(&next, 1, &got));
    if (stream_is_damaged()) return BreakShort(Damage::kTruncatedHeader, 0, 1);
    if (got > 0)
      return Break(Damage::kAfterLast, absl::StrCat("it has ", *rows_, " rows; save each array in a file of its own"));
    ReportProgress(true);
    return Step::kEnd;
  }

  // Ends the walk after compressed numbers without a header, of which `body` bytes fill no record.
  Step AtEndOfNumbers(uint64_t body) {
    if (body % row_bytes_ != 0) return BreakShort(Damage::kTruncatedData, body % row_bytes_, row_bytes_);
    length_ = 0;
    ReportProgress(true);
    return Step::kEnd;
  }

  Step Unreadable(absl::string_view reason) {
    return Break(Damage::kOtherKind, absl::StrCat("the rows of this array cannot be read: ", reason));
  }

  const RandomAccessFile* const plain_;
  RowWindows window_;
  std::string rows_of_window_;    // with options().windows: the rows of the last record
  std::optional<uint64_t> rows_;  // as the header states, or a plain file of numbers has; else none
  uint64_t cut_off_ = 0;          // bytes of a number at the end of a file of numbers
  uint64_t row_bytes_ = 0;
  uint64_t next_record_ = 0, next_offset_ = 0;
  char identity_bytes_[1 + sizeof(uint64_t) + 2 * sizeof(uint32_t)] = {};
};

}  // namespace

std::unique_ptr<RecordWalker> NpyContainer::Walk(RecordWalker::Input input) const {
  const RandomAccessFile* const plain = input.kind.compression == Compression::kNone ? input.file : nullptr;
  return std::make_unique<NpyWalker>(std::move(input), plain);
}

absl::StatusOr<std::string_view> NpyContainer::DataOf(const ShardIndex& index, uint64_t k,
                                                      const RequestedFeatures* features, const char* stored) const {
  const std::string_view row(stored, index.StoredBytes(k));
  if (Crc32cExtend(0, row) == index.members().crc(index.members().First(index.PlaceOf(k)))) return row;
  return DamagedRead("its CRC is not that of the index", row);
}

uint64_t RowWindows::id() const {
  return empty() && type.empty() ? 0 : HashWords({Hash64("windows 1"), size, stride, Hash64(type)});
}

uint64_t RowTypeOf(const ShardIndex& index) {
  if (index.is_packed()) return RowTypeOf(*index.packs().records);
  if (index.kind().container != ContainerKind::kNpy || index.record_count() == 0) return 0;
  const absl::StatusOr<NpyHeader> header = ParseNpyHeader(index.head());
  const absl::StatusOr<NpyRow> row = header.ok() ? NpyRowOf(*header, header->shape) : header.status();
  if (!row.ok()) return 0;  // no reader accepts the records
  Fingerprint print;
  for (const NpyRowField& field : row->fields) {
    const bool is_text = field.type.letter == 'S' || field.type.letter == 'U';
    print.Add(field.name).Add(static_cast<uint64_t>(field.type.letter)).Add(is_text ? 0 : field.type.bytes);
  }
  return std::max<uint64_t>(print.value(), 1);
}

absl::Status RowsDiffer(std::string_view file, std::string_view other) {
  return absl::InvalidArgumentError(absl::StrCat(
      std::string(file), " and ", std::string(other),
      " have rows of different types; the arrays of a data set have fields of the same names and types: blend two data "
      "sets, or write the arrays again"));
}

}  // namespace penstock::sources
