#include "net/view_delta.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock::net {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// Adds one copied element: extends the last run if it ends at `from`, otherwise starts a new run.
template <typename Pieces>
void AddCopy(uint32_t from, Pieces* pieces) {
  if (!pieces->empty()) {
    auto& last = *pieces->rbegin();
    if (last.count() > 0 && last.from() + last.count() == from) {
      last.set_count(last.count() + 1);
      return;
    }
  }
  auto* piece = pieces->Add();
  piece->set_from(from);
  piece->set_count(1);
}

// Validates runs of copied elements: each element is copied at most once.
class Copied {
 public:
  explicit Copied(int size) : taken_(static_cast<size_t>(size), false) {}

  absl::Status Take(const char* what, uint32_t from, uint32_t count) {
    if (from > taken_.size() || count > taken_.size() - from) {
      return absl::InvalidArgumentError(absl::StrCat("view delta: ", what, "s ", from, " to ", uint64_t{from} + count,
                                                     " of a view that has ", taken_.size()));
    }
    for (uint32_t i = from; i < from + count; ++i) {
      if (taken_[i]) return absl::InvalidArgumentError(absl::StrCat("view delta: ", what, " ", i, " is copied twice"));
      taken_[i] = true;
    }
    return absl::OkStatus();
  }

 private:
  std::vector<bool> taken_;
};

uint32_t At(const std::vector<uint32_t>& indices, uint32_t i) { return i < indices.size() ? indices[i] : kNone; }

}  // namespace

v1::ViewDelta DeltaBetween(const v1::View& before, const v1::View& after) {
  v1::ViewDelta delta;
  delta.set_base_term(before.term());
  delta.set_base_number(before.number());
  delta.set_term(after.term());
  delta.set_number(after.number());
  delta.set_policy(after.policy());
  delta.set_key_space(after.key_space());

  // id, addresses and names
  using Name = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  const auto name = [](const v1::View::Worker& worker) {
    return Name(worker.id(), worker.address(), worker.local(), worker.name(), worker.tls_name());
  };
  std::map<Name, uint32_t> known;  // -> index in `before`
  for (int i = 0; i < before.workers_size(); ++i) {
    known[name(before.workers(i))] = static_cast<uint32_t>(i);
  }
  std::vector<uint32_t> now_at(static_cast<size_t>(before.workers_size()), kNone);  // index in before -> in after
  for (int i = 0; i < after.workers_size(); ++i) {
    const auto found = known.find(name(after.workers(i)));
    if (found == known.end() || now_at[found->second] != kNone) {
      *delta.add_workers()->mutable_added() = after.workers(i);
    } else {
      now_at[found->second] = static_cast<uint32_t>(i);
      AddCopy(found->second, delta.mutable_workers());
    }
  }

  // Both lists are sorted by key.
  int old = 0;
  for (const v1::View::Range& range : after.ranges()) {
    while (old < before.ranges_size() && before.ranges(old).begin() < range.begin()) ++old;
    if (old < before.ranges_size()) {
      const v1::View::Range& same = before.ranges(old);
      if (same.begin() == range.begin() && same.end() == range.end() && At(now_at, same.owner()) == range.owner() &&
          At(now_at, same.backup()) == range.backup()) {
        AddCopy(static_cast<uint32_t>(old++), delta.mutable_ranges());
        continue;
      }
    }
    *delta.add_ranges()->mutable_added() = range;
  }
  return delta;
}

absl::StatusOr<v1::View> ApplyDelta(const v1::View& before, const v1::ViewDelta& delta) {
  if (before.term() != delta.base_term() || before.number() != delta.base_number()) {
    return absl::FailedPreconditionError(absl::StrCat("view delta: it starts from view ", delta.base_term(), ".",
                                                      delta.base_number(), ", not from ", before.term(), ".",
                                                      before.number()));
  }
  v1::View after;
  after.set_term(delta.term());
  after.set_number(delta.number());
  after.set_policy(delta.policy());
  after.set_key_space(delta.key_space());

  std::vector<uint32_t> now_at(static_cast<size_t>(before.workers_size()), kNone);
  Copied workers(before.workers_size());
  for (const v1::ViewDelta::WorkerPiece& piece : delta.workers()) {
    if (piece.count() == 0) {
      *after.add_workers() = piece.added();
      continue;
    }
    if (absl::Status s = workers.Take("worker", piece.from(), piece.count()); !s.ok()) return s;
    for (uint32_t i = piece.from(); i < piece.from() + piece.count(); ++i) {
      now_at[i] = static_cast<uint32_t>(after.workers_size());
      *after.add_workers() = before.workers(static_cast<int>(i));
    }
  }

  Copied ranges(before.ranges_size());
  for (const v1::ViewDelta::RangePiece& piece : delta.ranges()) {
    if (piece.count() == 0) {
      *after.add_ranges() = piece.added();
      continue;
    }
    if (absl::Status s = ranges.Take("range", piece.from(), piece.count()); !s.ok()) return s;
    for (uint32_t i = piece.from(); i < piece.from() + piece.count(); ++i) {
      v1::View::Range range = before.ranges(static_cast<int>(i));
      const uint32_t owner = At(now_at, range.owner()), backup = At(now_at, range.backup());
      if (owner == kNone || backup == kNone) {
        return absl::InvalidArgumentError(absl::StrCat("view delta: range ", i, " is of a worker that has gone"));
      }
      range.set_owner(owner);
      range.set_backup(backup);
      *after.add_ranges() = range;
    }
  }
  return after;
}

}  // namespace penstock::net
