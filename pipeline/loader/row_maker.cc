#include "pipeline/loader/row_maker.h"

#include <algorithm>
#include <initializer_list>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/status_place.h"
#include "pipeline/loader/packed_row.h"
#include "pipeline/loader/row_slots.h"
#include "pipeline/plan/permutation.h"

namespace penstock::loader {
namespace {

// "SUBSTITU" as a number. Separates this use of the seed from all others.
constexpr uint64_t kSubstituteDomain = 0x5355425354495455;
// The error of a decided record whose copy this machine has not read.
constexpr char kEveryCopy[] = "the CRC of its data is wrong in every copy";

absl::Status WithPlace(const absl::Status& status, const LoadJob& job, uint64_t record) {
  return AtPlace(job.reader().Describe(record), status);
}

bool HasRagged(const batch::RowSchema& schema) {
  return std::any_of(schema.columns.begin(), schema.columns.end(), [](const batch::ColumnSpec& c) { return c.ragged; });
}

// Returns the bytes of a row and of its record with `record_bytes`.
uint64_t NeedOf(const LoadJob& job, uint64_t record_bytes) {
  return record_bytes + job.fixed_bytes() + RaggedBound(job.schema(), record_bytes);
}

const plan::EpochOrder& PlanFor(const LoadJob& job, uint64_t session, uint64_t epoch, MakerContext* context) {
  if (context->plan_session != session || !context->plan.has_value() || context->plan->epoch() != epoch) {
    context->plan = job.PlanOf(epoch);
    context->plan_session = session;
  }
  return *context->plan;
}

}  // namespace

std::vector<uint64_t> SubstitutesOf(const sources::Snapshot& snapshot, const SampleKey& key, uint64_t record) {
  const sources::RecordRef ref = snapshot.ToShard(record);
  uint64_t first = 0, count = snapshot.shards()[ref.shard].record_count;
  // A balanced data set replaces records by others of their group.
  for (uint64_t begin = 0; const uint32_t records : snapshot.shards()[ref.shard].groups.records) {
    if (ref.record - begin < records && records > 1) std::tie(first, count) = std::pair(begin, records);
    begin += records;
    if (begin > ref.record) break;
  }
  const plan::Permutation permutation(count, HashWords({kSubstituteDomain, key.seed, key.record_id}));
  std::vector<uint64_t> substitutes;
  for (uint64_t i = 0; i < count && substitutes.size() < kMaxSubstitutes; ++i) {
    const uint64_t other = first + permutation.Permute(i);
    if (other != ref.record) substitutes.push_back(snapshot.ToGlobal({ref.shard, other}));
  }
  return substitutes;
}

// One try to make a row.
class RowMaker::Try {
 public:
  Try(const MakerOptions& options, const LoadJob& job, const DecidedRecords& decided, int sharers, Memory* memory,
      MakerContext* context, RowTask* task, MadeRow* made)
      : options_(options),
        job_(job),
        decided_(decided),
        sharers_(sharers),
        memory_(*memory),
        context_(*context),
        task_(*task),
        progress_(task->progress),
        made_(*made) {}

  End Run() {
    made_.record_id = made_.source_record = progress_.record;
    made_.fault = progress_.fault;
    made_.fault_offset = progress_.fault_offset;
    progress_.damage = absl::OkStatus();
    if (job_.reader().selects() && !progress_.number.has_value()) {
      if (const Step step = NumberOf(progress_.record, &progress_.number); step != Step::kNone) {
        return step == Step::kNotReady ? End::kNotReady : End::kMade;
      }
    }
    made_.number = made_.source_number = progress_.number;
    if (const std::optional<End> end = TakeCachedRow(); end.has_value()) return *end;
    while (true) {
      switch (MakeFromSource()) {
        case Step::kNone:
          made_.substituted = progress_.substitutes > 0;
          if (!made_.substituted) Cache();
          return End::kMade;
        case Step::kBadRecord:
          if (const std::optional<End> end = NextSource(); end.has_value()) return *end;
          break;
        case Step::kDamagedCopy:
          made_.damaged_record = made_.missing_record;
          made_.fault = absl::OkStatus();
          return End::kMade;
        case Step::kFailed:
          return End::kMade;
        case Step::kPutBack:
          return End::kPutBack;
        case Step::kNotReady:
          return End::kNotReady;
        case Step::kNotRead:
          return End::kNotRead;
      }
    }
  }

