#include "pipeline/plan/view.h"

#include <algorithm>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace penstock::plan {

uint32_t View::RangeOf(uint64_t key) const {
  PS_CHECK(key < key_space);
  if (ranges.empty()) return kNobody;
  const auto next =
      std::upper_bound(ranges.begin(), ranges.end(), key, [](uint64_t k, const ViewRange& r) { return k < r.begin; });
  return static_cast<uint32_t>(next - ranges.begin()) - 1;
}

uint32_t View::OwnerOf(uint64_t key) const {
  const uint32_t range = RangeOf(key);
  return range == kNobody ? kNobody : ranges[range].owner;
}

uint32_t View::BackupOf(uint64_t key) const {
  const uint32_t range = RangeOf(key);
  return range == kNobody ? kNobody : ranges[range].backup;
}

uint32_t View::FindWorker(const std::string& id) const {
  for (size_t i = 0; i < workers.size(); ++i) {
    if (workers[i].id == id) return static_cast<uint32_t>(i);
  }
  return kNobody;
}

absl::Status View::Validate() const {
  const std::string name = absl::StrCat("view (", term, ", ", n, ")");
  if (policy > AssignPolicy::kByRank) {
    return absl::InvalidArgumentError(absl::StrCat(name, " has the unknown policy ", static_cast<int>(policy)));
  }
  if (policy == AssignPolicy::kByRank && key_space != kRankKeySpace) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has the policy BY_RANK and ", key_space, " keys; it must have ", kRankKeySpace));
  }
  std::unordered_set<std::string> ids;
  for (size_t i = 0; i < workers.size(); ++i) {
    if (workers[i].id.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": worker ", i, " has no id"));
    }
    if (!ids.insert(workers[i].id).second) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": worker id ", workers[i].id, " is there twice"));
    }
  }
  uint64_t expected = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const ViewRange& range = ranges[i];
    const std::string which = absl::StrCat(name, ": range ", i, " [", range.begin, ", ", range.end, ")");
    if (range.begin != expected || range.end <= range.begin || range.end > key_space) {
      return absl::InvalidArgumentError(
          absl::StrCat(which, " does not follow key ", expected, " inside a key space of ", key_space));
    }
    if (range.owner >= workers.size() || range.backup >= workers.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(which, " names worker ", std::max(range.owner, range.backup), " of ", workers.size()));
    }
    if (workers.size() > 1 && range.owner == range.backup) {
      return absl::InvalidArgumentError(
          absl::StrCat(which, " has worker ", workers[range.owner].id, " as owner and as its own backup"));
    }
    expected = range.end;
  }
  const uint64_t due = workers.empty() ? 0 : key_space;
  if (expected != due) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": the ranges cover ", expected, " of ", due, " keys with ", workers.size(), " workers"));
  }
  return absl::OkStatus();
}

}  // namespace penstock::plan
