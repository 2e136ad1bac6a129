// Commits of facts in tests.
#ifndef PENSTOCK_TESTS_SUPPORT_COMMIT_FACTS_H_
#define PENSTOCK_TESTS_SUPPORT_COMMIT_FACTS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/coordinator/store/store.h"

namespace penstock::support {

// Returns a commit of copies of the facts. Its id follows from the expected revision.
inline coordinator::StoreCommit CommitOf(const std::vector<v1::StoreEvent>& facts, uint64_t expected_revision) {
  coordinator::StoreCommit commit{absl::StrCat("commit ", expected_revision + 1), expected_revision, {}};
  for (const v1::StoreEvent& fact : facts) commit.events.push_back(std::make_shared<const v1::StoreEvent>(fact));
  return commit;
}

inline coordinator::CommitOutcome CommitAndWait(coordinator::Store* store, const coordinator::StoreCommit& commit) {
  return coordinator::WaitForOutcome([&](coordinator::Store::Done done) { store->Commit(commit, std::move(done)); });
}

inline coordinator::CommitOutcome SettleAndWait(coordinator::Store* store, const std::string& id,
                                                uint64_t expected_revision) {
  return coordinator::WaitForOutcome(
      [&](coordinator::Store::Done done) { store->Settle(id, expected_revision, std::move(done)); });
}

// Commits the facts and waits for the outcome.
inline coordinator::CommitOutcome CommitFacts(coordinator::Store* store, const std::vector<v1::StoreEvent>& facts,
                                              uint64_t expected_revision) {
  return CommitAndWait(store, CommitOf(facts, expected_revision));
}

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_COMMIT_FACTS_H_
