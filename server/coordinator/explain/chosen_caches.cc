#include "server/coordinator/explain/chosen_caches.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/coordinator/explain/number_text.h"

namespace penstock::coordinator {
namespace {

void AddSize(const CacheInput& cache, absl::string_view name, std::vector<std::string>* sizes) {
  if (!cache.chosen) return;
  sizes->push_back(cache.limit == 0 ? absl::StrCat("no ", name)
                                    : absl::StrCat(Bytes(static_cast<double>(cache.limit)), " for ", name, " (",
                                                   Bytes(static_cast<double>(cache.bytes)), " held)"));
}

// Returns why less than `needed` bytes are cached, or "" if all are, or are about to be.
std::string WhyNotAll(const CacheInput& cache, double needed, double budget, absl::string_view name) {
  const auto limit = static_cast<double>(cache.limit);
  if (!cache.chosen || needed <= 0 || limit >= needed) return "";
  if (needed > RoomForCaches(budget)) {
    return absl::StrCat(" All ", name, " of its part take about ", Bytes(needed), ", more than its memory budget of ",
                        Bytes(budget), " allows.");
  }
  return absl::StrCat(" All ", name, " of its part, about ", Bytes(needed),
                      ", would fit. It keeps them when it knows that they are read again, and has measured that "
                      "this gives more rows.");
}

}  // namespace

std::string ChosenCaches(const WorkerInput& worker, bool decoded, bool records) {
  std::vector<std::string> sizes;
  AddSize(worker.decoded, "decoded images", &sizes);
  AddSize(worker.rows, "finished rows", &sizes);
  AddSize(worker.records, "records", &sizes);
  if (sizes.empty()) return "";
  std::string said =
      absl::StrCat("Worker ", NameOf(worker), " chooses the sizes of its caches: ", absl::StrJoin(sizes, ", "), ".");
  const auto budget = static_cast<double>(worker.memory_budget);
  if (decoded) absl::StrAppend(&said, WhyNotAll(worker.decoded, kDecodedBytes * worker.owned_bytes, budget, "images"));
  if (records) absl::StrAppend(&said, WhyNotAll(worker.records, worker.owned_bytes, budget, "records"));
  return said;
}

}  // namespace penstock::coordinator
