#include "tests/support/fake_store.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::support {

absl::StatusOr<v1::StoredState> FakeStore::Load() {
  MutexLock lock(&mutex_);
  v1::StoredState state;
  state.set_revision(revision_);
  state.set_term(term_);
  state.set_commit_id(commit_id_);
  for (const auto& [name, job] : jobs_) *state.add_jobs() = job;
  for (const auto& [name, data] : pieces_) {
    v1::StoredPiece* piece = state.add_pieces();
    piece->set_name(name);
    piece->set_data(data);
  }
  for (const auto& [name, view] : views_) *state.add_views() = view;
  for (const auto& [name, worker] : workers_) *state.add_workers() = worker;
  for (const auto& [name, key] : ticket_keys_) *state.add_ticket_keys() = key;
  for (const auto& [name, revocation] : revocations_) *state.add_revocations() = revocation;
  for (const auto& [number, event] : history_.events()) *state.add_history() = event;
  for (const auto& [name, records] : bad_records_) {
    v1::StoredBadRecords* bad = state.add_bad_records();
    bad->set_job(name);
    for (const auto& [number, record] : records) *bad->add_records() = record;
  }
  for (const auto& [name, records] : decisions_) {
    v1::StoredDecisions* decisions = state.add_decisions();
    decisions->set_job(name);
    decisions->mutable_records()->Add(records.begin(), records.end());
  }
  return state;
}

void FakeStore::Write(const v1::StoreEvent& event) {
  switch (event.event_case()) {
    case v1::StoreEvent::kBeginTerm:
      term_ = event.begin_term();
      break;
    case v1::StoreEvent::kPutJob:
      jobs_[event.put_job().job().name()] = event.put_job();
      break;
    case v1::StoreEvent::kDeleteJob:
      jobs_.erase(event.delete_job());
      views_.erase(event.delete_job());
      bad_records_.erase(event.delete_job());
      decisions_.erase(event.delete_job());
      break;
    case v1::StoreEvent::kPutView:
      views_[event.put_view().job()] = event.put_view();
      break;
    case v1::StoreEvent::kPutWorker:
      workers_[event.put_worker().registration().id()] = event.put_worker();
      break;
    case v1::StoreEvent::kDeleteWorker:
      workers_.erase(event.delete_worker());
      break;
    case v1::StoreEvent::kAddBadRecords:
      for (const v1::BadRecord& record : event.add_bad_records().records()) {
        bad_records_[event.add_bad_records().job()].emplace(record.record(), record);
      }
      break;
    case v1::StoreEvent::kAddDecisions: {
      std::vector<v1::BadRecord>& decisions = decisions_[event.add_decisions().job()];
      decisions.resize(event.add_decisions().begin());
      decisions.insert(decisions.end(), event.add_decisions().records().begin(), event.add_decisions().records().end());
      break;
    }
    case v1::StoreEvent::kPutPiece:
      pieces_[event.put_piece().name()] = event.put_piece().data();
      break;
    case v1::StoreEvent::kPutTicketKey:
      ticket_keys_[event.put_ticket_key().name()] = event.put_ticket_key();
      break;
    case v1::StoreEvent::kDeleteTicketKey:
      ticket_keys_.erase(event.delete_ticket_key());
      break;
    case v1::StoreEvent::kPutRevocation:
      revocations_[event.put_revocation().name()] = event.put_revocation();
      break;
    case v1::StoreEvent::kDeleteRevocation:
      revocations_.erase(event.delete_revocation());
      break;
    case v1::StoreEvent::kAddHistory:
      history_.Add(event.add_history());
      break;
    case v1::StoreEvent::EVENT_NOT_SET:
      break;
  }
}

