#include "pipeline/sources/npy/megatron_walker.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/little_endian.h"
#include "base/npy_header.h"
#include "base/npy_row.h"
#include "base/status_macros.h"
#include "pipeline/sources/crc32c.h"
#include "pipeline/sources/file_access.h"
#include "pipeline/sources/npy/megatron_index.h"
#include "pipeline/sources/record_limits.h"

namespace penstock::sources {
namespace {

// Limit of the size of an .idx file: about 200 million sequences. The walk has it in memory.
constexpr uint64_t kMostIndexBytes = uint64_t{4} << 30;
constexpr std::string_view kBin = ".bin", kIdx = ".idx";

class MegatronWalker final : public RecordWalker {
 public:
  explicit MegatronWalker(Input input) : RecordWalker(std::move(input)) {
    identity_bytes_[0] = static_cast<char>(ContainerKind::kNpy);
    identity_ = {identity_bytes_, sizeof(identity_bytes_)};
    members_.resize(1);
  }

  absl::StatusOr<Step> Next(std::string* data) override {
    if (head_.empty()) {
      PS_ASSIGN_OR_RETURN(const Step step, ReadIndex());
      if (step != Step::kRecord) return step;
    }
    record_ = next_record_;
    offset_ = next_offset_;
    length_ = 0;
    if (record_ == index_.sequences.size()) return AtEnd();
    length_ = uint64_t{index_.sequences[record_]} * index_.number_bytes;
    if (length_ > options().max_record_bytes) {
      return Break(Damage::kTooLong, absl::StrCat("the limit is ", options().max_record_bytes));
    }
    if (data != nullptr) data->assign(head_);
    uint64_t got = 0;
    uint32_t crc = 0;
    PS_RETURN_IF_ERROR(ReadPieces(length_, data, {&crc}, &got));
    if (got < length_) {
      return BreakShort(Damage::kTruncatedData, got, length_, absl::StrCat("as ", path_of_index_, " has it: "));
    }
    members_[0] = {.bytes = static_cast<uint32_t>(length_), .crc = crc};
    StoreLittleEndian<uint64_t>(length_, identity_bytes_ + 1);
    StoreLittleEndian<uint32_t>(crc, identity_bytes_ + 1 + sizeof(uint64_t));
    next_record_ = record_ + 1;
    next_offset_ = offset_ + length_;
    ReportProgress(false);
    return Step::kRecord;
  }

 private:
  // Sets index_ and head_. Returns kRecord if they are valid.
  absl::StatusOr<Step> ReadIndex() {
    const std::string& path = input_file().path();
    if (!path.ends_with(kBin)) return Unreadable("its name does not end with .bin");
    if (options().files == nullptr) return absl::InternalError("the walk over Megatron's tokens has no storage");
    path_of_index_ = path.substr(0, path.size() - kBin.size()).append(kIdx);
    const absl::StatusOr<std::string> content = ReadIndexFile();
    if (absl::IsNotFound(content.status())) return Unreadable(absl::StrCat("there is no index ", path_of_index_));
    if (!content.ok()) return content.status();
    absl::StatusOr<MegatronIndex> index = ParseMegatronIndex(*content);
    if (!index.ok()) return Unreadable(absl::StrCat("the index ", path_of_index_, ": ", index.status().message()));
    index_ = *std::move(index);
    head_ = NpyHeaderText(index_.descr, kAnyLength);
    StoreLittleEndian<uint32_t>(Crc32cExtend(0, head_), identity_bytes_ + 1 + sizeof(uint64_t) + sizeof(uint32_t));
    return Step::kRecord;
  }

  absl::StatusOr<std::string> ReadIndexFile() const {
    PS_ASSIGN_OR_RETURN(const auto file,
                        options().files->storage->OpenAndWait(path_of_index_, {.without_links = true}));
    const uint64_t size = file->opened().size;
    if (size > kMostIndexBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path_of_index_, " has ", size, " bytes, more than ", kMostIndexBytes));
    }
    std::string content(size, '\0');
    PS_ASSIGN_OR_RETURN(const size_t got, file->ReadAt(0, content.size(), content.data()));
    content.resize(got);
    return content;
  }

  absl::StatusOr<Step> AtEnd() {
    char next = 0;
    size_t got = 0;
    PS_RETURN_IF_ERROR(ReadFully(&next, 1, &got));
    if (stream_is_damaged()) return BreakShort(Damage::kTruncatedHeader, 0, 1);
    if (got > 0) {
      return Break(Damage::kAfterLast, absl::StrCat("the ", index_.sequences.size(), " sequences of ", path_of_index_,
                                                    " end at byte ", next_offset_));
    }
    ReportProgress(true);
    return Step::kEnd;
  }

  Step Unreadable(absl::string_view reason) {
    return Break(Damage::kOtherKind, absl::StrCat("the tokens of Megatron cannot be read: ", reason));
  }

  MegatronIndex index_;
  std::string path_of_index_;
  uint64_t next_record_ = 0, next_offset_ = 0;
  char identity_bytes_[1 + sizeof(uint64_t) + 2 * sizeof(uint32_t)] = {};
};

}  // namespace

std::unique_ptr<RecordWalker> WalkMegatron(RecordWalker::Input input) {
  return std::make_unique<MegatronWalker>(std::move(input));
}

}  // namespace penstock::sources