 private:
  enum class Step { kNone, kBadRecord, kDamagedCopy, kFailed, kPutBack, kNotReady, kNotRead };

  const batch::RowSchema& schema() const { return job_.schema(); }

  // Sets the number of a selected record in its shard.
  Step NumberOf(uint64_t record, std::optional<uint64_t>* number) {
    made_.missing_record = record;
    const absl::StatusOr<uint64_t> found = job_.reader().NumberInShard(record);
    if (absl::IsAborted(found.status())) return Step::kNotReady;
    made_.status = found.status();
    if (!found.ok()) return Step::kFailed;
    *number = *found;
    return Step::kNone;
  }

  // Returns how the try ends if the cache of rows has the row.
  std::optional<End> TakeCachedRow() {
    const uint64_t record = progress_.record;
    // The row that a substitute makes is not in the cache.
    if (!progress_.keyed || progress_.substitutes > 0 || decided_.Contains(record)) return std::nullopt;
    if (progress_.row_looked_up && !options_.rows->Contains(progress_.row_key)) return std::nullopt;
    const std::shared_ptr<const cache::CachedRow> row = options_.rows->Find(progress_.row_key);
    if (row == nullptr) {
      progress_.row_looked_up = true;
      return std::nullopt;
    }
    const absl::StatusOr<Answer> answer = memory_.Reserve(row->bytes.size());
    if (answer.ok() && *answer == Answer::kPutBack) return End::kPutBack;
    const bool fixed = row->bytes.size() == job_.fixed_bytes() && !HasRagged(schema());
    if (answer.ok() && !(fixed && memory_.Borrow(row))) {
      batch::RowSlot* const slot = memory_.Slot();
      slot->lenient = false;
      UnpackRow(schema(), row->bytes, slot);
    }
    if (!job_.PipelineOf(record).IsDeterministic()) options_.rows->ReportTaken(progress_.row_key);
    made_.from = RowFrom::kKept;
    made_.row_bytes = row->bytes.size();
    made_.status = answer.ok() ? absl::OkStatus() : WithPlace(answer.status(), job_, record);
    return End::kMade;
  }

  // Caches the finished row, which has no fault. Faults are found and reported each time.
  void Cache() {
    if (!progress_.keyed || made_.lenient) return;
    const batch::RowSlot& slot = *memory_.Slot();
    if (!job_.PipelineOf(progress_.record).IsDeterministic()) {
      options_.rows->Share(progress_.row_key, PackRow(schema(), slot), sharers_);
    } else if (options_.rows->HasRoomToKeep(PackedRowBytes(schema(), slot))) {
      options_.rows->Keep(progress_.row_key, PackRow(schema(), slot));
    }
  }

  // Applies the policy after a bad record. Returns how the try ends, or nullopt if a substitute is to be tried.
  std::optional<End> NextSource() {
    const v1::ErrorPolicy policy = job_.spec().errors().policy();
    if (progress_.substitutes == 0) {
      made_.fault = progress_.fault = WithoutPlace(made_.status);
      made_.fault_offset = progress_.fault_offset = job_.reader().OffsetOf(progress_.source);
      if (policy == v1::FAIL) return End::kMade;
    }
    if (policy == v1::SUBSTITUTE) {
      const std::vector<uint64_t> substitutes =
          SubstitutesOf(job_.reader().snapshot(), progress_.key, progress_.record);
      if (progress_.substitutes < substitutes.size()) {
        progress_.source = substitutes[progress_.substitutes++];
        progress_.record_looked_up = progress_.disk_looked_up = progress_.decoded_looked_up = false;
        return std::nullopt;
      }
    }
    // Nothing is reserved yet if all records are decided.
    const Step reserved = Reserve(NeedOf(job_, 0));
    if (reserved != Step::kNone) return reserved == Step::kPutBack ? End::kPutBack : End::kMade;
    MaskRow(schema(), memory_.Slot());
    made_.status = absl::OkStatus();
    made_.masked = true;
    made_.lenient = false;
    made_.source_record = progress_.record;
    made_.source_number = progress_.number;
    return End::kMade;
  }

