#include "pipeline/sources/npy/npy_container.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
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
#include "pipeline/sources/npy/megatron_walker.h"
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
    if (options().windows.end.has_value()) return NextDocument(data);
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
    SetMember(crc);
    next_offset_ = offset_ + window_.stride * row_bytes_;
    return Step::kRecord;
  }

 private:
  void SetMember(uint32_t crc) {
    members_[0].bytes = static_cast<uint32_t>(length_);
    members_[0].crc = crc;
    StoreLittleEndian<uint64_t>(length_, identity_bytes_ + 1);
    StoreLittleEndian<uint32_t>(crc, identity_bytes_ + 1 + sizeof(uint64_t));
    next_record_ = record_ + 1;
    ReportProgress(false);
  }

  // Reads the numbers up to and including the next mark, or up to the end of the array.
  absl::StatusOr<Step> NextDocument(std::string* data) {
    uint64_t bytes = 0;
    bool ended = false;
    while (!ended) {
      while (!ended && begin_ + bytes + row_bytes_ <= ahead_.size()) {
        ended = std::memcmp(ahead_.data() + begin_ + bytes, mark_, row_bytes_) == 0;
        bytes += row_bytes_;
      }
      length_ = bytes;
      if (bytes > options().max_record_bytes) {
        return Break(Damage::kTooLong, absl::StrCat("the limit is ", options().max_record_bytes));
      }
      if (ended) break;
      PS_ASSIGN_OR_RETURN(const bool more, ReadAhead());
      if (!more) break;
    }
    const uint64_t missing = rows_ ? *rows_ * row_bytes_ - read_ : stream_is_damaged() ? row_bytes_ : 0;
    if (!ended && missing > 0) {
      return BreakShort(Damage::kTruncatedData, ahead_.size() - begin_, ahead_.size() - begin_ + missing);
    }
    if (bytes == 0) {
      if (rows_) return AtEndAfter(*rows_);
      return AtEndOfNumbers(ahead_.size() - begin_);
    }
    if (record_ >= kMostWindows) {
      return Unreadable(absl::StrCat("dataset.window: it has more than ", kMostWindows, " records; cut the file"));
    }
    const std::string_view document(ahead_.data() + begin_, bytes);
    if (data != nullptr) *data = absl::StrCat(head_, absl::string_view(document.data(), document.size()));
    SetMember(Crc32cExtend(0, document));
    next_offset_ = offset_ + bytes;
    begin_ += bytes;
    return Step::kRecord;
  }

  // Reads more numbers of the array into ahead_. Returns false at its end.
  absl::StatusOr<bool> ReadAhead() {
    constexpr uint64_t kPiece = 64 << 10;
    ahead_.erase(0, begin_);
    begin_ = 0;
    const uint64_t wanted = rows_ ? std::min(kPiece, *rows_ * row_bytes_ - read_) : kPiece;
    uint64_t got = 0;
    const size_t before = ahead_.size();
    PS_RETURN_IF_ERROR(ReadPieces(wanted, &ahead_, {}, &got));
    ahead_.resize(before + got);
    read_ += got;
    return got > 0;
  }

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
    if (options().windows.end.has_value()) {
      if (!SetMark(descr, row_shape)) {
        return Unreadable(absl::StrCat("dataset.window.end: ", *options().windows.end, " cannot be in rows of type ",
                                       absl::string_view(descr.data(), descr.size()),
                                       row_shape.empty() ? "" : " with several numbers",
                                       "; it needs an array of single integers that may have it"));
      }
      row_shape = kAnyLength;
    } else if (!options().windows.empty()) {
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

  // Sets mark_ to the bytes of the number that ends a record. Returns false if the rows cannot have it.
  bool SetMark(std::string_view descr, const std::vector<int64_t>& row_shape) {
    const absl::StatusOr<NpyType> type = ParseNpyType(descr);
    if (!type.ok() || !row_shape.empty() || (type->letter != 'i' && type->letter != 'u')) return false;
    const int64_t end = *options().windows.end;
    StoreLittleEndian<uint64_t>(static_cast<uint64_t>(end), mark_);
    if (type->letter == 'u' && end < 0) return false;
    if (type->bytes == sizeof(int64_t)) return true;
    const int64_t range = int64_t{1} << (8 * type->bytes - (type->letter == 'i' ? 1 : 0));
    return end < range && end >= (type->letter == 'i' ? -range : 0);
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
      return Unreadable(
          "dataset.window is for arrays without fields; make windows of its rows with select { window { size: 24 } }");
    }
    rows_ = static_cast<uint64_t>(array->shape[0]);
    row_bytes_ = row->bytes;
    next_offset_ = array->data_offset;
    return SetHead(array->descr, row_shape);
  }

  // Ends the walk after the last record.
  absl::StatusOr<Step> AtEnd() { return AtEndAfter(record_ == 0 ? 0 : (record_ - 1) * window_.stride + window_.size); }

  // The same, if `read` rows were read.
  absl::StatusOr<Step> AtEndAfter(uint64_t read) {
    // The rows of the header that fill no record.
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
  // With options().windows.end: numbers that are read already, and the next record begins at begin_.
  std::string ahead_;
  uint64_t begin_ = 0, read_ = 0;  // read_: bytes of the array that were read
  char mark_[sizeof(int64_t)] = {};
  char identity_bytes_[1 + sizeof(uint64_t) + 2 * sizeof(uint32_t)] = {};
};

}  // namespace

std::unique_ptr<RecordWalker> NpyContainer::Walk(RecordWalker::Input input) const {
  if (input.options.windows.is_megatron) return WalkMegatron(std::move(input));
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
  if (is_megatron) return Hash64("megatron 1");
  if (end.has_value()) return HashWords({Hash64("ends 1"), static_cast<uint64_t>(*end), Hash64(type)});
  return empty() && type.empty() ? 0 : HashWords({Hash64("windows 1"), size, stride, Hash64(type)});
}

uint64_t RowTypeOf(const ShardIndex& index) {
  if (index.is_packed()) return RowTypeOf(index.SingleRecords());
  if (index.kind().container != ContainerKind::kNpy || index.record_count() == 0) return 0;
  const absl::StatusOr<NpyHeader> header = ParseNpyHeader(index.head());
  if (!header.ok()) return 0;
  const absl::StatusOr<NpyRow> row = NpyRowOf(*header, HasAnyLength(*header) ? std::vector<int64_t>() : header->shape);
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
