// The delivery core in words: why the trainer waits.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/delivery/delivery_tracker.h"

namespace penstock {
namespace {

constexpr size_t kShownRows = 8;
constexpr size_t kShownWorkers = 4;
constexpr uint32_t kOwners = kNoWorker - 1;

// The first few of a list, and how many more there are.
std::string Some(const std::vector<std::string>& names) {
  if (names.size() <= kShownWorkers) return absl::StrJoin(names, ", ");
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + kShownWorkers, ", "), " and ",
                      names.size() - kShownWorkers, " more");
}

}  // namespace

std::string DeliveryTracker::DescribeMissing() const {
  if (booked_.empty()) {
    if (view_ == nullptr || view_->ranges.empty()) return "no worker is live";
    return "nothing is asked for yet";
  }
  const BookedStep& head = booked_.front();
  // Per worker: how many rows, and the first of them.
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
      absl::StrAppend(&text, " that nobody can be asked for now;");
    } else if (worker == kOwners) {
      absl::StrAppend(&text, " granted to their owners;");
    } else {
      absl::StrAppend(&text, " asked of worker ", workers_[worker].id, " at ", workers_[worker].address, ";");
    }
  }
  text.pop_back();
  // What workers say of rows, those that say the same together.
  std::map<std::string, std::vector<std::string>> said;
  for (const auto& [worker, error] : row_errors_) {
    said[std::string(error.message())].push_back(worker == kNoWorker ? "(gone)" : workers_[worker].id);
  }
  for (const auto& [message, names] : said) {
    absl::StrAppend(&text, "; worker", names.size() == 1 ? " " : "s ", Some(names), ": ", message);
  }
  if (!said.empty()) {
    absl::StrAppend(&text, "; such rows are asked of every worker in turn, and of all again each second");
  }
  for (const uint32_t i : workers_.in_view()) {
    const TrackedWorker& worker = workers_[i];
    const std::string name = absl::StrCat("worker ", worker.id, " at ", worker.address);
    if (!worker.last_error.ok()) {
      absl::StrAppend(&text, "; ", name, ": ", worker.last_error.ToString());
    } else if (worker.suspect) {
      absl::StrAppend(&text, "; ", name, " is silent");
    } else if (worker.slow) {
      absl::StrAppend(&text, "; ", name, " is far slower than others, who are asked for its rows");
    }
  }
  return text;
}

}  // namespace penstock