  // Makes the row with the content of the record `source`.
  Step MakeFromSource() {
    const uint64_t source = progress_.source;
    made_.missing_record = source;
    if (decided_.Contains(source)) {
      const DamagedCopies::Known known = job_.reader().DamageOf(source);
      made_.status = !known.damage.ok()
                         ? known.damage
                         : WithPlace(WithFault(Fault::kWrongCrc, absl::DataLossError(kEveryCopy)), job_, source);
      return Step::kBadRecord;
    }
    // A fetched record no longer needs its shard, which may have been paused or closed meanwhile.
    fetched_ = task_.fetched != nullptr && task_.fetched->Has(source) ? task_.fetched.get() : nullptr;
    if (fetched_ == nullptr && !job_.reader().IsReady(source)) return Step::kNotReady;
    if (fetched_ != nullptr && !fetched_->bytes.ok()) return ReadFailed(fetched_->bytes.status());
    if (job_.reader().selects() && progress_.substitutes > 0) {
      if (const Step step = NumberOf(source, &made_.source_number); step != Step::kNone) return step;
    }
    const absl::StatusOr<uint64_t> length =
        fetched_ != nullptr ? absl::StatusOr<uint64_t>(fetched_->bytes->size()) : job_.reader().RecordBytes(source);
    if (!length.ok()) {
      made_.status = length.status();
      return Step::kFailed;
    }
    const uint64_t need = NeedOf(job_, *length);
    if (const Step step = Reserve(need); step != Step::kNone) return step;

    std::shared_ptr<const std::string> cached;
    std::unique_ptr<RecordRanges::Taken> taken;
    const std::optional<absl::StatusOr<std::string_view>> read = Read(*length, &cached, &taken);
    if (!read.has_value()) return Step::kNotRead;
    if (!read->ok()) return ReadFailed(read->status());
    return MakeFrom(**read, need);
  }

  // Reserves memory for the row, `bytes` in total.
  Step Reserve(uint64_t bytes) {
    const absl::StatusOr<Answer> answer = memory_.Reserve(bytes);
    if (!answer.ok()) {
      made_.status = WithPlace(answer.status(), job_, progress_.source);
      return Step::kFailed;
    }
    return *answer == Answer::kYes ? Step::kNone : Step::kPutBack;
  }

  Step ReadFailed(const absl::Status& status) {
    made_.status = status;  // names the place
    // Only errors of storage and changed files may be temporary.
    const bool may_pass = absl::IsUnavailable(status) || absl::IsAborted(status);
    if (may_pass && ++progress_.failed_reads < options_.read_attempts) return Step::kNotReady;
    if (!absl::IsDataLoss(status)) return Step::kFailed;
    const DamagedCopies::Known known = job_.reader().DamageOf(progress_.source);
    const bool verdict = (fetched_ != nullptr && !fetched_->damage.ok()) || known.trusted;
    return DamageOf(status, verdict);
  }

  // Handles a wrong read. `damage` (DataLoss) is the error of a first read, or the verdict on the copy.
  Step DamageOf(const absl::Status& damage, bool verdict) {
    if (!verdict) {
      progress_.damage = damage;
      return Step::kNotRead;
    }
    if (job_.verdict() == DamageVerdict::kGiven) return Step::kDamagedCopy;
    job_.decided()->Add(std::initializer_list<uint64_t>{progress_.source});
    return Step::kBadRecord;
  }

