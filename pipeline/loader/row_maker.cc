#include "pipeline/loader/row_maker.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/status_place.h"
#include "pipeline/loader/packed_row.h"
#include "pipeline/plan/permutation.h"

namespace penstock {
namespace {

// "SUBSTITU" as a number. Separates this use of the seed from all others.
constexpr uint64_t kSubstituteDomain = 0x5355425354495455;
// The error of a decided record whose copy this machine has not read.
constexpr char kEveryCopy[] = "the CRC of its data is wrong in every copy";

absl::Status WithPlace(const absl::Status& status, const LoadJob& job, uint64_t record) {
  return AtPlace(job.reader().Describe(record), status);
}

// Records that a fetched record is bad: the next one overwrites it.
void NoteFault(uint64_t record, const absl::Status& status, ReadAttempts* reads) {
  if (reads->fetched == nullptr) return;
  const auto known = [record](const auto& fault) { return fault.first == record; };
  auto& faults = reads->fetched->faults;
  if (std::none_of(faults.begin(), faults.end(), known)) faults.emplace_back(record, status);
}

bool HasRagged(const RowSchema& schema) {
  return std::any_of(schema.columns.begin(), schema.columns.end(), [](const ColumnSpec& c) { return c.ragged; });
}

const EpochPlan& PlanFor(const LoadJob& job, uint64_t session, uint64_t epoch, MakerThread* thread) {
  if (thread->plan_session != session || !thread->plan.has_value() || thread->plan->epoch() != epoch) {
    thread->plan = job.PlanOf(epoch);
    thread->plan_session = session;
  }
  return *thread->plan;
}

}  // namespace

std::vector<uint64_t> SubstitutesOf(const Snapshot& snapshot, uint64_t seed, uint64_t record) {
  const RecordRef ref = snapshot.ToShard(record);
  const uint64_t count = snapshot.shards()[ref.shard].record_count;
  const Permutation permutation(count, HashWords({kSubstituteDomain, seed, record}));
  std::vector<uint64_t> substitutes;
  for (uint64_t i = 0; i < count && substitutes.size() < kMaxSubstitutes; ++i) {
    const uint64_t other = permutation.Permute(i);
    if (other != ref.record) substitutes.push_back(snapshot.ToGlobal({ref.shard, other}));
  }
  return substitutes;
}

uint64_t RaggedBound(const RowSchema& schema, uint64_t record_bytes) {
  // Growth of one byte of the record. An int64 has at least 1 byte there. A string has 2 bytes in addition to its text,
  // and a u32 length here. Floats and raw numbers have the same size. Only a cast widens, at most from 1 byte to 8.
  uint64_t factor = 0, columns = 0;
  for (const ColumnSpec& column : schema.columns) {
    if (!column.ragged) continue;
    ++columns;
    const uint64_t own = column.dtype == DType::kString ? 3 : column.dtype == DType::kFloat32 ? 1 : 8;
    factor = std::max(factor, own);
  }
  return factor * record_bytes + 16 * columns;
}

void MaskRow(const RowSchema& schema, RowSlot* slot) {
  slot->ragged.resize(schema.columns.size());
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const ColumnSpec& column = schema.columns[c];
    slot->ragged[c].clear();
    if (!column.ragged) {
      std::memset(slot->fixed[c], 0, column.Bytes());
    } else if (column.scalar) {
      AppendRaggedHeader(1, &slot->ragged[c]);
      AppendRaggedHeader(0, &slot->ragged[c]);  // length of the string
    } else {
      AppendRaggedHeader(0, &slot->ragged[c]);
    }
  }
}

void PointInto(const RowSchema& schema, std::byte* bytes, RowSlot* slot) {
  slot->fixed.assign(schema.columns.size(), nullptr);
  slot->ragged.resize(schema.columns.size());
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    if (schema.columns[c].ragged) continue;
    slot->fixed[c] = bytes;
    bytes += schema.columns[c].Bytes();
  }
}

