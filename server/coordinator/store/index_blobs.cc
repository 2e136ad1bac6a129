#include "server/coordinator/store/index_blobs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/temporaries.h"
#include "pipeline/sources/shard_index.h"

namespace penstock::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr char kSuffix[] = ".psidx";
constexpr size_t kHashDigits = 16;  // digits of the content hash with which each name begins

}  // namespace

std::string IndexBlobs::PathOf(uint64_t content_hash) const {
  return absl::StrCat(folder_, "/", absl::Hex(content_hash, absl::kZeroPad16), kSuffix);
}

std::string IndexBlobs::PathOf(uint64_t content_hash, const FileInfo& file) const {
  const uint64_t state = Fingerprint().Add(file.size).Add(static_cast<uint64_t>(file.mtime_ns)).Add(file.tag).value();
  return absl::StrCat(folder_, "/", absl::Hex(content_hash, absl::kZeroPad16), "-", absl::Hex(state, absl::kZeroPad16),
                      kSuffix);
}

absl::StatusOr<std::unique_ptr<IndexBlobs>> IndexBlobs::Open(const std::string& folder, const Limits& limits) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return ErrnoStatus(error.value(), absl::StrCat("cannot make ", folder));
  auto blobs = std::unique_ptr<IndexBlobs>(new IndexBlobs(folder, limits));
  RemoveTemporariesIn(folder);
  uint64_t total = 0;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    const uint64_t size = it->is_regular_file(gone) ? it->file_size(gone) : 0;
    if (!gone && it->path().extension() == kSuffix) total += size;
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("cannot read ", folder));
  MutexLock lock(&blobs->mutex_);
  blobs->total_ = total;
  return blobs;
}

absl::Status IndexBlobs::Put(uint64_t content_hash, std::string_view blob, FileInfo* file) {
  if (blob.size() > limits_.blob_bytes || blob.size() > limits_.total_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("an index of ", blob.size(), " bytes; at most ",
                                                     std::min(limits_.blob_bytes, limits_.total_bytes), " are kept"));
  }
  // Workers trust a blob by its name, so check the name.
  absl::StatusOr<sources::ShardIndex> index = sources::ShardIndex::Parse(blob);
  if (!index.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("PutIndex: ", std::string(index.status().message())));
  }
  if (index->content_hash != content_hash) {
    return absl::InvalidArgumentError(absl::StrCat(
        "PutIndex: the blob is the index of ", absl::Hex(index->content_hash), ", not of ", absl::Hex(content_hash)));
  }
  if (file != nullptr) *file = index->file_info();
  MutexLock lock(&mutex_);
  if (Get(content_hash, index->file_info()).ok()) return absl::OkStatus();
  std::string path = PathOf(content_hash);
  std::error_code error;
  if (fs::exists(path, error)) path = PathOf(content_hash, index->file_info());
  PS_RETURN_IF_ERROR(MakeRoom(blob.size()));
  PS_RETURN_IF_ERROR(WriteFileAtomically(path, blob));
  total_ += blob.size();
  return absl::OkStatus();
}

absl::Status IndexBlobs::MakeRoom(uint64_t bytes) {
  if (total_ + bytes <= limits_.total_bytes) return absl::OkStatus();
  struct File {
    fs::file_time_type used;
    uint64_t size;
    fs::path path;
  };
  std::vector<File> files;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != kSuffix) continue;
    std::error_code gone;
    File file{it->last_write_time(gone), it->file_size(gone), it->path()};
    if (!gone) files.push_back(std::move(file));
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("cannot read ", folder_));
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  // Free a tenth of the limit beyond what is needed, so that not each Put scans the folder.
  const uint64_t target = limits_.total_bytes - bytes - std::min(limits_.total_bytes - bytes, limits_.total_bytes / 10);
  std::map<std::string, size_t> others;  // by content: the last used of the second and further blobs
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string name = files[i].path.stem().string();
    if (name.size() > kHashDigits) others[name.substr(0, kHashDigits)] = i;
  }
  for (size_t i = 0; i < files.size() && total_ > target; ++i) {
    const File& file = files[i];
    const auto other = others.find(file.path.stem().string());
    if (other != others.end() && other->second > i) {
      // Readers look for the second blob at its own path first, and then at this one.
      fs::rename(files[other->second].path, file.path, error);
      files[other->second].path = file.path;
    } else {
      fs::remove(file.path, error);
    }
    if (error) return ErrnoStatus(error.value(), absl::StrCat("cannot remove ", file.path.string()));
    total_ -= std::min(total_, file.size);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> IndexBlobs::Get(uint64_t content_hash) const {
  return Read(PathOf(content_hash), content_hash);
}

absl::StatusOr<std::string> IndexBlobs::Get(uint64_t content_hash, const FileInfo& file) const {
  absl::StatusOr<std::string> blob = Read(PathOf(content_hash, file), content_hash);
  if (!absl::IsNotFound(blob.status())) return blob;
  PS_ASSIGN_OR_RETURN(blob, Get(content_hash));
  PS_ASSIGN_OR_RETURN(const sources::ShardIndex index, sources::ShardIndex::Parse(*blob));
  if (index.file_info() == file) return blob;
  return absl::NotFoundError(
      absl::StrCat("no index of content ", absl::Hex(content_hash), " is kept for a file of this size and time"));
}

absl::StatusOr<std::string> IndexBlobs::Read(const std::string& path, uint64_t content_hash) const {
  absl::StatusOr<std::string> blob = ReadWholeFile(path, limits_.blob_bytes);
  if (absl::IsNotFound(blob.status())) {
    return absl::NotFoundError(absl::StrCat("no index of content ", absl::Hex(content_hash), " is kept"));
  }
  std::error_code ignored;  // for the time of use, which MakeRoom reads; after a failure it only chooses worse
  if (blob.ok()) fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return blob;
}

absl::StatusOr<uint64_t> IndexBlobs::Remove(const std::vector<uint64_t>& content_hashes) {
  const std::set<uint64_t> wanted(content_hashes.begin(), content_hashes.end());
  uint64_t freed = 0;
  std::error_code error;
  MutexLock lock(&mutex_);
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    uint64_t hash = 0;  // the name begins with it (PathOf)
    if (it->path().extension() != kSuffix || !absl::SimpleHexAtoi(name.substr(0, kHashDigits), &hash)) continue;
    if (!wanted.contains(hash)) continue;
    std::error_code failed;
    const uint64_t bytes = it->file_size(failed);
    if (!failed) fs::remove(it->path(), failed);
    if (failed) return ErrnoStatus(failed.value(), absl::StrCat("cannot remove ", it->path().string()));
    freed += bytes;
    total_ -= std::min(total_, bytes);
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("cannot read ", folder_));
  return freed;
}

uint64_t IndexBlobs::total_bytes() const {
  MutexLock lock(&mutex_);
  return total_;
}

}  // namespace penstock::coordinator
