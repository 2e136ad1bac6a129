#include "pipeline/loader/dataset_reader.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/runtime/thread_pool.h"
#include "base/status_macros.h"
#include "pipeline/loader/read_ahead/range_plan.h"
#include "pipeline/loader/shard_table.h"
#include "pipeline/sources/damage.h"
#include "pipeline/sources/shard_reader.h"

namespace penstock::loader {
namespace {

// Attempts of the ReadRecord that retries.
constexpr int kReadAttempts = 3;
// Reads past all caches after a wrong first read.
constexpr int kReadsMore = 2;
// Records of a shard, at most, by which the share of requested bytes is estimated.
constexpr uint64_t kRecordsOfShare = 16;
// Loads wait for storage and for the coordinator, not for a CPU.
constexpr int kSlowThreads = 4;

class FilesReader final : public DatasetReader, public std::enable_shared_from_this<FilesReader> {
 public:
  FilesReader(storage::Storage* storage, std::shared_ptr<ShardTable> shards, const Options& options)
      : shards_(std::move(shards)),
        slow_work_(options.executor != nullptr ? options.executor : SlowWorkThreads()),
        storage_(storage),
        features_(options.features),
        selects_(options.selects),
        damaged_(slow_work_->clock(), options.log_damage) {}
  ~FilesReader() override { shards_->Stop(); }

  const sources::Snapshot& snapshot() const override { return shards_->snapshot(); }
  const SetFeatures& features() const override { return features_; }
  bool selects() const override { return selects_; }
  absl::StatusOr<uint64_t> NumberInShard(uint64_t record) override {
    const sources::RecordRef ref = snapshot().ToShard(record);
    if (!selects_) return ref.record;
    std::shared_ptr<const sources::ShardIndex> index = shards_->KnownIndex(ref.shard);
    if (index == nullptr) {
      if (!shards_->IsReady(ref.shard)) return absl::AbortedError("its shard is not ready");
      PS_ASSIGN_OR_RETURN(index, shards_->Index(ref.shard));
    }
    return index->NumberInShard(ref.record);
  }

  bool IsReady(uint64_t record) override { return shards_->IsReady(snapshot().ToShard(record).shard); }
  void WhenReady(uint64_t record, std::shared_ptr<ReadyWaiter> waiter) override {
    shards_->WhenReady(snapshot().ToShard(record).shard, std::move(waiter));
  }

  absl::StatusOr<uint64_t> RecordBytes(uint64_t record) override {
    const sources::RecordRef ref = snapshot().ToShard(record);
    PS_ASSIGN_OR_RETURN(const std::shared_ptr<const sources::ShardIndex> index, shards_->Index(ref.shard));
    index->WillLookAt(ref.record);  // the caller needs its offset next
    return sources::ShardReader::DataBytes(*index, ref.record, FeaturesOf(ref.shard));
  }

  absl::Status ReadRecord(uint64_t record, std::string* out) override {
    RecordBuffer buffer;
    const sources::RecordRef ref = snapshot().ToShard(record);
    for (int tries = 1;; ++tries) {
      absl::StatusOr<std::string_view> bytes = ReadRecord(record, &buffer);
      if (absl::IsDataLoss(bytes.status())) {
        const absl::StatusOr<std::shared_ptr<const sources::ShardReader>> reader = shards_->Reader(ref.shard);
        if (!reader.ok()) return reader.status();
        bytes = Settled(ref, **reader,
                        ReadPastCaches(ref, **reader, bytes.status(),
                                       buffer.Get((*reader)->StoredBytes(ref.record, FeaturesOf(ref.shard)))));
      }
      if (bytes.ok()) {
        out->assign(*bytes);
        return absl::OkStatus();
      }
      const bool again = absl::IsAborted(bytes.status()) || absl::IsUnavailable(bytes.status());
      if (!again || tries == kReadAttempts) return bytes.status();
    }
  }