std::optional<absl::StatusOr<std::string_view>> RowMaker::Read(const LoadJob& job, uint64_t record, uint64_t length,
                                                               MakerThread* thread, const FetchedRecord* fetched,
                                                               std::shared_ptr<const std::string>* cached,
                                                               std::unique_ptr<RecordRanges::Taken>* taken,
                                                               MadeRow* made) const {
  const CacheKey key{job.record_space(), record};
  *cached = options_.records->Find(key);
  made->cached_record = *cached != nullptr;
  if (*cached != nullptr) return std::string_view(**cached);
  const auto keep = [&](std::string_view bytes) {
    if (!options_.records->HasRoomFor(bytes.size())) return;
    options_.records->Insert(key, std::make_shared<const std::string>(bytes));
  };
  // A fetched record is in memory already.
  if (options_.disk != nullptr && fetched == nullptr) {
    const Nanos start = options_.clock->Now();
    char* const room = thread->record.Get(length + DiskCache::kReadOverhead);
    const std::optional<std::string_view> found = options_.disk->Read(key, static_cast<uint32_t>(length), room);
    if (found.has_value()) {
      made->read_began = start;
      made->read_ended = options_.clock->Now();
      made->read_time += made->read_ended - start;
      made->disk_time = made->read_ended - start;
      keep(*found);
      return *found;
    }
  }
  if (fetched == nullptr) {
    if (DamagedCopies::Known known = job.reader().DamageOf(record); !known.damage.ok()) return known.damage;
  }
  absl::StatusOr<std::string_view> bytes;
  const bool at_once = fetched == nullptr && job.reader().HasLowLatency();
  if (!at_once && fetched == nullptr && options_.ranges != nullptr) *taken = options_.ranges->Take(job, record);
  if (*taken != nullptr) {
    bytes = (*taken)->bytes();
    made->storage_time += (*taken)->took();
  } else if (fetched != nullptr) {
    bytes = fetched->bytes;
    made->storage_time += fetched->took;
  } else if (!at_once) {
    return std::nullopt;
  } else {
    const Nanos start = options_.clock->Now();
    if (thread->reading_since != nullptr) thread->reading_since->store(start, std::memory_order_relaxed);
    bytes = job.reader().ReadRecord(record, &thread->record);
    if (thread->reading_since != nullptr) thread->reading_since->store(-1, std::memory_order_relaxed);
    made->read_began = start;
    made->read_ended = options_.clock->Now();
    const Nanos took = made->read_ended - start;
    made->read_time += took;
    made->storage_time += took;
  }
  if (!bytes.ok()) return bytes.status();
  ++made->storage_reads;
  made->bytes_read += bytes->size();
  keep(*bytes);
  if (options_.disk != nullptr) options_.disk->Offer(key, *bytes);
  return bytes;
}

RowMaker::Attempt RowMaker::DamageOf(const LoadJob& job, uint64_t source, const absl::Status& damage, bool verdict,
                                     ReadAttempts* reads, MadeRow* made) const {
  made->status = damage;
  if (!verdict) {
    reads->damage = damage;
    return Attempt::kNotRead;
  }
  if (job.verdict() == DamageVerdict::kGiven) return Attempt::kDamagedCopy;
  job.decided()->Add(std::initializer_list<uint64_t>{source});
  return Attempt::kRecord;
}

