#include "pipeline/loader/dataset_reader.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "pipeline/records/framing.h"
#include "pipeline/records/shard_reader.h"

namespace penstock {
namespace {

class FilesReader final : public DatasetReader {
 public:
  FilesReader(Snapshot snapshot, std::vector<DataRoot> roots, IndexProvider indexes, const Options& options)
      : snapshot_(std::move(snapshot)),
        roots_(std::move(roots)),
        indexes_(std::move(indexes)),
        options_(options),
        shards_(snapshot_.shards().size()) {}

  const Snapshot& snapshot() const override { return snapshot_; }

  absl::StatusOr<uint64_t> RecordBytes(uint64_t record) override {
    const RecordRef ref = snapshot_.ToShard(record);
    PS_ASSIGN_OR_RETURN(const std::shared_ptr<const ShardIndex> index, IndexOf(ref.shard));
    return index->RecordLength(ref.record);
  }

  absl::Status ReadRecord(uint64_t record, std::string* out) override {
    RecordBuffer buffer;
    PS_ASSIGN_OR_RETURN(const std::string_view bytes, ReadRecord(record, &buffer));
    out->assign(bytes);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string_view> ReadRecord(uint64_t record, RecordBuffer* buffer) override {
    const RecordRef ref = snapshot_.ToShard(record);
    PS_ASSIGN_OR_RETURN(const std::shared_ptr<const ShardReader> reader, ReaderOf(ref.shard));
    const uint64_t framed = reader->index().FramedLength(ref.record);
    absl::StatusOr<std::string_view> bytes = reader->ReadRecord(ref.record, buffer->Get(framed));
    if (bytes.ok()) {
      bytes_read_.fetch_add(framed, std::memory_order_relaxed);
      return bytes;
    }
    const absl::Status& status = bytes.status();
    if (status.code() == absl::StatusCode::kDataLoss) return status;
    if (status.code() == absl::StatusCode::kFailedPrecondition) return Changed(ref.shard, status.message());
    Close(ref.shard);  // the next try opens it again
    return absl::UnavailableError(absl::StrCat(Describe(record), ": ", status.message()));
  }

  void WillRead(uint64_t record) override {
    const RecordRef ref = snapshot_.ToShard(record);
    std::shared_ptr<const ShardReader> reader;
    {
      Shard& shard = shards_[ref.shard];
      MutexLock lock(&shard.mutex);
      reader = shard.reader;
    }
    if (reader != nullptr) reader->WillRead(ref.record);
  }

  std::string Describe(uint64_t record) override {
    const RecordRef ref = snapshot_.ToShard(record);
    std::string text = absl::StrCat(PathOf(ref.shard), ", record ", ref.record);
    std::shared_ptr<const ShardIndex> index;
    {
      Shard& shard = shards_[ref.shard];
      MutexLock lock(&shard.mutex);
      index = shard.index;
    }
    if (index != nullptr) absl::StrAppend(&text, " at offset ", index->RecordOffset(ref.record));
    return text;
  }

  uint64_t bytes_read() const override { return bytes_read_.load(); }

 private:
  struct Shard {
    Mutex mutex;  // held while the shard's index is loaded and its file opened: once for all threads
    std::shared_ptr<const ShardIndex> index ABSL_GUARDED_BY(mutex);
    std::shared_ptr<const ShardReader> reader ABSL_GUARDED_BY(mutex);
    std::atomic<bool> used{false};  // since the hand came by
  };

  // As people know it: the path below its root, absolute where the root is ours.
  std::string PathOf(uint32_t number) const {
    const SnapshotShard& shard = snapshot_.shards()[number];
    for (const DataRoot& root : roots_) {
      if (root.name == shard.root) return absl::StrCat(root.path, "/", shard.relative_path);
    }
    return absl::StrCat(shard.root, ":", shard.relative_path);
  }

  absl::Status Changed(uint32_t number, absl::string_view why) const {
    return absl::FailedPreconditionError(
        absl::StrCat(PathOf(number), ": is not the file that the job's snapshot froze: ", why,
                     "; put the old file back, or submit the job again with --replace"));
  }

  absl::StatusOr<std::shared_ptr<const ShardIndex>> IndexOf(uint32_t number) {
    Shard& shard = shards_[number];
    std::shared_ptr<const ShardIndex> index;
    bool loaded = false;
    {
      MutexLock lock(&shard.mutex);
      shard.used.store(true, std::memory_order_relaxed);
      if (shard.index == nullptr) {
        PS_RETURN_IF_ERROR(LoadIndex(number, &shard));
        loaded = true;
      }
      index = shard.index;
    }
    if (loaded) Trim();
    return index;
  }

  absl::StatusOr<std::shared_ptr<const ShardReader>> ReaderOf(uint32_t number) {
    Shard& shard = shards_[number];
    std::shared_ptr<const ShardReader> reader;
    bool opened = false;
    {
      MutexLock lock(&shard.mutex);
      shard.used.store(true, std::memory_order_relaxed);
      if (shard.reader == nullptr) {
        if (shard.index == nullptr) PS_RETURN_IF_ERROR(LoadIndex(number, &shard));
        PS_RETURN_IF_ERROR(OpenShard(number, &shard));
        opened = true;
      }
      reader = shard.reader;
    }
    if (opened) Trim();
    return reader;
  }

  absl::Status LoadIndex(uint32_t number, Shard* shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex) {
    const SnapshotShard& frozen = snapshot_.shards()[number];
    absl::StatusOr<std::string> path = ResolveInRoots(frozen.root, frozen.relative_path, roots_);
    if (!path.ok()) return Unreadable(number, path.status());
    absl::StatusOr<std::shared_ptr<const ShardIndex>> index = indexes_(frozen, *path);
    if (!index.ok()) {
      // The shard was whole when the job was submitted.
      if (index.status().code() == absl::StatusCode::kDataLoss) return Changed(number, index.status().message());
      return Unreadable(number, index.status());
    }
    if ((*index)->record_count() != frozen.record_count || (*index)->content_hash != frozen.content_hash) {
      return Changed(number, absl::StrCat("it holds ", (*index)->record_count(), " records with content hash ",
                                          absl::Hex((*index)->content_hash), ", not ", frozen.record_count, " with ",
                                          absl::Hex(frozen.content_hash)));
    }
    if ((*index)->longest_record() > options_.max_record_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          PathOf(number), ": its longest record has ", (*index)->longest_record(), " bytes, more than the limit of ",
          options_.max_record_bytes, ": raise the job's limits.max_record_bytes"));
    }
    shard->index = *std::move(index);
    index_bytes_.fetch_add(shard->index->MemoryBytes());
    return absl::OkStatus();
  }

