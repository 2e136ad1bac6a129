#include "pipeline/import/scratch_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/temporaries.h"
#include "pipeline/storage/run_calls.h"

namespace penstock::imports {
namespace {

constexpr uint64_t kScratchPiece = uint64_t{8} << 20;
constexpr size_t kPieces = 8;  // in flight

class PartOfFile final : public RandomAccessFile {
 public:
  PartOfFile(std::shared_ptr<const RandomAccessFile> file, uint64_t offset, FileInfo info, std::string name)
      : file_(std::move(file)), offset_(offset), info_(std::move(info)), name_(std::move(name)) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
    if (offset >= info_.size) return 0;
    return file_->ReadAt(offset_ + offset, std::min<uint64_t>(length, info_.size - offset), out);
  }
  absl::StatusOr<FileInfo> Info() const override { return info_; }
  const std::string& path() const override { return name_; }

 private:
  const std::shared_ptr<const RandomAccessFile> file_;
  const uint64_t offset_;
  const FileInfo info_;
  const std::string name_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ScratchFile>> ScratchFile::Create(const std::string& folder) {
  std::string name = absl::StrCat(folder, "/.unpacked", std::string(kTemporarySuffix));
  const int fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("unpacking into ", folder));
  auto closed = absl::MakeCleanup([fd, &name] {
    close(fd);
    unlink(name.c_str());
  });
  // Opened again for reading, before its name is removed.
  PS_ASSIGN_OR_RETURN(auto file, OpenFile(name));
  std::move(closed).Cancel();
  unlink(name.c_str());
  return std::unique_ptr<ScratchFile>(new ScratchFile(fd, std::move(file), folder));
}

ScratchFile::~ScratchFile() { close(fd_); }

absl::Status ScratchFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("unpacking into ", folder_));
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

std::unique_ptr<RandomAccessFile> NewPartOfFile(std::shared_ptr<const RandomAccessFile> file, uint64_t offset,
                                                FileInfo info, std::string name) {
  return std::make_unique<PartOfFile>(std::move(file), offset, std::move(info), std::move(name));
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenNear(storage::Storage* storage, const std::string& path,
                                                           const std::string& scratch) {
  if (storage->IsLocal(path)) return OpenFile(path);
  PS_ASSIGN_OR_RETURN(const std::shared_ptr<storage::StoredFile> object, storage->OpenAndWait(path));
  PS_ASSIGN_OR_RETURN(const auto copy, ScratchFile::Create(scratch));
  const FileInfo state = object->opened();
  // Reads kPieces pieces concurrently, and then the next ones.
  std::vector<std::string> pieces;
  for (uint64_t at = 0; at < state.size; at += kScratchPiece * kPieces) {
    pieces.resize(std::min<uint64_t>(kPieces, (state.size - at + kScratchPiece - 1) / kScratchPiece));
    std::vector<absl::StatusOr<size_t>> got(pieces.size(), absl::CancelledError(""));
    storage::RunCalls(pieces.size(), kPieces, [&](size_t i, absl::AnyInvocable<void() &&> ended) {
      const uint64_t begin = at + i * kScratchPiece;
      pieces[i].resize(std::min(kScratchPiece, state.size - begin));
      object->Read(begin, pieces[i].size(), pieces[i].data(), {.priority = storage::CallPriority::kUrgent},
                   [&got, i, ended = std::move(ended)](absl::StatusOr<size_t> bytes) mutable {
                     got[i] = std::move(bytes);
                     std::move(ended)();
                   });
    });
    for (size_t i = 0; i < pieces.size(); ++i) {
      PS_RETURN_IF_ERROR(got[i].status());
      PS_RETURN_IF_ERROR(copy->Append(pieces[i]));
    }
  }
  return NewPartOfFile(copy->file(), 0, state, path);
}

}  // namespace penstock::imports