RowMaker::Attempt RowMaker::Try(const LoadJob& job, const DecidedRecords& decided, const SampleKey& key,
                                uint64_t source, Book book, GetSlot get_slot, MakerThread* thread, ReadAttempts* reads,
                                MadeRow* made) const {
  made->missing_record = source;
  if (decided.Contains(source)) {
    const DamagedCopies::Known known = job.reader().DamageOf(source);
    made->status = !known.damage.ok()
                       ? known.damage
                       : WithPlace(WithFault(Fault::kWrongCrc, absl::DataLossError(kEveryCopy)), job, source);
    return Attempt::kRecord;
  }
  if (reads->fetched != nullptr) {
    for (const auto& [record, fault] : reads->fetched->faults) {
      if (record != source) continue;
      made->status = fault;
      return Attempt::kRecord;
    }
  }
  // A fetched record no longer needs its shard, which may have been paused or closed meanwhile.
  const FetchedRecord* const fetched =
      reads->fetched != nullptr && reads->fetched->Has(source) ? reads->fetched.get() : nullptr;
  if (fetched == nullptr && !job.reader().IsReady(source)) return Attempt::kNotReady;
  const auto read_failed = [&](const absl::Status& status) {
    made->status = status;  // names the place
    // Only errors of storage and changed files may be temporary.
    const bool may_pass = absl::IsUnavailable(status) || absl::IsAborted(status);
    if (may_pass && ++reads->failed < options_.read_attempts) return Attempt::kNotReady;
    if (!absl::IsDataLoss(status)) return Attempt::kOther;
    const DamagedCopies::Known known = job.reader().DamageOf(source);
    const bool verdict = (fetched != nullptr && !fetched->damage.ok()) || known.trusted;
    return DamageOf(job, source, status, verdict, reads, made);
  };
  if (fetched != nullptr && !fetched->bytes.ok()) return read_failed(fetched->bytes.status());
  const auto ask = [&](uint64_t bytes) {
    const absl::StatusOr<Answer> answer = book(bytes);
    if (!answer.ok()) {
      made->status = WithPlace(answer.status(), job, source);
      return Attempt::kOther;
    }
    return *answer == Answer::kYes ? Attempt::kNone : Attempt::kPutBack;
  };
  const Pipeline& pipeline = job.pipeline();
  const absl::StatusOr<uint64_t> length =
      fetched != nullptr ? absl::StatusOr<uint64_t>(fetched->bytes->size()) : job.reader().RecordBytes(source);
  if (!length.ok()) {
    made->status = length.status();
    return Attempt::kOther;
  }
  uint64_t need = NeedOf(job, *length);
  if (const Attempt end = ask(need); end != Attempt::kNone) return end;

  std::shared_ptr<const std::string> cached;
  std::unique_ptr<RecordRanges::Taken> taken;
  const std::optional<absl::StatusOr<std::string_view>> read =
      Read(job, source, *length, thread, fetched, &cached, &taken, made);
  if (!read.has_value()) return Attempt::kNotRead;
  if (!read->ok()) return read_failed(read->status());
  const std::string_view record = **read;
  made->record_bytes = record.size();
  const uint64_t scratch = pipeline.ScratchBytes(record);
  std::shared_ptr<const std::string> decoded;
  bool decode = false;
  const CacheKey decoded_key{job.decoded_space(), source};
  if (options_.decoded->limit() > 0 && pipeline.HasDecodedPrefix()) {
    decoded = options_.decoded->Find(decoded_key);
    // A full decode costs more than the decode of a crop. It pays only for an entry that stays in the cache.
    decode = decoded == nullptr && options_.decoded->HasRoomFor(scratch);
  }
  const uint64_t wanted = decode ? 2 * scratch : scratch;
  if (wanted > options_.thread_scratch_bytes) {
    need += wanted - options_.thread_scratch_bytes;
    if (const Attempt end = ask(need); end != Attempt::kNone) return end;
  }
  if (decode) {
    absl::StatusOr<std::string> made_decoded = pipeline.MakeDecoded(record, &thread->scratch);
    // A full decode may find damage outside of the crop. The result for the crop counts, below.
    if (made_decoded.ok()) {
      decoded = std::make_shared<const std::string>(*std::move(made_decoded));
      options_.decoded->Insert(decoded_key, decoded);
    }
  }
  made->from = decoded == nullptr ? RowFrom::kRecord : decode ? RowFrom::kFilled : RowFrom::kDecoded;
  made->decoded_bytes = decoded == nullptr ? 0 : decoded->size();
  const Nanos decoded_at = made->from == RowFrom::kFilled ? options_.clock->Now() : 0;
  RowSlot* slot = get_slot();
  slot->lenient = false;
  for (std::string& column : slot->ragged) column.clear();
  absl::Status status = decoded != nullptr ? pipeline.MakeRowFromDecoded(record, *decoded, key, slot, &thread->scratch)
                                           : pipeline.MakeRow(record, key, slot, &thread->scratch);
  if (!status.ok()) {
    made->status = WithPlace(status, job, source);
    return Attempt::kRecord;
  }
  if (made->from == RowFrom::kFilled) made->from_decoded_time = options_.clock->Now() - decoded_at;
  uint64_t bytes = job.fixed_bytes();
  for (const std::string& column : slot->ragged) bytes += column.size();
  made->row_bytes = bytes;
  if (bytes > options_.max_row_bytes) {
    for (std::string& column : slot->ragged) std::string().swap(column);
    const absl::Status too_large = absl::ResourceExhaustedError(
        absl::StrCat("makes a row of ", bytes, " bytes; a row may have ", options_.max_row_bytes,
                     ", what a message takes: crop, resize or drop columns, or let errors.policy pass it over"));
    made->status = WithPlace(WithFault(Fault::kOverLimit, too_large), job, source);
    return Attempt::kRecord;
  }
  made->status = absl::OkStatus();
  made->lenient = slot->lenient;
  made->source_record = source;
  return Attempt::kNone;
}