  absl::Status OpenShard(uint32_t number, Shard* shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard->mutex) {
    const SnapshotShard& frozen = snapshot_.shards()[number];
    absl::StatusOr<std::string> path = ResolveInRoots(frozen.root, frozen.relative_path, roots_);
    if (!path.ok()) return Unreadable(number, path.status());
    absl::StatusOr<std::unique_ptr<ShardReader>> reader = ShardReader::Open(*path, shard->index);
    if (!reader.ok()) {
      if (reader.status().code() == absl::StatusCode::kFailedPrecondition) {
        return Changed(number, reader.status().message());
      }
      return Unreadable(number, reader.status());
    }
    shard->reader = *std::move(reader);
    open_.fetch_add(1);
    return absl::OkStatus();
  }

  absl::Status Unreadable(uint32_t number, const absl::Status& status) const {
    if (status.code() == absl::StatusCode::kFailedPrecondition) return Changed(number, status.message());
    return absl::UnavailableError(absl::StrCat(PathOf(number), ": ", status.message()));
  }

  void Close(uint32_t number) {
    Shard& shard = shards_[number];
    MutexLock lock(&shard.mutex);
    if (shard.reader == nullptr) return;
    shard.reader.reset();
    open_.fetch_sub(1);
  }

  // Closes shards, and forgets indexes, until the limits hold: second chance, as a clock's hand goes round. A shard
  // that is in use by a thread stays open until that thread is done.
  void Trim() {
    MutexLock lock(&hand_mutex_);
    for (size_t steps = 0; steps < 2 * shards_.size(); ++steps) {
      const bool files = open_.load() > options_.max_open_shards;
      const bool indexes = index_bytes_.load() > options_.max_index_bytes;
      if (!files && !indexes) return;
      hand_ = (hand_ + 1) % shards_.size();
      Shard& shard = shards_[hand_];
      if (shard.used.exchange(false)) continue;
      MutexLock shard_lock(&shard.mutex);
      if (shard.reader != nullptr) {
        shard.reader.reset();
        open_.fetch_sub(1);
      }
      if (indexes && shard.index != nullptr) {
        index_bytes_.fetch_sub(shard.index->MemoryBytes());
        shard.index.reset();
      }
    }
  }

  const Snapshot snapshot_;
  const std::vector<DataRoot> roots_;
  const IndexProvider indexes_;
  const Options options_;
  std::vector<Shard> shards_;
  std::atomic<uint64_t> open_{0}, index_bytes_{0}, bytes_read_{0};
  // Taken before a shard's mutex, never after it.
  Mutex hand_mutex_;
  size_t hand_ ABSL_GUARDED_BY(hand_mutex_) = 0;
};

}  // namespace

absl::StatusOr<std::shared_ptr<DatasetReader>> DatasetReader::Create(Snapshot snapshot, std::vector<DataRoot> roots,
                                                                     IndexProvider indexes, const Options& options) {
  for (const SnapshotShard& shard : snapshot.shards()) {
    bool found = false;
    std::string names;
    for (const DataRoot& root : roots) {
      found = found || root.name == shard.root;
      absl::StrAppend(&names, names.empty() ? "" : ", ", root.name);
    }
    if (!found) {
      return absl::NotFoundError(absl::StrCat("shard ", shard.relative_path, " is in the data root \"", shard.root,
                                              "\", which is not configured here (there are: ", names,
                                              "): add it with --data-root ", shard.root, "=DIR"));
    }
  }
  return std::make_shared<FilesReader>(std::move(snapshot), std::move(roots), std::move(indexes), options);
}

IndexProvider IndexesFrom(IndexStore store, IndexOptions options) {
  return [store = std::move(store), options = std::move(options)](
             const SnapshotShard& shard, const std::string& path) -> absl::StatusOr<std::shared_ptr<const ShardIndex>> {
    PS_ASSIGN_OR_RETURN(LoadedIndex loaded, store.LoadOrBuild(path, options));
    return loaded.index;
  };
}

}  // namespace penstock