  absl::Status ReadWholeRecord(uint64_t record, std::string* out) override {
    const sources::RecordRef ref = snapshot().ToShard(record);
    if (FeaturesOf(ref.shard) == nullptr) return ReadRecord(record, out);
    RecordBuffer buffer;
    for (int tries = 1;; ++tries) {
      const absl::StatusOr<std::shared_ptr<const sources::ShardReader>> reader = shards_->Reader(ref.shard);
      if (!reader.ok()) return reader.status();
      char* const stored = buffer.Get((*reader)->StoredBytes(ref.record, nullptr));
      absl::StatusOr<std::string_view> bytes = (*reader)->ReadRecord(ref.record, stored);
      if (absl::IsDataLoss(bytes.status())) bytes = (*reader)->ReadRecordPastCaches(ref.record, stored);
      bytes = Settled(ref, **reader, std::move(bytes), nullptr);
      if (bytes.ok()) {
        out->assign(*bytes);
        return absl::OkStatus();
      }
      const bool again = absl::IsAborted(bytes.status()) || absl::IsUnavailable(bytes.status());
      if (!again || tries == kReadAttempts) return sources::DamageToReport(bytes.status());
    }
  }

  absl::StatusOr<std::string_view> ReadRecord(uint64_t record, RecordBuffer* buffer) override {
    const sources::RecordRef ref = snapshot().ToShard(record);
    PS_ASSIGN_OR_RETURN(const std::shared_ptr<const sources::ShardReader> reader, shards_->Reader(ref.shard));
    char* const stored = buffer->Get(reader->StoredBytes(ref.record, FeaturesOf(ref.shard)));
    return Settled(ref, *reader, reader->ReadRecord(ref.record, stored, FeaturesOf(ref.shard)));
  }

  bool HasLowLatency() const override { return shards_->AllAnswerAtOnce(); }
  bool FetchRecord(std::shared_ptr<FetchedRecord> fetched, const storage::CallOptions& options, Task done) override {
    const sources::RecordRef ref = snapshot().ToShard(fetched->record);
    const std::shared_ptr<const sources::ShardReader> reader = shards_->OpenReader(ref.shard);
    if (reader == nullptr) return false;
    fetched->buffer = std::make_unique_for_overwrite<char[]>(reader->StoredBytes(ref.record, FeaturesOf(ref.shard)));
    FetchedRecord* const out = fetched.get();
    const absl::Status damage = out->damage;
    auto end = [self = shared_from_this(), ref, reader, fetched = std::move(fetched),
                done = std::move(done)](absl::StatusOr<std::string_view> bytes) mutable {
      fetched->bytes = self->Settled(ref, *reader, std::move(bytes));
      std::move(done)();
    };
    if (!damage.ok()) {
      slow_work_->Post([this, reader, ref, out, damage, stop = options.stop, end = std::move(end)]() mutable {
        if (stop.stop_requested()) {
          std::move(end)(absl::CancelledError("cancelled"));
        } else {
          std::move(end)(ReadPastCaches(ref, *reader, damage, out->buffer.get()));
        }
      });
    } else if (reader->HasReadLater()) {
      reader->ReadRecordLater(ref.record, out->buffer.get(), FeaturesOf(ref.shard), options, std::move(end));
    } else {
      // The reader of a compressed shard continues from its last position, in many small reads.
      slow_work_->Post([this, reader, ref, out, stop = options.stop, end = std::move(end)]() mutable {
        if (stop.stop_requested()) {
          std::move(end)(absl::CancelledError("cancelled"));
        } else {
          std::move(end)(reader->ReadRecord(ref.record, out->buffer.get(), FeaturesOf(ref.shard)));
        }
      });
    }
    return true;
  }

  DamagedCopies::Known DamageOf(uint64_t record) override { return damaged_.Find(snapshot().ToShard(record)); }
  std::vector<std::string> DamageLines(size_t most) const override { return damaged_.Lines(most); }

  std::shared_ptr<const sources::ShardReader> ReaderOfRanges(uint32_t shard) override {
    if (HasLowLatency()) return nullptr;
    std::shared_ptr<const sources::ShardReader> reader = shards_->OpenReader(shard);
    if (reader == nullptr || !reader->HasRanges() || !RequestsMostOf(shard, *reader)) return nullptr;
    return reader;
  }
  absl::StatusOr<std::string_view> RecordOfRange(uint64_t record, const sources::ShardReader& reader, char* frame,
                                                 RecordBuffer* with_head) override {
    const sources::RecordRef ref = snapshot().ToShard(record);
    return Settled(ref, reader, reader.RecordOf(ref.record, frame, FeaturesOf(ref.shard), with_head));
  }

