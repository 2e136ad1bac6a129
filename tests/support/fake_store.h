// A store in memory, for tests of its users. A test chooses the outcomes of commits.
#ifndef PENSTOCK_TESTS_SUPPORT_FAKE_STORE_H_
#define PENSTOCK_TESTS_SUPPORT_FAKE_STORE_H_

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "server/coordinator/history_list.h"
#include "server/coordinator/store/store.h"

namespace penstock::support {

// Reports outcomes inside the call, unless they are held. Thread-safe, so that a test may fail it while it is used.
class FakeStore final : public coordinator::Store {
 public:
  absl::StatusOr<v1::StoredState> Load() override;
  void Commit(coordinator::StoreCommit commit, Done done) override;
  void Settle(std::string id, uint64_t expected_revision, Done done) override;

  // Makes later commits fail with this error and store nothing. With OK, later commits succeed.
  void FailWith(absl::Status status);
  // Stores the next commit or not, and reports its outcome as unknown. The next `settles` calls of Settle() also
  // report an unknown outcome.
  void LoseNextOutcome(bool stored, int settles = 0);
  // Changes the revision and the commit id, as a commit of another writer does. Changes no other state.
  void Supersede();
  // While held, commits take effect, but the outcomes of Commit() and Settle() are reported only when the hold ends.
  void Hold(bool hold);

  // Commits that the store received, failed ones included.
  size_t commits() const;
  // Bytes of the facts of the last stored commit.
  size_t last_commit_bytes() const;

 private:
  void Write(const v1::StoreEvent& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  coordinator::CommitOutcome CommitNow(const coordinator::StoreCommit& commit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Report(coordinator::CommitOutcome outcome, Done done);

  mutable Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  bool lose_next_ ABSL_GUARDED_BY(mutex_) = false;
  bool lost_is_stored_ ABSL_GUARDED_BY(mutex_) = false;
  int lost_settles_ ABSL_GUARDED_BY(mutex_) = 0;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::pair<coordinator::CommitOutcome, Done>> outcomes_ ABSL_GUARDED_BY(mutex_);  // held ones
  size_t commits_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t last_commit_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t revision_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string commit_id_ ABSL_GUARDED_BY(mutex_);
  uint64_t term_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, v1::StoredJob> jobs_ ABSL_GUARDED_BY(mutex_);
  coordinator::HistoryList history_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, v1::StoredTicketKey> ticket_keys_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, v1::Revocation> revocations_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> pieces_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, v1::StoredView> views_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, v1::StoredWorker> workers_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::map<uint64_t, v1::BadRecord>> bad_records_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<v1::BadRecord>> decisions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_FAKE_STORE_H_
