#include "server/coordinator/explain/fleet_use.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace penstock::coordinator {
namespace {

constexpr double kMostOfTheWaiting = 0.6;
constexpr double kSlow = 0.6;  // fraction of the median rate of the others

double PerThread(const WorkerInput& worker) { return worker.capacity / std::max<uint32_t>(worker.threads, 1); }

}  // namespace

std::string FleetUse::Name() const {
  if (workers.size() == 1) return absl::StrCat("worker ", NameOf(*workers[0]));
  return absl::StrCat("the ", workers.size(), " workers");
}

FleetUse UseOf(const std::vector<const WorkerInput*>& workers, const std::map<std::string, double>& weights) {
  FleetUse use;
  double known = 0, rows = 0;
  for (const WorkerInput* worker : workers) {
    if (worker->seconds <= 0) continue;
    use.workers.push_back(worker);
    const auto weight = weights.find(worker->id);
    known += weight == weights.end() ? 0 : weight->second;
    rows += worker->rows_per_second;
  }
  if (use.workers.empty()) return use;
  use.cpu = 0;
  use.shared_memory = use.finds_reads = true;
  for (const WorkerInput* worker : use.workers) {
    const auto named = weights.find(worker->id);
    const double weight = known > 0  ? (named == weights.end() ? 0 : named->second) / known
                          : rows > 0 ? worker->rows_per_second / rows
                                     : 1.0 / static_cast<double>(use.workers.size());
    use.computing += weight * worker->computing;
    use.reading += weight * (worker->reading + worker->storage);
    use.memory += weight * worker->memory;
    use.unrequested += weight * worker->unrequested;
    use.held += weight * worker->held;
    use.others += weight * worker->others;
    use.blocked += weight * worker->blocked;
    use.cpu += weight * worker->cpu;
    use.read_ms += weight * worker->read_ms;
    use.threads += worker->threads;
    use.capacity += worker->capacity;
    use.sent_per_second += worker->sent_per_second;
    use.background_reads = use.background_reads || worker->background_reads;
    use.shared_memory = use.shared_memory && worker->shared_memory;
    use.finds_reads = use.finds_reads && worker->finds_reads;
  }
  return use;
}

const WorkerInput* Straggler(const ExplainInput& input, const SessionInput& trainer) {
  const auto serves = [](const WorkerInput& worker) { return worker.live && worker.seconds > 0; };
  const auto serving = std::count_if(input.workers.begin(), input.workers.end(), serves);
  if (serving < 2) return nullptr;
  for (const WorkerInput& worker : input.workers) {
    const auto waited = trainer.waited_on.find(worker.id);
    if (!serves(worker) || waited == trainer.waited_on.end()) continue;
    if (waited->second >= std::max(kMostOfTheWaiting, 1.2 / static_cast<double>(serving))) return &worker;
  }
  return nullptr;
}

bool IsSlow(const ExplainInput& input, const WorkerInput& worker) {
  std::vector<double> rates;
  for (const WorkerInput& other : input.workers) {
    if (other.live && other.id != worker.id && other.capacity > 0) rates.push_back(PerThread(other));
  }
  if (rates.empty() || worker.capacity <= 0) return false;
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return PerThread(worker) < kSlow * *middle;
}

}  // namespace penstock::coordinator