coordinator::CommitOutcome FakeStore::CommitNow(const coordinator::StoreCommit& commit) {
  ++commits_;
  if (!failure_.ok()) return {coordinator::CommitOutcome::kNotStored, failure_};
  if (commit.expected_revision != revision_) {
    return {coordinator::CommitOutcome::kSuperseded,
            absl::AbortedError(absl::StrCat("the revision is ", revision_, ", expected ", commit.expected_revision))};
  }
  const bool lost = std::exchange(lose_next_, false);
  const coordinator::CommitOutcome unknown = {coordinator::CommitOutcome::kUnknown,
                                              absl::UnavailableError("the store does not answer")};
  if (lost && !lost_is_stored_) return unknown;
  for (const auto& event : commit.events) {
    if (event->event_case() == v1::StoreEvent::EVENT_NOT_SET) {
      return {coordinator::CommitOutcome::kNotStored, absl::InternalError("an event without content")};
    }
  }
  last_commit_bytes_ = 0;
  for (const auto& event : commit.events) {
    Write(*event);
    last_commit_bytes_ += event->ByteSizeLong();
  }
  std::set<std::string> used;
  for (const auto& [name, job] : jobs_) used.insert(job.pieces().begin(), job.pieces().end());
  std::erase_if(pieces_, [&](const auto& piece) { return !used.contains(piece.first); });
  commit_id_ = commit.id;
  ++revision_;
  if (lost) return unknown;
  return {coordinator::CommitOutcome::kStored, absl::OkStatus()};
}

void FakeStore::Commit(coordinator::StoreCommit commit, Done done) {
  coordinator::CommitOutcome outcome;
  {
    MutexLock lock(&mutex_);
    outcome = CommitNow(commit);
  }
  Report(std::move(outcome), std::move(done));
}

void FakeStore::Settle(std::string id, uint64_t expected_revision, Done done) {
  coordinator::CommitOutcome outcome;
  {
    MutexLock lock(&mutex_);
    if (lost_settles_ > 0) {
      --lost_settles_;
      outcome = {coordinator::CommitOutcome::kUnknown, absl::UnavailableError("the store does not answer")};
    } else if (commit_id_ == id) {
      outcome = {coordinator::CommitOutcome::kStored, absl::OkStatus()};
    } else if (revision_ == expected_revision) {
      outcome = {coordinator::CommitOutcome::kNotStored, absl::UnavailableError("the commit was lost")};
    } else {
      outcome = {coordinator::CommitOutcome::kSuperseded,
                 absl::AbortedError(absl::StrCat("the revision is ", revision_, ", expected ", expected_revision))};
    }
  }
  Report(std::move(outcome), std::move(done));
}

void FakeStore::Report(coordinator::CommitOutcome outcome, Done done) {
  {
    MutexLock lock(&mutex_);
    if (held_) {
      outcomes_.emplace_back(std::move(outcome), std::move(done));
      return;
    }
  }
  std::move(done)(std::move(outcome));
}

void FakeStore::Hold(bool hold) {
  std::deque<std::pair<coordinator::CommitOutcome, Done>> outcomes;
  {
    MutexLock lock(&mutex_);
    held_ = hold;
    if (!hold) outcomes.swap(outcomes_);
  }
  for (auto& [outcome, done] : outcomes) std::move(done)(std::move(outcome));
}

void FakeStore::LoseNextOutcome(bool stored, int settles) {
  MutexLock lock(&mutex_);
  lose_next_ = true;
  lost_is_stored_ = stored;
  lost_settles_ = settles;
}

void FakeStore::Supersede() {
  MutexLock lock(&mutex_);
  ++revision_;
  commit_id_ = "another writer's";
}

size_t FakeStore::commits() const {
  MutexLock lock(&mutex_);
  return commits_;
}

size_t FakeStore::last_commit_bytes() const {
  MutexLock lock(&mutex_);
  return last_commit_bytes_;
}

void FakeStore::FailWith(absl::Status status) {
  MutexLock lock(&mutex_);
  failure_ = std::move(status);
}

}  // namespace penstock::support