  // Returns the record's bytes, `length` of them: from the cache (*cached then holds them), from the fetched record,
  // from a range (*taken then holds them), from the disk cache or storage (the maker's buffer then holds them).
  // Returns nullopt if the record must be fetched first.
  std::optional<absl::StatusOr<std::string_view>> Read(uint64_t length, std::shared_ptr<const std::string>* cached,
                                                       std::unique_ptr<RecordRanges::Taken>* taken) {
    const cache::CacheKey key{job_.record_space(), progress_.source};
    if (!progress_.record_looked_up || options_.records->Contains(key)) *cached = options_.records->Find(key);
    made_.cached_record = *cached != nullptr;
    progress_.record_looked_up = *cached == nullptr;
    if (*cached != nullptr) return std::string_view(**cached);
    // A fetched record is in memory already.
    if (options_.disk != nullptr && fetched_ == nullptr &&
        (!progress_.disk_looked_up || options_.disk->Contains(key))) {
      if (const std::optional<std::string_view> found = ReadDisk(key, length); found.has_value()) return *found;
    }
    if (fetched_ == nullptr) {
      const DamagedCopies::Known known = job_.reader().DamageOf(progress_.source);
      if (!known.damage.ok()) return known.damage;
    }
    absl::StatusOr<std::string_view> bytes;
    const bool at_once = fetched_ == nullptr && job_.reader().HasLowLatency();
    const std::optional<std::string_view> small = at_once ? TakeSmall() : std::nullopt;
    if (!at_once && fetched_ == nullptr && options_.ranges != nullptr) {
      *taken = options_.ranges->Take(job_, progress_.source);
    }
    if (*taken != nullptr) {
      bytes = (*taken)->bytes();
      made_.storage_time += (*taken)->took();
    } else if (fetched_ != nullptr) {
      bytes = fetched_->bytes;
      made_.storage_time += fetched_->took;
    } else if (!at_once) {
      return std::nullopt;
    } else if (small.has_value()) {
      bytes = *small;
    } else {
      bytes = ReadStorage();
    }
    if (!bytes.ok()) return bytes.status();
    if (!small.has_value()) ++made_.storage_reads;
    made_.bytes_read += bytes->size();
    KeepRecord(key, *bytes);
    if (options_.disk != nullptr) options_.disk->Offer(key, *bytes);
    return bytes;
  }

  std::optional<std::string_view> ReadDisk(const cache::CacheKey& key, uint64_t length) {
    const Nanos start = options_.clock->Now();
    char* const room = context_.record.Get(length + cache::DiskCache::kReadOverhead);
    const std::optional<std::string_view> found = options_.disk->Read(key, static_cast<uint32_t>(length), room);
    progress_.disk_looked_up = !found.has_value();
    if (!found.has_value()) return std::nullopt;
    made_.read_began = start;
    made_.read_ended = options_.clock->Now();
    made_.disk_time = made_.read_ended - start;
    made_.read_time += made_.disk_time;
    KeepRecord(key, *found);
    return found;
  }

  // Returns the record, copied into the maker's buffer, if it was read with a neighbor.
  std::optional<std::string_view> TakeSmall() {
    if (options_.small == nullptr) return std::nullopt;
    return options_.small->Take(task_.id().session, job_, progress_.source, &context_.record);
  }

  // Reads the record, with its neighbors if they are small.
  absl::StatusOr<std::string_view> ReadStorage() {
    const Nanos start = options_.clock->Now();
    if (context_.reading_since != nullptr) context_.reading_since->store(start, std::memory_order_relaxed);
    std::optional<std::string_view> small;
    if (options_.small != nullptr) {
      small = options_.small->Read(task_.id().session, job_, progress_.source, &context_.record);
    }
    const absl::StatusOr<std::string_view> bytes = small.has_value()
                                                       ? absl::StatusOr<std::string_view>(*small)
                                                       : job_.reader().ReadRecord(progress_.source, &context_.record);
    if (context_.reading_since != nullptr) context_.reading_since->store(-1, std::memory_order_relaxed);
    made_.read_began = start;
    made_.read_ended = options_.clock->Now();
    const Nanos took = made_.read_ended - start;
    made_.read_time += took;
    made_.storage_time += took;
    ++made_.own_reads;
    return bytes;
  }

