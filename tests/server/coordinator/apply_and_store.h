// Events of a state whose store never fails.
#ifndef PENSTOCK_TESTS_SERVER_COORDINATOR_APPLY_AND_STORE_H_
#define PENSTOCK_TESTS_SERVER_COORDINATOR_APPLY_AND_STORE_H_

#include <iterator>
#include <utility>
#include <variant>
#include <vector>

#include "server/coordinator/state/coordinator_state.h"

namespace penstock::coordinator {

// Applies the event and ends its changes, and those that follow, as stored. Appends the facts in the order of storing.
// The result has the last reply, and no hints or changes.
inline Effects ApplyAndStore(CoordinatorState* state, const Event& event, std::vector<v1::StoreEvent>* facts) {
  Effects effects = state->Apply(event);
  std::vector<v1::StoreEvent> hints = std::exchange(effects.hints, {});
  std::vector<Change> changes = std::exchange(effects.changes, {});
  while (!hints.empty() || !changes.empty()) {
    facts->insert(facts->end(), hints.begin(), hints.end());
    hints.clear();
    for (Change& change : changes) facts->insert(facts->end(), change.facts.begin(), change.facts.end());
    for (Change& change : std::exchange(changes, {})) {
      Effects ended = state->End(event.now, std::move(change), absl::OkStatus());
      if (!std::holds_alternative<std::monostate>(ended.reply)) effects.reply = std::move(ended.reply);
      hints.insert(hints.end(), ended.hints.begin(), ended.hints.end());
      changes.insert(changes.end(), std::make_move_iterator(ended.changes.begin()),
                     std::make_move_iterator(ended.changes.end()));
    }
  }
  return effects;
}

}  // namespace penstock::coordinator

#endif  // PENSTOCK_TESTS_SERVER_COORDINATOR_APPLY_AND_STORE_H_
