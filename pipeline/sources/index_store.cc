#include "pipeline/sources/index_store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"

namespace penstock::sources {
namespace {

namespace fs = std::filesystem;

// Limit of a sidecar's size: enough for 2^32 records with 2 bytes of index each.
constexpr uint64_t kMaxSidecarBytes = uint64_t{8} << 30;

std::string AbsolutePath(const storage::Storage& storage, const std::string& path) {
  if (!storage.IsLocal(path)) return path;
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

// Sums the progress of all threads and reports it, one call at a time.
class ProgressMeter {
 public:
  ProgressMeter(uint64_t files, uint64_t bytes, const std::function<void(const IndexProgress&)>& tell)
      : tell_(tell), progress_{.files_total = files, .bytes_total = bytes} {}

  void Add(uint64_t files, uint64_t bytes) {
    MutexLock lock(&mutex_);
    progress_.files_done += files;
    progress_.bytes_done = std::min(progress_.bytes_done + bytes, progress_.bytes_total);
    if (tell_) tell_(progress_);
  }

 private:
  const std::function<void(const IndexProgress&)>& tell_;
  Mutex mutex_;
  IndexProgress progress_ ABSL_GUARDED_BY(mutex_);
};

// Calls LoadOrBuild for one file of several.
absl::StatusOr<LoadedIndex> BuildOne(const IndexStore& store, const std::string& path, uint64_t size,
                                     IndexOptions options, ProgressMeter* meter) {
  uint64_t told = 0;
  options.progress = [&](uint64_t bytes) {
    const uint64_t n = std::min(bytes, size - told);  // a file that grows meanwhile counts with its earlier size
    told += n;
    meter->Add(0, n);
  };
  absl::StatusOr<LoadedIndex> result = store.LoadOrBuild(path, options);
  meter->Add(1, size - told);
  return result;
}

// Returns the name of a shard's sidecar, without its suffix. A file name has at most 255 bytes. The hash alone
// distinguishes shards.
std::string NameOf(const std::string& absolute) {
  const std::string name = fs::path(absolute).filename().string().substr(0, 200);
  return absl::StrCat(name, ".", absl::Hex(Hash64(absolute), absl::kZeroPad16));
}

bool Satisfies(const ShardIndex& index, const IndexOptions& options) {
  return index.SingleRecords().longest_record() <= options.max_record_bytes &&
         (options.compression == Compression::kAuto || options.compression == index.kind().compression) &&
         (options.container.has_value() ? options.container == index.kind().container
                                        : IsDetectable(index.kind().container));
}

absl::StatusOr<LoadedIndex> BuildWholeIndex(storage::Storage* storage, const std::string& path,
                                            const IndexOptions& options) {
  PS_ASSIGN_OR_RETURN(const auto file, storage->OpenAndWait(path));
  PS_ASSIGN_OR_RETURN(ShardIndex index, BuildShardIndex(*file, options));
  return LoadedIndex{.index = std::make_shared<const ShardIndex>(std::move(index)), .built = true};
}

// Returns the records of `whole` that `earlier` has, if it is an index of the same content.
std::shared_ptr<const ShardIndex> SameRecords(const std::shared_ptr<const ShardIndex>& whole,
                                              const ShardIndex& earlier) {
  if (earlier.is_packed()) {
    const std::shared_ptr<const ShardIndex> records = SameRecords(whole, *earlier.packs().records);
    if (records == nullptr) return nullptr;
    const std::shared_ptr<const plan::RecordWindows>& windows = earlier.packs().windows;
    return std::make_shared<const ShardIndex>(windows == nullptr ? records->Packed(earlier.packs().rows)
                                                                 : records->Windowed(windows));
  }
  if (!earlier.is_selected()) {
    const bool same = earlier.content_hash == whole->content_hash && earlier.record_count() == whole->record_count();
    return same ? whole : nullptr;
  }
  if (earlier.whole_hash() != whole->content_hash || earlier.shard_records() != whole->record_count()) return nullptr;
  return std::make_shared<const ShardIndex>(whole->Selected(earlier.numbers(), earlier.left_out(), earlier.Groups()));
}

// Returns the index of the selected records of `whole`, which is the index of all.
absl::StatusOr<LoadedIndex> SelectFrom(storage::Storage* storage, const std::string& path, const LoadedIndex& whole,
                                       const IndexOptions& options) {
  if (options.earlier != nullptr) {
    if (auto same = SameRecords(whole.index, *options.earlier))
      return LoadedIndex{.index = std::move(same), .built = true};
  }
  PS_ASSIGN_OR_RETURN(std::unique_ptr<storage::StoredFile> file, storage->OpenAndWait(path));
  PS_ASSIGN_OR_RETURN(const auto reader, ShardReader::Open(std::move(file), whole.index, {.files = options.files}));
  PS_ASSIGN_OR_RETURN(const SelectedRecords selected, options.selection->Select(*reader, options.stop));
  ShardIndex index = whole.index->Selected(selected.numbers, selected.bad, selected.groups);
  if (selected.is_packed) index = index.Packed(selected.packs);
  if (selected.windows != nullptr) index = index.Windowed(selected.windows);
  LoadedIndex made{.index = std::make_shared<const ShardIndex>(std::move(index)), .built = true};
  if (selected.bad > 0) {
    made.left_out = absl::StrCat(path, ": ", selected.bad, selected.bad == 1 ? " record is" : " records are",
                                 " bad, and left out of the selection; the first: ", selected.first_bad.message());
  }
  return made;
}

}  // namespace

IndexStore IndexStore::InStateDir(storage::Storage* storage, std::string state_dir) {
  return IndexStore(storage, AbsolutePath(*storage, state_dir) + "/indexes");
}

IndexStore IndexStore::BesideShards(storage::Storage* storage) { return IndexStore(storage, ""); }

std::string IndexStore::SidecarPath(const std::string& path, uint64_t variant) const {
  const std::string absolute = AbsolutePath(*storage_, path);
  const absl::string_view suffix(kIndexSuffix.data(), kIndexSuffix.size());
  const std::string id = variant == 0 ? "" : absl::StrCat(absl::Hex(variant, absl::kZeroPad16));
  if (folder_.empty()) return absl::StrCat(absolute, id.empty() ? "" : ".", id, suffix);
  if (!id.empty()) return absl::StrCat(FolderOfSelections(path), "/", id, suffix);
  return absl::StrCat(folder_, "/", NameOf(absolute), suffix);
}

std::string IndexStore::FolderOfSelections(const std::string& path) const {
  return absl::StrCat(folder_, "/", NameOf(AbsolutePath(*storage_, path)), ".selected");
}

absl::StatusOr<ShardIndex> IndexStore::Load(const std::string& path, uint64_t variant) const {
  PS_ASSIGN_OR_RETURN(const storage::StoredName shard, storage_->StatAndWait(path));
  PS_ASSIGN_OR_RETURN(ShardIndex index, LoadOfAnyState(path, variant));
  if (index.file_info() != shard.info) {
    return absl::NotFoundError(
        absl::StrCat(path, " changed since ", SidecarPath(path, variant), " was made; index it again"));
  }
  return index;
}

absl::StatusOr<ShardIndex> IndexStore::LoadOfAnyState(const std::string& path, uint64_t variant) const {
  const std::string sidecar = SidecarPath(path, variant);
  PS_ASSIGN_OR_RETURN(const std::string blob, storage::ReadContent(storage_, sidecar, kMaxSidecarBytes));
  absl::StatusOr<ShardIndex> index = ShardIndex::Parse(blob);
  if (index.ok()) return index;
  return absl::Status(index.status().code(), absl::StrCat(sidecar, ": ", index.status().message()));
}

absl::Status IndexStore::Save(const std::string& path, const ShardIndex& index, uint64_t variant) const {
  if (!folder_.empty()) {
    const std::string folder = variant == 0 ? folder_ : FolderOfSelections(path);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return ErrnoStatus(error.value(), absl::StrCat("making the folder ", folder));
  }
  return storage_->Put(SidecarPath(path, variant), index.Serialize()).status();
}

absl::StatusOr<uint64_t> IndexStore::Remove(const std::string& path) const {
  if (folder_.empty()) return 0;
  std::vector<std::string> sidecars = {SidecarPath(path)};
  std::error_code none;  // there is no folder if no job selected records of the shard
  for (const fs::directory_entry& entry : fs::directory_iterator(FolderOfSelections(path), none)) {
    sidecars.push_back(entry.path().string());
  }
  uint64_t removed = 0;
  for (const std::string& sidecar : sidecars) {
    std::error_code error;
    const uint64_t bytes = fs::file_size(sidecar, error);
    if (!error) fs::remove(sidecar, error);
    if (error == std::errc::no_such_file_or_directory) continue;
    if (error) return ErrnoStatus(error.value(), absl::StrCat("cannot remove ", sidecar));
    removed += bytes;
  }
  fs::remove(FolderOfSelections(path), none);
  return removed;
}

absl::StatusOr<LoadedIndex> IndexStore::LoadOrBuild(const std::string& path, const IndexOptions& options) const {
  const uint64_t variant = options.variant();
  if (!options.verify_data) {
    absl::StatusOr<ShardIndex> index = Load(path, variant);
    // Building the index again repairs every error of a sidecar.
    if (index.ok() && Satisfies(*index, options)) {
      return LoadedIndex{.index = std::make_shared<const ShardIndex>(*std::move(index))};
    }
  }
  if (options.selection == nullptr) return BuildWhole(path, options);
  IndexOptions all = options;
  all.selection = nullptr;
  PS_ASSIGN_OR_RETURN(const LoadedIndex whole, LoadOrBuild(path, all));
  IndexOptions again = options;
  if (again.earlier == nullptr && !options.verify_data) {
    absl::StatusOr<ShardIndex> earlier = LoadOfAnyState(path, variant);
    // Records that were left out may be repaired.
    if (earlier.ok() && earlier->left_out() == 0)
      again.earlier = std::make_shared<const ShardIndex>(*std::move(earlier));
  }
  PS_ASSIGN_OR_RETURN(LoadedIndex selected, SelectFrom(storage_, path, whole, again));
  selected.save_status = Save(path, *selected.index, variant);
  return selected;
}

absl::StatusOr<LoadedIndex> IndexStore::BuildWhole(const std::string& path, const IndexOptions& options) const {
  PS_ASSIGN_OR_RETURN(LoadedIndex loaded, BuildWholeIndex(storage_, path, options));
  loaded.save_status = Save(path, *loaded.index, options.variant());
  return loaded;
}

absl::StatusOr<LoadedIndex> BuildIndexOf(storage::Storage* storage, const std::string& path,
                                         const IndexOptions& options) {
  PS_ASSIGN_OR_RETURN(LoadedIndex whole, BuildWholeIndex(storage, path, options));
  return options.selection == nullptr ? whole : SelectFrom(storage, path, whole, options);
}

std::vector<absl::StatusOr<LoadedIndex>> BuildIndexes(const IndexStore& store, const std::vector<std::string>& paths,
                                                      const IndexOptions& options, int threads,
                                                      const std::function<void(const IndexProgress&)>& progress) {
  return BuildIndexes(store, paths, std::vector<const IndexOptions*>(paths.size(), &options), threads, progress);
}

std::vector<absl::StatusOr<LoadedIndex>> BuildIndexes(const IndexStore& store, const std::vector<std::string>& paths,
                                                      const std::vector<const IndexOptions*>& options, int threads,
                                                      const std::function<void(const IndexProgress&)>& progress) {
  std::vector<absl::StatusOr<LoadedIndex>> results(paths.size(), absl::UnknownError("not reached"));
  std::vector<uint64_t> sizes(paths.size(), 0);
  uint64_t total = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    const absl::StatusOr<storage::StoredName> shard = store.storage()->StatAndWait(paths[i]);
    if (shard.ok()) sizes[i] = shard->info.size;  // otherwise LoadOrBuild reports the error
    total += sizes[i];
  }
  ProgressMeter meter(paths.size(), total, progress);
  ForEachOnThreads("ps-index", paths.size(), threads,
                   [&](size_t i) { results[i] = BuildOne(store, paths[i], sizes[i], *options[i], &meter); });
  return results;
}

std::string UnsavedText(const std::vector<absl::StatusOr<LoadedIndex>>& loaded) {
  const auto unsaved = [](const absl::StatusOr<LoadedIndex>& index) { return index.ok() && !index->save_status.ok(); };
  const auto first = std::find_if(loaded.begin(), loaded.end(), unsaved);
  if (first == loaded.end()) return "";
  return absl::StrCat(
      "the indexes of ", std::count_if(first, loaded.end(), unsaved), " of ", loaded.size(),
      " shards could not be stored, so the next start builds them again: ", (*first)->save_status.message());
}

}  // namespace penstock::sources
