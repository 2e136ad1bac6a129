#include "server/coordinator/explain/gains.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/coordinator/explain/chosen_caches.h"
#include "server/coordinator/explain/number_text.h"
#include "server/coordinator/explain/shares.h"

namespace penstock::coordinator {
namespace {

// Fractions of the decoding time that a change saves (docs/explain.md has the measurements).
constexpr double kByDecodedCache = 0.65;
constexpr double kByRestartIndex = 0.19;
constexpr double kByHalfThePixels = 0.45;
constexpr double kLeastGain = 1.03;
constexpr double kHeavyOp = 0.2;
// Fraction of the budget; rows need the rest.
constexpr double kMostOfBudget = 0.8;
// With more requests per row than this, records are fetched one by one.
constexpr double kOneByOne = 0.5;
// Fraction of the budget that ranges of records always have. Windows of fewer chunks than kLeastWindowChunks shuffle
// too little to be recommended.
constexpr double kRangesPartOfBudget = 0.25, kLeastWindowChunks = 8;
// A recommended budget has this margin, because the means that it is based on may be off.
constexpr double kRoomInBudget = 1.1;

double Without(double part) { return 1 / std::max(0.05, 1 - part); }

class Gains {
 public:
  Gains(const ExplainInput& input, const FleetUse& use, double demand, v1::Explanation* out)
      : input_(input), use_(use), demand_(demand), out_(out) {}

  void Cpu() {
    OneMoreWorker();
    const double part = use_.computing / std::max(use_.computing + use_.reading, 1e-9);
    const double decode = part * WorkerShare(*out_, "decode");
    if (use_.cpu < kShortOfCpu) {
      Add("a CPU for each thread of the workers, without other programs", 1 / std::max(use_.cpu, 0.05));
    }
    if (input_.decodes) {
      DecodedCache(decode);
      if (input_.crops) {
        Add("JPEG shards with a restart index, where they have none (`penstock import`)",
            Without(kByRestartIndex * decode));
      }
      Add("images stored with half the pixels (`penstock import --longer-side`)", Without(kByHalfThePixels * decode));
    }
    for (const v1::Explanation::Share& share : out_->shares()) {
      const bool fixed = share.stage() == "read" || share.stage() == "parse" || share.stage() == "decode" ||
                         share.stage() == "resize" || share.stage() == "send" || share.stage() == "other";
      const double own = part * WorkerShare(*out_, share.stage());
      if (!share.client() && !fixed && own >= kHeavyOp) Add(absl::StrCat("without ", share.stage()), Without(own));
    }
  }

  void Storage() {
    if (use_.finds_reads) {
      // The worker has already tried more concurrent reads.
    } else if (!use_.background_reads) {
      Add("--read-threads 64 at the workers, so that reads do not hold the threads that make rows",
          Without(use_.reading));
    } else {
      Add("more --read-threads at the workers, as long as storage keeps up", 0);
    }
    double owned = 0, budget = 0;
    bool chosen = true;
    for (const WorkerInput* worker : use_.workers) {
      owned = std::max(owned, worker->owned_bytes);
      budget = std::max(budget, static_cast<double>(worker->memory_budget));
      chosen = chosen && worker->records.chosen;
    }
    if (chosen) {
      // The cache keeps records that fit as soon as they are read again.
      LargerBudget(owned, budget, "records", 1, use_.reading);
    } else if (owned > 0) {
      Add(absl::StrCat("record_cache_bytes of ", Bytes(owned), " at each worker",
                       owned > kMostOfBudget * budget ? " (with a memory budget beyond that)" : "",
                       ", enough for its records: from the second epoch on"),
          Without(use_.reading));
    }
    Add("--disk-cache DIR at the workers, on local disks with room for its records: from the second epoch on",
        Without(use_.reading));
    WindowThatFits();
    OneMoreWorker();
  }

  void Memory() {
    double budget = 0;
    bool chosen = true;
    for (const WorkerInput* worker : use_.workers) {
      budget = std::max(budget, static_cast<double>(worker->memory_budget));
      chosen = chosen && worker->records.chosen;
    }
    // Chosen caches release memory that rows lack, but not the memory that they begin with.
    Add(absl::StrCat("a larger memory_budget_bytes (now ", Bytes(budget), ") or ",
                     chosen ? "--record-cache 0 (its default is a quarter of the budget)" : "smaller caches inside it"),
        Without(use_.memory));
    OneMoreWorker();
  }

  void Network() {
    if (input_.floats) Add("uint8 rows, cast and normalized by the trainer: a quarter of float32's bytes", 4);
    Add("more workers on other hosts, if it is the workers' links that are full", 0);
    Add("a faster link", 0);
  }

  void SharedMemory(const SessionInput& trainer) {
    Add("CPUs for the trainer's process: fewer --threads of workers on its host, or no other programs there", 0);
    Add(absl::StrCat("more copy_threads of the reader (now ", trainer.copy_threads, ")"), 0);
  }

  void Window(const SessionInput& trainer) {
    const double more = Without(use_.unrequested);
    Add(absl::StrCat("prefetch_steps of ", static_cast<int>(std::ceil(more * trainer.window_steps)), " (now ",
                     trainer.window_steps, "), with prefetch_bytes to match"),
        more);
  }

  void Copying(const SessionInput& trainer) {
    Add(absl::StrCat("more copy_threads of the reader (now ", trainer.copy_threads, ")"),
        trainer.copy_threads == 0 ? 0 : (trainer.copy_threads + 1.0) / trainer.copy_threads);
  }

