// Bad records: counting them, and what is told of them.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock {

void CoordinatorState::CountBadRecords(JobEntry* entry, const v1::ReportSessionRequest& request, Consequences* out) {
  const uint64_t records = entry->frozen.records();
  v1::StoredBadRecords fresh;
  for (const v1::BadRecord& record : request.bad_records()) {
    if (record.record() >= records) continue;
    std::optional<v1::BadRecord> added = entry->quarantine.Add(record);
    if (added.has_value()) *fresh.add_records() = *std::move(added);
  }
  if (fresh.records().empty()) return;
  fresh.set_job(entry->job.name());
  const uint64_t example = fresh.records(0).record();
  *out->facts.emplace_back().mutable_add_bad_records() = std::move(fresh);
  const float given = entry->job.spec().errors().max_bad_fraction();
  const double limit = given > 0 ? given : 0.01;
  const uint64_t bad = entry->quarantine.size();
  if (static_cast<double>(bad) <= limit * static_cast<double>(records)) return;
  uint64_t left = example;
  std::string place;
  entry->frozen.ForEach([&](const v1::Shard& shard) {
    if (left < shard.records()) {
      place = absl::StrCat("record ", left, " of ", shard.root(), "/", shard.path());
      return false;
    }
    left -= shard.records();
    return true;
  });
  StopJob(
      entry, v1::FAILED,
      absl::StrCat(bad, " distinct records of ", records, " are bad (", entry->quarantine.Describe(), "), among them ",
                   place, ": more than errors.max_bad_fraction (", limit, ") allows; penstock quarantine ",
                   entry->job.name(), " lists them; mend the data or raise the limit"),
      out);
}

absl::StatusOr<v1::QuarantineReply> CoordinatorState::GetQuarantine(const v1::QuarantineRequest& request) const {
  const auto found = jobs_.find(request.job());
  if (found == jobs_.end()) return NoSuchJob(request.job());
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
      out->set_record(bad->first - begin);
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

}  // namespace penstock
