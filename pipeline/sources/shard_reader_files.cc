// Reads of the files that the records of a manifest name.
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "pipeline/sources/container.h"
#include "pipeline/sources/file_access.h"
#include "pipeline/sources/file_frame.h"
#include "pipeline/sources/manifest/manifest_container.h"
#include "pipeline/sources/shard_reader.h"

namespace penstock::sources {
namespace {

constexpr char kRemedy[] = "; put it back and start again, or touch the manifest, so that it is indexed again";

// Returns the error of a file that is not the indexed one.
absl::Status OtherFile(absl::string_view what) {
  return WithFault(Fault::kNoFile, absl::DataLossError(absl::StrCat(what, kRemedy)));
}

// Returns the error of a file that could not be opened or read. A failure of the storage may end with a retry. A
// storage of objects that denies access may do so for all names, for a while.
absl::Status FileError(const absl::Status& status, bool is_local) {
  const bool is_other = absl::IsNotFound(status) || absl::IsAborted(status) || absl::IsInvalidArgument(status) ||
                        absl::IsFailedPrecondition(status) || (is_local && absl::IsPermissionDenied(status));
  return is_other ? OtherFile(status.message()) : status;
}

absl::Status CheckState(const std::string& path, const FilePiece& piece, const FileInfo& info) {
  if (piece.IsOf(info)) return absl::OkStatus();
  if (piece.size != info.size) {
    return OtherFile(absl::StrCat(path, " has ", info.size, " bytes, and had ", piece.size, " when it was indexed"));
  }
  if (piece.tag != info.tag) return OtherFile(absl::StrCat(path, " changed since it was indexed"));
  return OtherFile(absl::StrCat(path, " has the time ", MtimeSeconds(info), ", and had ", piece.mtime_s,
                                " when it was indexed (copies must keep it: cp -p, rsync -t)"));
}

storage::CallOptions OpenOptions(const FilePiece& piece, storage::CallOptions options) {
  options.without_links = true;
  // An object is open in this state without a request. The times of local files are not exact.
  if (!piece.tag.empty()) options.listed = FileInfo{.size = piece.size, .mtime_ns = 0, .tag = piece.tag};
  return options;
}

absl::Status WholePiece(const std::string& path, const FilePiece& piece, const absl::StatusOr<size_t>& got) {
  if (!got.ok()) return FileError(got.status(), piece.tag.empty());
  return *got == piece.length ? absl::OkStatus() : OtherFile(absl::StrCat(path, " ends early"));
}

}  // namespace

uint64_t ShardReader::FileBytes(const ShardIndex& index, uint64_t k, const RequestedFeatures* features) {
  if (!NamesFiles(index.kind().container) || !NeedFile(features)) return 0;
  return index.files().Bytes(index.PlaceOf(k));
}

char* ShardReader::FileIn(char* buffer, uint64_t k) const { return StoredIn(buffer) + index_->StoredBytes(k); }

std::string_view ShardReader::WithFile(uint64_t k, const RequestedFeatures* features, char* buffer) const {
  const bool is_needed = NeedFile(features);
  const uint64_t row = index_->head().size() + index_->StoredBytes(k), file = FileBytes(*index_, k, features);
  const bool has_file = index_->files().HasFile(index_->PlaceOf(k));
  StoreFileTrailer(static_cast<uint32_t>(row), static_cast<uint32_t>(file),
                   !is_needed ? FileState::kNotRead
                   : has_file ? FileState::kRead
                              : FileState::kNone,
                   buffer + row + file);
  return {buffer, row + file + kFileTrailerBytes};
}

absl::Status ShardReader::ReadFile(uint64_t k, bool past_caches, char* out) const {
  const FilePiece piece = index_->files().Piece(index_->PlaceOf(k));
  if (!piece.error.empty()) {
    std::memcpy(out, piece.error.data(), piece.error.size());
    return absl::OkStatus();
  }
  if (options_.files == nullptr) return absl::InternalError("the reader of a manifest has no data roots");
  const storage::Storage& storage = *options_.files->storage;
  const absl::StatusOr<std::string> place =
      PathFromIndex(storage, FolderOf(this->path()), piece.path, options_.files->roots);
  if (!place.ok()) return FileError(place.status(), true);
  const std::string& path = *place;
  const auto file = options_.files->storage->OpenAndWait(path, OpenOptions(piece, {}));
  if (!file.ok()) return FileError(file.status(), storage.IsLocal(path));
  PS_RETURN_IF_ERROR(CheckState(path, piece, (*file)->opened()));
  const absl::StatusOr<size_t> got = past_caches ? (*file)->ReadAtPastCaches(piece.offset, piece.length, out)
                                                 : (*file)->ReadAt(piece.offset, piece.length, out);
  PS_RETURN_IF_ERROR(WholePiece(path, piece, got));
  // A local file may have changed while it was read.
  const absl::StatusOr<FileInfo> now = (*file)->Info();
  return now.ok() ? CheckState(path, piece, *now) : now.status();
}

void ShardReader::ReadFileLater(uint64_t k, char* out, const storage::CallOptions& options,
                                absl::AnyInvocable<void(const absl::Status&) &&> done) const {
  FilePiece piece = index_->files().Piece(index_->PlaceOf(k));
  if (!piece.error.empty()) return std::move(done)(ReadFile(k, false, out));
  if (options_.files == nullptr) {
    return std::move(done)(absl::InternalError("the reader of a manifest has no data roots"));
  }
  const absl::StatusOr<std::string> path =
      PathFromIndex(*options_.files->storage, FolderOf(this->path()), piece.path, options_.files->roots);
  if (!path.ok()) return std::move(done)(FileError(path.status(), true));
  storage::CallOptions open = OpenOptions(piece, options);
  options_.files->storage->Open(
      *path, open,
      [path = *path, piece = std::move(piece), out, options,
       done = std::move(done)](absl::StatusOr<std::unique_ptr<storage::StoredFile>> opened) mutable {
        if (!opened.ok()) return std::move(done)(FileError(opened.status(), piece.tag.empty()));
        if (const absl::Status state = CheckState(path, piece, (*opened)->opened()); !state.ok()) {
          return std::move(done)(state);
        }
        const std::shared_ptr<const storage::StoredFile> file = *std::move(opened);
        const storage::StoredFile& reading = *file;
        const uint64_t offset = piece.offset, length = piece.length;
        reading.Read(offset, length, out, options,
                     [file, path = std::move(path), piece = std::move(piece), done = std::move(done)](
                         const absl::StatusOr<size_t>& got) mutable { std::move(done)(WholePiece(path, piece, got)); });
      });
}

}  // namespace penstock::sources
