// Which of a loader's makers run, are idle, or are surplus. Pure bookkeeping, without a lock or a thread.
//
//   idle ── Wake ──▶ running ── Idle ──▶ idle, or surplus if fewer makers are wanted by then
#ifndef PENSTOCK_PIPELINE_LOADER_MAKER_STATES_H_
#define PENSTOCK_PIPELINE_LOADER_MAKER_STATES_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "base/check.h"

namespace penstock::loader {

// Not thread-safe. Makers have the numbers 0 to `makers` - 1. All are wanted and idle at first.
class MakerStates {
 public:
  explicit MakerStates(int makers) : states_(static_cast<size_t>(makers), State::kIdle), wanted_(makers) {
    for (int maker = makers; maker-- > 0;) idle_.push_back(maker);
  }

  int running() const { return running_; }
  // Returns the idle makers.
  const std::vector<int>& idle() const { return idle_; }
  int wanted() const { return wanted_; }
  // Returns whether the maker has a number beyond those that are wanted.
  bool IsSurplus(int maker) const { return maker >= wanted_; }

  // Starts the maker that became idle last and returns it, or returns nullopt if none is idle. The CPU's caches may
  // still hold that maker's memory.
  std::optional<int> Wake() {
    if (idle_.empty()) return std::nullopt;
    const int maker = idle_.back();
    idle_.pop_back();
    Runs(maker);
    return maker;
  }
  // Ends the run of a maker that has nothing to do. Returns whether it is idle now; otherwise it is surplus.
  bool Idle(int maker) {
    State& state = StateOf(maker);
    PS_CHECK(state == State::kRunning);
    --running_;
    state = IsSurplus(maker) ? State::kSurplus : State::kIdle;
    if (state == State::kIdle) idle_.push_back(maker);
    return state == State::kIdle;
  }

  // Sets the number of wanted makers. Running makers check IsSurplus().
  struct Changed {
    std::vector<int> started;  // they were surplus and run now
    std::vector<int> stopped;  // they were idle and are surplus now
  };
  Changed SetWanted(int wanted) {
    Changed changed;
    wanted_ = wanted;
    std::erase_if(idle_, [this](int maker) { return IsSurplus(maker); });
    for (int maker = 0; maker < static_cast<int>(states_.size()); ++maker) {
      State& state = StateOf(maker);
      if (IsSurplus(maker)) {
        if (state != State::kIdle) continue;
        state = State::kSurplus;
        changed.stopped.push_back(maker);
      } else if (state == State::kSurplus) {
        Runs(maker);
        changed.started.push_back(maker);
      }
    }
    return changed;
  }

 private:
  enum class State { kIdle, kSurplus, kRunning };

  State& StateOf(int maker) { return states_[static_cast<size_t>(maker)]; }
  void Runs(int maker) {
    StateOf(maker) = State::kRunning;
    ++running_;
  }

  std::vector<State> states_;
  std::vector<int> idle_;
  int wanted_;
  int running_ = 0;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_MAKER_STATES_H_