bool RowMaker::HasCached(const LoadJob& job, uint64_t record) const {
  const CacheKey key{job.record_space(), record};
  if (job.pipeline().IsDeterministic() && options_.rows->Contains({job.decoded_space(), 0, record})) return true;
  return options_.records->Contains(key) || (options_.disk != nullptr && options_.disk->Contains(key));
}

void RowMaker::Announce(const LoadJob& job, uint64_t session, const RowRequest& request, MakerThread* thread) const {
  const EpochPlan& plan = PlanFor(job, session, request.epoch, thread);
  if (request.position >= plan.num_positions()) return;
  const uint64_t record = plan.RecordAt(request.position);
  if (job.pipeline().IsDeterministic() && options_.rows->Contains({job.decoded_space(), 0, record})) return;
  const CacheKey key{job.record_space(), record};
  if (options_.records->Contains(key)) return;
  if (options_.disk == nullptr || !options_.disk->Contains(key)) {
    job.reader().WillRead(record);
  } else if (job.reader().IsReady(record)) {  // otherwise the length is unknown
    const absl::StatusOr<uint64_t> length = job.reader().RecordBytes(record);
    if (length.ok()) options_.disk->WillRead(key, static_cast<uint32_t>(*length));
  }
}

uint64_t RowMaker::NeedOf(const LoadJob& job, uint64_t record_bytes) {
  return record_bytes + job.fixed_bytes() + RaggedBound(job.pipeline().schema(), record_bytes);
}

std::optional<RowMaker::ToFetch> RowMaker::RecordToFetch(const LoadJob& job, uint64_t session,
                                                         const RowRequest& request, MakerThread* thread) const {
  const EpochPlan& plan = PlanFor(job, session, request.epoch, thread);
  if (job.reader().HasLowLatency() || request.position >= plan.num_positions()) return std::nullopt;
  const uint64_t record = plan.RecordAt(request.position);
  if (HasCached(job, record) || !job.reader().IsReady(record)) return std::nullopt;
  if (!job.reader().DamageOf(record).damage.ok()) return std::nullopt;
  const absl::StatusOr<uint64_t> length = job.reader().RecordBytes(record);
  if (!length.ok()) return std::nullopt;
  return ToFetch{record, NeedOf(job, *length)};
}

std::optional<RowKey> RowMaker::KeyOf(const LoadJob& job, const RowRequest& request, uint64_t record,
                                      bool shared) const {
  if (options_.rows->limit() == 0) return std::nullopt;
  if (job.pipeline().IsDeterministic()) return RowKey{job.decoded_space(), 0, record};
  if (!shared) return std::nullopt;
  return RowKey{job.shared_space(), request.epoch, request.position};
}

