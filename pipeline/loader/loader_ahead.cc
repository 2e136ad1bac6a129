// Reads records before their rows are made, as ReadAhead decides.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "pipeline/loader/loader_core.h"

namespace penstock::loader {

bool LoaderCore::LookAhead(Maker* maker) {
  const Work& work = maker->work;
  OpenedSession& session = *work.session;
  const LoadJob& job = *session.job;
  const bool low_latency = job.reader().HasLowLatency();
  bool hinted = false;
  for (const RowRequest& row : work.ahead) {
    const std::optional<uint64_t> record = maker_.RecordOf(job, session.id, row, &maker->context);
    if (!record.has_value()) continue;
    const ReadAhead::Way way = ReadAhead::WayOf(maker_.PlaceOf(job, *record), low_latency);
    hinted |= way != ReadAhead::Way::kNone;
    switch (way) {
      case ReadAhead::Way::kNone:
        break;
      case ReadAhead::Way::kHintDiskCache:
        maker_.HintDiskCache(job, *record);
        break;
      case ReadAhead::Way::kHintStorage:
      case ReadAhead::Way::kRead:  // the hint opens the shard; ReadRequested reads the record
        job.reader().WillRead(*record);
        break;
    }
  }
  if (ranges_ == nullptr || low_latency) return hinted;
  ReadAhead::Known known;
  const RowRequest& at = work.rows.front().task->request;
  known.at = {at.epoch, at.position};
  known.requested = work.requested;
  known.expected = work.expected;
  known.bytes = work.range_bytes;
  known.now = options_.clock->Now();
  ranges_->LookAhead(session.id, session.ahead.get(), known);
  return hinted;
}

void LoaderCore::PaceHints(const Work& work, bool hinted) {
  LookPace& pace = work.session->hints_pace;
  // With high latency, a hint opens the shard of a record.
  const bool useful =
      work.session->job->reader().HasLowLatency()
          ? std::any_of(work.rows.begin(), work.rows.end(),
                        [](const TakenRow& row) { return row.outcome.made.read_time >= ReadAhead::kSlowRead; })
          : hinted;
  if (useful) {
    pace.Began();
  } else if (!work.ahead.empty()) {
    pace.BeganNothing();
  }
}

void LoaderCore::ReadRequested(OpenedSession* session, MakerContext* context) {
  const ReadAhead::Turn turn(session->ahead.get());
  if (!turn.granted() || !session->ahead->BeginsReads()) return;
  int examined = 0, begun = 0;
  for (; examined < ReadAhead::kRowsAtOnce; ++examined) {
    std::unique_ptr<RowTask> row;
    {
      MutexLock lock(&mutex_);
      // If other sessions read the same rows, the session that makes a row fetches its record; the others find it.
      if (!slots_.has_free() || session->shares > 0) break;
      row = scheduler_.PickToLookFor(session->id);
      if (row == nullptr) break;
    }
    const std::optional<RowMaker::ToFetch> to_fetch = maker_.RecordToFetch(*session->job, row.get(), context);
    const uint64_t held = to_fetch.has_value() ? to_fetch->bytes + session->overhead : 0;
    std::optional<Fetching> fetching;
    {
      MutexLock lock(&mutex_);
      const uint64_t free = ReadAhead::BytesForRead(held, states_.wanted(), session->estimate);
      row->looked_for = row->held_bytes() > 0 || held == 0 || held > budget_.LargestTake(session->id);
      const bool begin = !row->looked_for && slots_.has_free() && budget_.Shortage(session->id, free) == 0;
      if (!begin) {
        const bool go_on = row->looked_for;
        scheduler_.PutBack(std::move(row));
        WakeForRows();
        if (!go_on) break;
        continue;
      }
      PS_CHECK(budget_.Take(session->id, held));
      fetching = FetchingOf(*session, *ParkToRead(session, std::move(row)), to_fetch->record, held);
    }
    ++begun;
    Fetch(*std::move(fetching));
  }
  session->ahead->EndReads(examined, begun);
}

}  // namespace penstock::loader
