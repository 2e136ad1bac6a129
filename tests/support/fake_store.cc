#include "tests/support/fake_store.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {

absl::StatusOr<v1::StoredState> FakeStore::Load() {
  MutexLock lock(&mutex_);
  v1::StoredState state;
  state.set_revision(revision_);
  state.set_term(term_);
  for (const auto& [name, job] : jobs_) *state.add_jobs() = job;
  for (const auto& [name, view] : views_) *state.add_views() = view;
  for (const auto& [name, worker] : workers_) *state.add_workers() = worker;
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

absl::StatusOr<uint64_t> FakeStore::Commit(const std::vector<v1::StoreEvent>& events, uint64_t expected_revision) {
  MutexLock lock(&mutex_);
  if (!failure_.ok()) return failure_;
  if (expected_revision != revision_) {
    return absl::AbortedError(absl::StrCat("the revision is ", revision_, ", expected ", expected_revision));
  }
  for (const v1::StoreEvent& event : events) {
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
        decisions.insert(decisions.end(), event.add_decisions().records().begin(),
                         event.add_decisions().records().end());
        break;
      }
      case v1::StoreEvent::EVENT_NOT_SET:
        return absl::InternalError("an event without content");
    }
  }
  return ++revision_;
}

void FakeStore::FailWith(absl::Status status) {
  MutexLock lock(&mutex_);
  failure_ = std::move(status);
}

}  // namespace penstock
