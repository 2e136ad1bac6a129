// Part of the delivery core: describes why the trainer waits.
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/delivery/delivery_tracker.h"

namespace penstock::client {
namespace {

constexpr size_t kShownRows = 8;
constexpr size_t kShownWorkers = 4;
constexpr uint32_t kOwners = kNoWorker - 1;

// Returns the first few names and the number of the others.
std::string Some(const std::vector<std::string>& names) {
  if (names.size() <= kShownWorkers) return absl::StrJoin(names, ", ");
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + kShownWorkers, ", "), " and ",
                      names.size() - kShownWorkers, " more");
}

}  // namespace

std::string FirstClause(const std::string& text) { return text.substr(0, text.find("; ")); }

std::string DeliveryTracker::RowError() const {
  if (row_errors_.empty()) return "";
  const auto& [worker, error] = *row_errors_.begin();
  return absl::StrCat("worker ", worker == kNoWorker ? "(gone)" : workers_[worker].name, ": ",
                      FirstClause(std::string(error.message())));
}

DeliveryTracker::Cause DeliveryTracker::MissingCause() const {
  if (booked_.empty()) {
    if (view_ == nullptr || view_->ranges.empty()) return {"no worker is live", true};
    return {"no step is requested yet", false};
  }
  const BookedStep& head = booked_.front();
  std::map<uint32_t, uint64_t> owed;
  for (uint64_t row = 0; row < head.rows.size(); ++row) {
    if (head.rows[row] != BookedStep::Row::kMissing && head.rows[row] != BookedStep::Row::kClaimed) continue;
    ++owed[head.asks.empty() ? kOwners : head.asks[row].worker];
  }
  uint32_t most = kOwners;
  uint64_t rows = 0;
  for (const auto& [worker, count] : owed) {
    if (count > rows) std::tie(most, rows) = std::make_pair(worker, count);
  }
  if (const std::vector<uint64_t> damaged = UndecidedOfHead(); most == kNoWorker && !damaged.empty()) {
    return {absl::StrCat("every reachable copy of record ", damaged[0], " is damaged, ", DecisionWait(damaged[0])),
            true};
  }
  if (most == kNoWorker) {
    for (const uint32_t i : workers_.in_view()) {
      if (!workers_[i].last_error.ok()) most = i;
    }
  }
  if (most == kNoWorker) return {"no live worker can serve the missing rows", false};
  if (most == kOwners) return {absl::StrCat(rows, " of ", head.rows.size(), " rows are missing"), false};
  const TrackedWorker& worker = workers_[most];
  const std::string name = absl::StrCat("worker ", worker.name, " at ", worker.address);
  if (!worker.last_error.ok()) {
    return {absl::StrCat(name, ": ", FirstClause(std::string(worker.last_error.message()))), false};
  }
  if (worker.suspect) return {name + " is silent", false};
  if (worker.slow) return {name + " is slower than the others", false};
  return {absl::StrCat(rows, " of ", head.rows.size(), " rows are missing from ", name), false};
}

std::string DeliveryTracker::DescribeMissing() const {
  if (booked_.empty()) {
    if (view_ == nullptr || view_->ranges.empty()) return "no worker is live";
    return "no row is requested yet";
  }
  const BookedStep& head = booked_.front();
  // For each worker: the number of rows, and the first of them.
  struct Rows {
    uint64_t count = 0;
    std::vector<uint64_t> first;
  };
  std::map<uint32_t, Rows> rows;
  for (uint64_t row = 0; row < head.rows.size(); ++row) {
    if (head.rows[row] != BookedStep::Row::kMissing && head.rows[row] != BookedStep::Row::kClaimed) continue;
    Rows& of = rows[head.asks.empty() ? kOwners : head.asks[row].worker];
    if (++of.count <= kShownRows) of.first.push_back(head.RowNumber(row));
  }
  std::string text = absl::StrCat("the step at epoch ", head.span.epoch, ", position ", head.span.begin, " lacks ",
                                  head.unfinished, " of ", head.rows.size(), " rows:");
  for (const auto& [worker, of] : rows) {
    absl::StrAppend(&text, " ", of.count, of.count == 1 ? " row (" : " rows (", absl::StrJoin(of.first, ", "),
                    of.count > kShownRows ? ", ..." : "", ")");
    if (worker == kNoWorker) {
      absl::StrAppend(&text, " that no live worker can serve;");
    } else if (worker == kOwners) {
      absl::StrAppend(&text, " granted to their owners;");
    } else {
      absl::StrAppend(&text, " requested from worker ", workers_[worker].name, " at ", workers_[worker].address, ";");
    }
  }
  text.pop_back();
  // Report the workers' errors, and group equal ones.
  std::map<std::string, std::vector<std::string>> said;
  for (const auto& [worker, error] : row_errors_) {
    said[std::string(error.message())].push_back(worker == kNoWorker ? "(gone)" : workers_[worker].name);
  }
  for (const auto& [message, names] : said) {
    absl::StrAppend(&text, "; worker", names.size() == 1 ? " " : "s ", Some(names), ": ", message);
  }
  if (!said.empty()) {
    absl::StrAppend(
        &text, "; this client requests such rows from each worker in turn, and from all of them again each second");
  }
  absl::StrAppend(&text, DescribeDamaged());
  for (const uint32_t i : workers_.in_view()) {
    const TrackedWorker& worker = workers_[i];
    const std::string name = absl::StrCat("worker ", worker.name, " at ", worker.address);
    if (!worker.last_error.ok()) {
      absl::StrAppend(&text, "; ", name, ": ", worker.last_error.ToString());
    } else if (worker.suspect) {
      absl::StrAppend(&text, "; ", name, " is silent");
    } else if (worker.slow) {
      absl::StrAppend(&text, "; ", name, " is far slower than others, so this client requests its rows from them");
    }
  }
  return text;
}

}  // namespace penstock::client