RowMaker::End RowMaker::Make(const LoadJob& job, uint64_t session, const DecidedRecords& decided,
                             const RowRequest& request, int sharers, Book book, GetSlot get_slot, Borrow borrow,
                             MakerThread* thread, ReadAttempts* reads, MadeRow* made) const {
  const EpochPlan& plan = PlanFor(job, session, request.epoch, thread);
  *made = MadeRow();
  reads->damage = absl::OkStatus();
  if (request.position >= plan.num_positions()) {
    made->status = absl::InvalidArgumentError(absl::StrCat("position ", request.position, " of epoch ", request.epoch,
                                                           ": an epoch has ", plan.num_positions(), " positions"));
    return End::kMade;
  }
  const uint64_t record = plan.RecordAt(request.position);
  made->record_id = made->source_record = record;
  const SampleKey key{job.spec().order().seed(), request.epoch, plan.RepeatAt(request.position), record};

  const RowSchema& schema = job.pipeline().schema();
  const std::optional<RowKey> row_key = KeyOf(job, request, record, sharers > 0);
  if (row_key.has_value() && !decided.Contains(record)) {
    if (const std::shared_ptr<const CachedRow> row = options_.rows->Find(*row_key); row != nullptr) {
      const absl::StatusOr<Answer> answer = book(row->bytes.size());
      if (answer.ok() && *answer == Answer::kPutBack) return End::kPutBack;
      const bool fixed = row->bytes.size() == job.fixed_bytes() && !HasRagged(schema);
      if (answer.ok() && !(fixed && borrow(row))) {
        RowSlot* const slot = get_slot();
        slot->lenient = false;
        UnpackRow(schema, row->bytes, slot);
      }
      options_.rows->ReportTaken(*row_key);
      made->from = RowFrom::kKept;
      made->row_bytes = row->bytes.size();
      made->status = answer.ok() ? absl::OkStatus() : WithPlace(answer.status(), job, record);
      return End::kMade;
    }
  }

  Attempt end = Try(job, decided, key, record, book, get_slot, thread, reads, made);
  // Caches only rows without a fault. Faults are found and reported each time.
  if (end == Attempt::kNone && row_key.has_value() && !made->lenient) {
    const RowSlot& slot = *get_slot();
    if (!job.pipeline().IsDeterministic()) {
      options_.rows->Share(*row_key, PackRow(schema, slot), sharers);
    } else if (options_.rows->HasRoomToKeep(PackedRowBytes(schema, slot))) {
      options_.rows->Keep(*row_key, PackRow(schema, slot));
    }
  }
  if (end == Attempt::kRecord) {
    NoteFault(record, made->status, reads);
    made->fault = WithoutPlace(made->status);
    made->fault_offset = job.reader().OffsetOf(record);
    const v1::ErrorPolicy policy = job.spec().errors().policy();
    if (policy == v1::FAIL) return End::kMade;
    if (policy == v1::SUBSTITUTE) {
      for (const uint64_t other : SubstitutesOf(job.reader().snapshot(), key.seed, record)) {
        end = Try(job, decided, key, other, book, get_slot, thread, reads, made);
        if (end != Attempt::kRecord) break;
        NoteFault(other, made->status, reads);
      }
      made->substituted = end == Attempt::kNone;
    }
  }
  if (end == Attempt::kDamagedCopy) {
    made->damaged_record = made->missing_record;
    made->fault = absl::OkStatus();
    return End::kMade;
  }
  if (end == Attempt::kPutBack) return End::kPutBack;
  if (end == Attempt::kNotReady) return End::kNotReady;
  if (end == Attempt::kNotRead) return End::kNotRead;
  if (end == Attempt::kRecord) {
    MaskRow(job.pipeline().schema(), get_slot());
    made->status = absl::OkStatus();
    made->masked = true;
    made->lenient = false;
    made->source_record = record;
  }
  return End::kMade;
}

}  // namespace penstock