  std::shared_ptr<const sources::ShardReader> ReaderOfNeighbors(uint32_t shard) override {
    if (!HasLowLatency()) return nullptr;
    const absl::StatusOr<std::shared_ptr<const sources::ShardReader>> reader = shards_->Reader(shard);
    if (!reader.ok() || !(*reader)->HasRanges() || !(*reader)->index().is_in_file_order()) return nullptr;
    return *reader;
  }
  absl::StatusOr<std::string_view> RecordOfNeighbors(uint64_t record, const sources::ShardReader& reader,
                                                     const char* stored, RecordBuffer* buffer) override {
    const sources::RecordRef ref = snapshot().ToShard(record);
    const sources::RequestedFeatures* const features = FeaturesOf(ref.shard);
    return Settled(ref, reader,
                   reader.CopyOf(ref.record, stored, features, buffer->Get(reader.StoredBytes(ref.record, features))));
  }

  void WillRead(uint64_t record) override {
    const sources::RecordRef ref = snapshot().ToShard(record);
    if (const std::shared_ptr<const sources::ShardReader> reader = shards_->OpenReader(ref.shard)) {
      reader->WillRead(ref.record, FeaturesOf(ref.shard));
    } else {
      shards_->StartLoad(ref.shard);
    }
  }

  std::string Describe(uint64_t record) override {
    const sources::RecordRef ref = snapshot().ToShard(record);
    const std::shared_ptr<const sources::ShardIndex> index = shards_->KnownIndex(ref.shard);
    std::string text = absl::StrCat(shards_->PathOf(ref.shard), ", record ");
    if (index != nullptr && index->is_packed()) {
      const uint64_t first = index->PartsOf(ref.record)[0].record;
      const sources::ShardIndex& records = *index->packs().records;
      return absl::StrCat(shards_->PathOf(ref.shard), ", ", NounOf(*index), " ", index->NumberInShard(ref.record),
                          ", from record ", records.NumberInShard(first), " at offset ", records.RecordOffset(first),
                          " on");
    }
    if (index == nullptr) return text + absl::StrCat(ref.record, selects_ ? " of the selected ones" : "");
    absl::StrAppend(&text, index->NumberInShard(ref.record), " at offset ", index->RecordOffset(ref.record));
    return text;
  }

  std::optional<uint64_t> OffsetOf(uint64_t record) override {
    const sources::RecordRef ref = snapshot().ToShard(record);
    const std::shared_ptr<const sources::ShardIndex> index = shards_->KnownIndex(ref.shard);
    if (index == nullptr) return std::nullopt;
    return index->RecordOffset(ref.record);
  }

  uint64_t bytes_read() const override { return bytes_read_.load(); }

 private:
  // Returns the features that the shard's records have, or null if they are whole.
  const sources::RequestedFeatures* FeaturesOf(uint32_t shard) const {
    return features_.empty() ? nullptr : features_[snapshot().shards()[shard].set].get();
  }

  // Returns whether ranges of whole records of the shard have at most as many bytes without use as the gaps of ranges.
  bool RequestsMostOf(uint32_t shard, const sources::ShardReader& reader) const {
    const sources::RequestedFeatures* const features = FeaturesOf(shard);
    if (features == nullptr) return true;
    const uint64_t records = reader.index().record_count(), step = records / kRecordsOfShare + 1;
    uint64_t requested = 0, stored = 0;
    for (uint64_t k = 0; k < records; k += step) {
      requested += reader.StoredBytes(k, features);
      stored += reader.StoredBytes(k, nullptr);
    }
    return (stored - requested) * RangeLimits().waste_share <= stored;
  }

  static const char* NounOf(const sources::ShardIndex& index) {
    return index.packs().windows != nullptr ? "window" : index.is_packed() ? "pack" : "record";
  }
  // Returns "record 12", or "pack 12" or "window 12" for a row of several records.
  static std::string NameOf(const sources::RecordRef& ref, const sources::ShardReader& reader) {
    return absl::StrCat(NounOf(reader.index()), " ", reader.index().NumberInShard(ref.record));
  }