  void KeepRecord(const cache::CacheKey& key, std::string_view bytes) {
    if (!options_.records->HasRoomFor(bytes.size())) return;
    options_.records->Insert(key, std::make_shared<const std::string>(bytes));
  }

  // Runs the pipeline on the record's bytes. `need`: bytes that are reserved so far.
  Step MakeFrom(std::string_view record, uint64_t need) {
    made_.record_bytes = record.size();
    const augment::Pipeline& pipeline = job_.PipelineOf(progress_.source);
    const uint64_t scratch = pipeline.ScratchBytes(record);
    std::shared_ptr<const std::string> decoded;
    bool decode = false;
    const cache::CacheKey decoded_key{job_.decoded_space(), progress_.source};
    if (options_.decoded->limit() > 0 && pipeline.HasDecodedPrefix()) {
      if (!progress_.decoded_looked_up || options_.decoded->Contains(decoded_key)) {
        decoded = options_.decoded->Find(decoded_key);
      }
      progress_.decoded_looked_up = decoded == nullptr;
      // A full decode costs more than the decode of a crop. It pays only for an entry that stays in the cache.
      decode = decoded == nullptr && options_.decoded->HasRoomFor(scratch);
    }
    const uint64_t wanted = decode ? 2 * scratch : scratch;
    if (wanted > options_.thread_scratch_bytes) {
      const Step step = Reserve(need + wanted - options_.thread_scratch_bytes);
      if (step != Step::kNone) return step;
    }
    if (decode) {
      absl::StatusOr<std::string> made_decoded = pipeline.MakeDecoded(record, &context_.scratch);
      // A full decode may find damage outside of the crop. The result for the crop counts, below.
      if (made_decoded.ok()) {
        decoded = std::make_shared<const std::string>(*std::move(made_decoded));
        options_.decoded->Insert(decoded_key, decoded);
      }
    }
    made_.from = decoded == nullptr ? RowFrom::kRecord : decode ? RowFrom::kFilled : RowFrom::kDecoded;
    made_.decoded_bytes = decoded == nullptr ? 0 : decoded->size();
    const Nanos decoded_at = made_.from == RowFrom::kFilled ? options_.clock->Now() : 0;
    batch::RowSlot* const slot = memory_.Slot();
    slot->lenient = false;
    for (std::string& column : slot->ragged) column.clear();
    const absl::Status status =
        decoded != nullptr ? pipeline.MakeRowFromDecoded(record, *decoded, progress_.key, slot, &context_.scratch)
                           : pipeline.MakeRow(record, progress_.key, slot, &context_.scratch);
    if (!status.ok()) {
      made_.status = WithPlace(status, job_, progress_.source);
      return Step::kBadRecord;
    }
    if (made_.from == RowFrom::kFilled) made_.from_decoded_time = options_.clock->Now() - decoded_at;
    return CheckRow(slot);
  }

  // Checks the size of the finished row.
  Step CheckRow(batch::RowSlot* slot) {
    uint64_t bytes = job_.fixed_bytes();
    for (const std::string& column : slot->ragged) bytes += column.size();
    made_.row_bytes = bytes;
    if (bytes > options_.max_row_bytes) {
      for (std::string& column : slot->ragged) std::string().swap(column);
      const absl::Status too_large = absl::ResourceExhaustedError(
          absl::StrCat("makes a row of ", bytes, " bytes; a row may have ", options_.max_row_bytes,
                       ", the limit of a message: crop, resize or drop columns, or let errors.policy pass it over"));
      made_.status = WithPlace(WithFault(Fault::kOverLimit, too_large), job_, progress_.source);
      return Step::kBadRecord;
    }
    made_.status = absl::OkStatus();
    made_.lenient = slot->lenient;
    made_.source_record = progress_.source;
    return Step::kNone;
  }

