// The coordinator's state that survives restarts.
#ifndef PENSTOCK_SERVER_COORDINATOR_STORE_STORE_H_
#define PENSTOCK_SERVER_COORDINATOR_STORE_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/v1/store.pb.h"

namespace penstock::coordinator {

// A list of facts to store, all or none. The facts are shared, so that a failed commit can be repeated without a copy.
struct StoreCommit {
  // Names the commit. The store keeps the id of the last commit, in the same transaction as the facts. Not empty, and
  // never used before.
  std::string id;
  uint64_t expected_revision = 0;  // the stored revision before the commit
  std::vector<std::shared_ptr<const v1::StoreEvent>> events;
};

struct CommitOutcome {
  enum Kind {
    kStored,      // all facts are stored and survive a crash of the machine; the revision is expected_revision + 1
    kNotStored,   // no fact is stored, now or later; the caller may repeat the commit
    kUnknown,     // the facts may be stored; the caller must call Settle before the next commit
    kSuperseded,  // another writer has changed the store, and the caller must not write again
  };
  Kind kind = kNotStored;
  absl::Status why;  // why the facts are not stored, or may not be; OK if they are stored
};

// Thread-safe. Has one writer, which begins an operation after the previous one has ended.
class Store {
 public:
  // Called once, on any thread, perhaps before the call that starts the operation returns. Must not block. Dropped if
  // the store stops first.
  using Done = absl::AnyInvocable<void(CommitOutcome) &&>;

  virtual ~Store() = default;

  // Returns all stored facts. Jobs, views, workers and bad records are each ordered by name. Blocks. Call it before the
  // first commit.
  virtual absl::StatusOr<v1::StoredState> Load() = 0;

  // Stores the facts of the commit. Does not block.
  virtual void Commit(StoreCommit commit, Done done) = 0;

  // Reports the outcome of the last commit, which has this id and whose outcome was unknown. Does not block.
  //   kStored      it is the last commit of the store
  //   kNotStored   the stored revision is `expected_revision`; the commit will not be stored later either
  //   kUnknown     the store cannot be read or written now; call Settle again
  //   kSuperseded  the store has a later commit of another writer; whether this one was stored before is unknown
  virtual void Settle(std::string id, uint64_t expected_revision, Done done) = 0;
};

// Calls `begin`, which begins an operation, and waits for its outcome. Blocks, so only the start of a coordinator and
// tests use it. The store must not need the calling thread.
CommitOutcome WaitForOutcome(absl::FunctionRef<void(Store::Done)> begin);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STORE_STORE_H_