  // Returns the verdict on a record that a read found damaged (`damage`), as FetchRecord() does. Reads the record's
  // frame into `buffer`. Blocks.
  absl::StatusOr<std::string_view> ReadPastCaches(const sources::RecordRef& ref, const sources::ShardReader& reader,
                                                  const absl::Status& damage, char* buffer) {
    if (!damaged_.Find(ref).damage.ok()) {
      // The damage is known. The record can be intact only in another version of the file.
      const absl::StatusOr<storage::StoredName> now = storage_->StatAndWait(reader.path());
      if (now.ok() && now->info == reader.index().file_info()) {
        damaged_.FoundUnchanged(ref);
        return sources::DamageToReport(damage);
      }
      return absl::AbortedError("the file has changed");
    }
    for (int more = 0; more < kReadsMore; ++more) {
      absl::StatusOr<std::string_view> bytes = reader.ReadRecordPastCaches(ref.record, buffer, FeaturesOf(ref.shard));
      if (!absl::IsDataLoss(bytes.status())) return bytes;
      if (sources::SameDamage(bytes.status(), damage)) continue;
      return absl::UnavailableError(
          absl::StrCat(NameOf(ref, reader), ": reads of the same bytes differ (", bytes.status().message(), ")"));
    }
    const absl::Status verdict = sources::DamageToReport(damage);
    damaged_.Found(ref, NameOf(ref, reader), shards_->PathOf(ref.shard), verdict);
    return verdict;
  }

  // Converts the result of a read to the errors of the interface, and reports it to the shard table.
  absl::StatusOr<std::string_view> Settled(const sources::RecordRef& ref, const sources::ShardReader& reader,
                                           absl::StatusOr<std::string_view> bytes) {
    return Settled(ref, reader, std::move(bytes), FeaturesOf(ref.shard));
  }
  // The same for a read of `read` alone; null: the whole record.
  absl::StatusOr<std::string_view> Settled(const sources::RecordRef& ref, const sources::ShardReader& reader,
                                           absl::StatusOr<std::string_view> bytes,
                                           const sources::RequestedFeatures* read) {
    if (bytes.ok()) {
      bytes_read_.fetch_add(reader.StoredBytes(ref.record, read) - reader.index().head().size(),
                            std::memory_order_relaxed);
      shards_->FoundWell(ref.shard);
      return bytes;
    }
    const absl::Status& status = bytes.status();
    if (absl::IsDataLoss(status) || absl::IsCancelled(status)) return status;
    if (absl::IsFailedPrecondition(status) || absl::IsAborted(status)) {
      shards_->FoundChanged(ref.shard, reader);
      damaged_.Forget(ref.shard);
      return absl::AbortedError(absl::StrCat(shards_->PathOf(ref.shard), " changed and is looked at again"));
    }
    // The reader's message begins with the record.
    const absl::Status failing =
        absl::UnavailableError(absl::StrCat(shards_->PathOf(ref.shard), ", ", status.message()));
    shards_->FoundFailing(ref.shard, reader, failing);
    return failing;
  }

  const std::shared_ptr<ShardTable> shards_;
  Executor* const slow_work_;
  storage::Storage* const storage_;
  const SetFeatures features_;
  const bool selects_;
  DamagedCopies damaged_;
  std::atomic<uint64_t> bytes_read_{0};
};

}  // namespace

Executor* SlowWorkThreads() {
  static Executor* const threads = new ThreadPool(kSlowThreads, "ps-slow");
  return threads;
}

absl::StatusOr<std::shared_ptr<DatasetReader>> DatasetReader::Create(storage::Storage* storage,
                                                                     sources::Snapshot snapshot,
                                                                     std::vector<sources::DataRoot> roots,
                                                                     IndexProvider indexes, const Options& options) {
  for (const sources::SnapshotShard& shard : snapshot.shards()) {
    bool found = false;
    std::string names;
    for (const sources::DataRoot& root : roots) {
      found = found || root.name == shard.root;
      absl::StrAppend(&names, names.empty() ? "" : ", ", root.name);
    }
    if (!found) {
      return absl::NotFoundError(absl::StrCat("shard ", shard.relative_path, " is in the data root \"", shard.root,
                                              "\", which is not configured here (there are: ", names,
                                              "): add it with --data-root ", shard.root, "=DIR"));
    }
  }
  return std::make_shared<FilesReader>(
      storage,
      std::make_shared<ShardTable>(storage, std::move(snapshot), std::move(roots), std::move(indexes), options),
      options);
}

}  // namespace penstock::loader
