#include "server/coordinator/explain/costly_dataset.h"

#include <cstdint>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/coordinator/explain/number_text.h"

namespace penstock::coordinator {
namespace {

constexpr double kNotable = 0.1;  // fraction of the workers' time

struct Sums {
  double rows = 0, seconds = 0;
};

std::string Milliseconds(const Sums& sums) {
  const double ms = sums.rows > 0 ? 1000 * sums.seconds / sums.rows : 0;
  return absl::StrFormat("%.*f ms", ms < 0.095 ? 3 : ms < 9.5 ? 1 : 0, ms);
}

}  // namespace

std::string CostlyDataset(const std::vector<std::string>& names, const std::vector<const WorkerInput*>& workers) {
  std::map<uint32_t, Sums> sets;
  Sums all;
  for (const WorkerInput* const worker : workers) {
    for (const DatasetTime& time : worker->datasets) {
      if (time.dataset >= names.size()) continue;
      Sums& set = sets[time.dataset];
      set.rows += time.rows;
      set.seconds += time.seconds;
      all.rows += time.rows;
      all.seconds += time.seconds;
    }
  }
  if (sets.size() < 2 || all.rows <= 0 || all.seconds <= 0) return "";
  const auto excess = [&](const Sums& set) { return set.seconds / all.seconds - set.rows / all.rows; };
  auto most = sets.begin();
  for (auto set = sets.begin(); set != sets.end(); ++set) {
    if (excess(set->second) > excess(most->second)) most = set;
  }
  if (excess(most->second) < kNotable) return "";
  const std::string& name = names[most->first];
  const auto other = most == sets.begin() ? std::next(most) : sets.begin();
  const Sums others = {all.rows - most->second.rows, all.seconds - most->second.seconds};
  return absl::StrCat("Rows of ", name, " take ", Milliseconds(most->second), ", those of ",
                      names.size() == 2 ? names[other->first] : "the other data sets", " ", Milliseconds(others), "; ",
                      name, " takes ", Percent(most->second.seconds / all.seconds), " of the workers' time at ",
                      Percent(most->second.rows / all.rows), " of the rows.");
}

}  // namespace penstock::coordinator
