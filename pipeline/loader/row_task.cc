#include "pipeline/loader/row_task.h"

#include <initializer_list>

#include "base/check.h"

namespace penstock::loader {
namespace {

constexpr unsigned Bit(RowState state) { return 1u << static_cast<unsigned>(state); }

constexpr unsigned Bits(std::initializer_list<RowState> states) {
  unsigned bits = 0;
  for (const RowState state : states) bits |= Bit(state);
  return bits;
}

// The states that may follow a state.
constexpr unsigned FollowersOf(RowState state) {
  using enum RowState;
  switch (state) {
    case kQueued:
    case kAwaitsMemory:
      return Bits({kMaking, kAwaitsSession, kReading});
    case kAwaitsSession:
    case kAwaitsShard:
    case kAwaitsReadSlot:
      return Bits({kQueued});
    case kReading:
      return Bits({kQueued, kAwaitsShard});
    case kMaking:
      return Bits({kAwaitsMemory, kAwaitsShard, kAwaitsReadSlot, kReading, kDone});
    case kDone:
      return 0;
  }
  return 0;
}

}  // namespace

std::string_view NameOf(RowState state) {
  using enum RowState;
  switch (state) {
    case kQueued:
      return "queued";
    case kAwaitsMemory:
      return "waits for memory";
    case kAwaitsSession:
      return "waits for another session";
    case kAwaitsShard:
      return "waits for its shard";
    case kAwaitsReadSlot:
      return "waits for another read";
    case kReading:
      return "reading";
    case kMaking:
      return "making";
    case kDone:
      return "done";
  }
  return "?";
}

bool MayMove(RowState from, RowState to) { return (FollowersOf(from) & Bit(to)) != 0; }

void RowTask::MoveTo(RowState next) {
  PS_CHECK(MayMove(state_, next));
  state_ = next;
}

}  // namespace penstock::loader