  const MakerOptions& options_;
  const LoadJob& job_;
  const DecidedRecords& decided_;
  const int sharers_;
  Memory& memory_;
  MakerContext& context_;
  RowTask& task_;
  RowTask::Progress& progress_;
  MadeRow& made_;
  const FetchedRecord* fetched_ = nullptr;  // null: `source` is not fetched
};

RecordPlace RowMaker::PlaceOf(const LoadJob& job, uint64_t record) const {
  if (job.PipelineOf(record).IsDeterministic() && options_.rows->Contains({job.decoded_space(), 0, record})) {
    return RecordPlace::kMemory;
  }
  const cache::CacheKey key{job.record_space(), record};
  if (options_.records->Contains(key)) return RecordPlace::kMemory;
  return options_.disk != nullptr && options_.disk->Contains(key) ? RecordPlace::kDiskCache : RecordPlace::kStorage;
}

std::optional<uint64_t> RowMaker::RecordOf(const LoadJob& job, uint64_t session, const RowRequest& request,
                                           MakerContext* context) const {
  const plan::EpochOrder& plan = PlanFor(job, session, request.epoch, context);
  if (request.position >= plan.num_positions()) return std::nullopt;
  return plan.RecordAt(request.position);
}

void RowMaker::HintDiskCache(const LoadJob& job, uint64_t record) const {
  if (!job.reader().IsReady(record)) return;  // the length is unknown
  const absl::StatusOr<uint64_t> length = job.reader().RecordBytes(record);
  if (length.ok()) options_.disk->WillRead({job.record_space(), record}, static_cast<uint32_t>(*length));
}

bool RowMaker::Plan(const LoadJob& job, int sharers, MakerContext* context, RowTask* task) const {
  RowTask::Progress& progress = task->progress;
  if (!progress.planned) {
    const RowRequest& request = task->request;
    const plan::EpochOrder& plan = PlanFor(job, task->id().session, request.epoch, context);
    if (request.position >= plan.num_positions()) return false;
    ++context->planned_rows;
    progress.planned = true;
    const plan::PlannedRow row = plan.RowAt(request.position);
    progress.record = progress.source = row.record;
    progress.key = SampleKeyOf(row);
  }
  // Whether other sessions read the row may change while it waits, and so may the size of the cache.
  const bool same = job.PipelineOf(progress.record).IsDeterministic();
  progress.keyed = options_.rows->limit() > 0 && (same || sharers > 0);
  progress.row_key = same ? cache::RowKey{job.decoded_space(), 0, progress.record}
                          : cache::RowKey{job.shared_space(), task->request.epoch, task->request.position};
  return true;
}

std::optional<RowMaker::ToFetch> RowMaker::RecordToFetch(const LoadJob& job, RowTask* task,
                                                         MakerContext* context) const {
  if (job.reader().HasLowLatency() || !Plan(job, 0, context, task)) return std::nullopt;
  const uint64_t record = task->progress.source;
  if (ReadAhead::WayOf(PlaceOf(job, record), false) != ReadAhead::Way::kRead) return std::nullopt;
  if (!job.reader().IsReady(record)) return std::nullopt;
  if (!job.reader().DamageOf(record).damage.ok()) return std::nullopt;
  const absl::StatusOr<uint64_t> length = job.reader().RecordBytes(record);
  if (!length.ok()) return std::nullopt;
  return ToFetch{record, NeedOf(job, *length)};
}

RowMaker::End RowMaker::Make(const LoadJob& job, const DecidedRecords& decided, int sharers, Memory* memory,
                             MakerContext* context, RowTask* task, MadeRow* made) const {
  *made = MadeRow();
  if (Plan(job, sharers, context, task)) {
    return Try(options_, job, decided, sharers, memory, context, task, made).Run();
  }
  const RowRequest& request = task->request;
  made->status = absl::InvalidArgumentError(
      absl::StrCat("position ", request.position, " of epoch ", request.epoch, ": an epoch has ",
                   PlanFor(job, task->id().session, request.epoch, context).num_positions(), " positions"));
  return End::kMade;
}

}  // namespace penstock::loader