  void Slow() { Add("that worker as fast as the others, or drained (`penstock drain`)", 0); }

  void Finish() {
    std::stable_sort(gains_.begin(), gains_.end(), [](const auto& a, const auto& b) { return a.times() > b.times(); });
    for (v1::Explanation::Gain& gain : gains_) *out_->add_gains() = std::move(gain);
  }

 private:
  // `decode` is a fraction of the threads' time.
  void DecodedCache(double decode) {
    const auto is_set_to_none = [](const WorkerInput* worker) {
      return !worker->decoded.chosen && worker->decoded.limit == 0;
    };
    if (std::any_of(use_.workers.begin(), use_.workers.end(), is_set_to_none)) {
      Add(absl::StrCat("decoded_cache_bytes, or no --decoded-cache 0, from the second epoch on; all images take about ",
                       Bytes(kDecodedBytes * input_.data_bytes), " over all workers"),
          Without(kByDecodedCache * decode));
      return;
    }
    const auto chooses = [](const WorkerInput* worker) { return worker->decoded.chosen; };
    const auto most = [](const WorkerInput* a, const WorkerInput* b) { return a->owned_bytes < b->owned_bytes; };
    const WorkerInput* const worker = *std::max_element(use_.workers.begin(), use_.workers.end(), most);
    if (!std::all_of(use_.workers.begin(), use_.workers.end(), chooses)) return;
    const double needed = kDecodedBytes * worker->owned_bytes;
    const double kept = needed > 0 ? std::min(1.0, static_cast<double>(worker->decoded.limit) / needed) : 1;
    LargerBudget(needed, static_cast<double>(worker->memory_budget), "decoded images", 1 - kept,
                 kByDecodedCache * decode);
  }
  // Recommends a larger budget if chosen caches have no room for `needed` bytes. The fraction `more` of them would be
  // added to the cache, which saves the same fraction of `saved`.
  void LargerBudget(double needed, double budget, const std::string& of_what, double more, double saved) {
    if (needed <= RoomForCaches(budget)) return;
    Add(absl::StrCat("memory_budget_bytes of ", Bytes(kRoomInBudget * BudgetFor(needed)), " at each worker (now ",
                     Bytes(budget), "), which then keeps all ", of_what, " that it needs, about ", Bytes(needed),
                     ", from the second epoch on"),
        Without(more * saved));
  }
  // Recommends smaller windows. Records of object storage are fetched one by one if memory cannot hold a window of the
  // shuffle.
  void WindowThatFits() {
    if (input_.chunk_bytes <= 0 || input_.data_bytes <= 0) return;
    const double window = std::min<double>(input_.window_chunks, std::ceil(input_.data_bytes / input_.chunk_bytes));
    double chunks = window;
    for (const WorkerInput* worker : use_.workers) {
      const double part = worker->owned_bytes > 0 ? worker->owned_bytes / input_.data_bytes : 1;
      const double fit =
          std::floor(kRangesPartOfBudget * static_cast<double>(worker->memory_budget) / (part * input_.chunk_bytes));
      if (worker->remote_requests > kOneByOne) chunks = std::min(chunks, fit);
    }
    if (chunks >= window || chunks < kLeastWindowChunks) return;
    Add(absl::StrCat("order { window_chunks: ", static_cast<uint64_t>(chunks), " } (now ", input_.window_chunks,
                     "), so that a window fits the workers' memory, and one request reads many records of an "
                     "uncompressed shard. This changes the order, so submit it as a job of another name"),
        0);
  }
  void OneMoreWorker() {
    const double n = std::max<double>(1, out_->workers());
    Add("one more worker", (n + 1) / n);
  }

  // `times` 0: the change helps by an unknown factor.
  void Add(const std::string& change, double times) {
    if (times != 0 && demand_ > 0 && out_->rows_per_second() > 0) {
      times = std::min(times, demand_ / out_->rows_per_second());
    }
    if (times != 0 && times < kLeastGain) return;
    v1::Explanation::Gain& gain = gains_.emplace_back();
    gain.set_change(change);
    gain.set_times(times);
    gain.set_rows_per_second(times * out_->rows_per_second());
  }

  const ExplainInput& input_;
  const FleetUse& use_;
  const double demand_;
  v1::Explanation* const out_;
  std::vector<v1::Explanation::Gain> gains_;
};

}  // namespace

void AddGains(const ExplainInput& input, const SessionInput& trainer, const FleetUse& use, double demand,
              v1::Explanation* out) {
  if (use.workers.empty()) return;
  Gains gains(input, use, demand, out);
  switch (out->limit()) {
    case v1::Explanation::CPU:
      gains.Cpu();
      break;
    case v1::Explanation::STORAGE:
      gains.Storage();
      break;
    case v1::Explanation::MEMORY:
      gains.Memory();
      break;
    case v1::Explanation::NETWORK:
      gains.Network();
      break;
    case v1::Explanation::SHARED_MEMORY:
      gains.SharedMemory(trainer);
      break;
    case v1::Explanation::WINDOW:
      gains.Window(trainer);
      break;
    case v1::Explanation::COPYING:
      gains.Copying(trainer);
      break;
    case v1::Explanation::SLOW_WORKER:
      gains.Slow();
      break;
    default:
      break;
  }
  gains.Finish();
}

}  // namespace penstock::coordinator
