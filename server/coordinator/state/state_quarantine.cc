// Counts and reports bad records.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock::coordinator {
namespace {

// Returns the number of the record in its file. `begin` is the number, in the snapshot, of the shard's first record.
uint64_t NumberOf(const v1::BadRecord& record, uint64_t begin) {
  return record.has_number_in_shard() ? record.number_in_shard() : record.record() - begin;
}

}  // namespace

// Accepts reports only from registered workers, which have read the record.
v1::ReportRecordsReply CoordinatorState::ReportRecords(const v1::ReportRecordsRequest& request, Consequences* out) {
  v1::ReportRecordsReply reply;
  const WorkerEntry* const worker = workers_.Find(request.worker_id());
  if (worker == nullptr || worker->info.incarnation() != request.incarnation()) {
    reply.set_register_again(true);
    return reply;
  }
  for (const v1::JobRecords& of : request.jobs()) {
    const auto found = jobs_.find(of.job());
    if (found == jobs_.end() || found->second.job.uid() != of.job_uid() || !found->second.ready()) continue;
    CountBadRecords(&found->second, of.bad(), out);
  }
  return reply;
}

void CoordinatorState::AddToQuarantine(JobEntry* entry, const google::protobuf::RepeatedPtrField<v1::BadRecord>& bad,
                                       bool limited, Consequences* out) {
  v1::StoredBadRecords fresh;
  for (const v1::BadRecord& record : bad) {
    if (record.record() >= entry->frozen.records()) continue;
    std::optional<v1::BadRecord> added = entry->reported.Add(record);
    if (added.has_value()) *fresh.add_records() = *std::move(added);
  }
  if (fresh.records().empty()) return;
  fresh.set_job(entry->job.name());
  Change change;
  change.retry = true;
  *change.facts.emplace_back().mutable_add_bad_records() = fresh;
  change.end = [uid = entry->job.uid(), limited, fresh = std::move(fresh)](
                   CoordinatorState& state, Nanos, const absl::Status& stored, Effects*, Consequences* then) {
    JobEntry* const of = state.FindSubmission(fresh.job(), uid);
    if (!stored.ok() || of == nullptr) return;
    AddBadFiles(fresh, of, &then->events);
    for (const v1::BadRecord& record : fresh.records()) of->quarantine.Add(record);
    if (limited && of->ready()) state.FailIfTooManyAreBad(of, fresh.records(0), then);
  };
  out->changes.push_back(std::move(change));
}

void CoordinatorState::CountBadRecords(JobEntry* entry,
                                       const google::protobuf::RepeatedPtrField<v1::BadRecord>& reported,
                                       Consequences* out) {
  google::protobuf::RepeatedPtrField<v1::BadRecord> bad;
  for (const v1::BadRecord& record : reported) {
    // A decided record is counted by its decision.
    if (!entry->decisions.Contains(record.record())) *bad.Add() = record;
  }
  AddToQuarantine(entry, bad, true, out);
}

void CoordinatorState::QuarantineDecided(JobEntry* entry,
                                         const google::protobuf::RepeatedPtrField<v1::BadRecord>& decided,
                                         Consequences* out) {
  // Under FAIL, the first row of such a record ends the reader.
  AddToQuarantine(entry, decided, entry->job.spec().errors().policy() != v1::FAIL, out);
}

void CoordinatorState::FailIfTooManyAreBad(JobEntry* entry, const v1::BadRecord& example, Consequences* out) {
  const uint64_t records = entry->frozen.records();
  const float given = entry->job.spec().errors().max_bad_fraction();
  const double limit = given > 0 ? given : 0.01;
  const uint64_t all_bad = entry->quarantine.size();
  if (static_cast<double>(all_bad) <= limit * static_cast<double>(records)) return;
  uint64_t begin = 0;
  std::string place;
  entry->frozen.ForEach([&](const v1::Shard& shard) {
    if (example.record() < begin + shard.records()) {
      place = absl::StrCat("record ", NumberOf(example, begin), " of ", shard.root(), "/", shard.path());
      return false;
    }
    begin += shard.records();
    return true;
  });
  FailJob(entry,
          absl::StrCat(all_bad, " distinct records of ", records, " are bad (", entry->quarantine.Describe(),
                       "), among them ", place, ": more than errors.max_bad_fraction (", limit,
                       ") allows; penstock quarantine ", entry->job.name(),
                       " lists them; repair the data or raise the limit"),
          out);
}

absl::StatusOr<v1::QuarantineReply> CoordinatorState::GetQuarantine(const v1::QuarantineRequest& request) const {
  const auto found = jobs_.find(request.job());
  if (found == jobs_.end()) return NoSuchJob(request.job(), {});
  const JobEntry& entry = found->second;
  v1::QuarantineReply reply;
  reply.set_job(request.job());
  reply.set_bad_records(entry.quarantine.size());
  reply.set_records(entry.frozen.records());
  for (v1::ReasonCount& count : entry.quarantine.Reasons()) *reply.add_reasons() = std::move(count);
  uint64_t begin = 0;
  auto bad = entry.quarantine.listed().begin();
  entry.frozen.ForEach([&](const v1::Shard& shard) {
    const uint64_t end = begin + shard.records();
    for (; bad != entry.quarantine.listed().end() && bad->first < end; ++bad) {
      v1::QuarantineReply::Entry* out = reply.add_entries();
      out->set_root(shard.root());
      out->set_path(shard.path());
      out->set_record(NumberOf(bad->second, begin));
      if (bad->second.has_offset()) out->set_offset(bad->second.offset());
      out->set_reason(bad->second.reason());
      out->set_message(bad->second.message());
    }
    begin = end;
    return bad != entry.quarantine.listed().end();
  });
  reply.set_left_out(reply.bad_records() - static_cast<uint64_t>(reply.entries_size()));
  return reply;
}

}  // namespace penstock::coordinator
