// Nanoseconds per look-up in the plan, for small and huge data sets.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "bench/bench_support.h"
#include "pipeline/plan/epoch_plan.h"

namespace penstock::bench {
namespace {

void Measure(const char* name, uint64_t records, uint64_t shards, plan::Shuffle shuffle) {
  std::vector<uint64_t> counts(shards, records / shards);
  const auto offsets = plan::ShardOffsets::Create(counts);
  plan::PlanOptions options;
  options.seed = 17;
  options.shuffle = shuffle;
  const auto plan = plan::EpochPlan::Create(offsets.value(), options, 3);
  constexpr uint64_t kLookups = 200'000;
  const uint64_t stride = plan->num_positions() / kLookups + 1;
  uint64_t sink = 0;
  std::vector<double> at, locate, inverse;
  for (int run = 0; run < 5; ++run) {
    const auto each = [&](auto look_up) {
      return 1e9 / kLookups * TimeOf([&] {
                                for (uint64_t i = 0; i < kLookups; ++i)
                                  sink += look_up(i * stride % plan->num_positions());
                              }).cpu;
    };
    at.push_back(each([&](uint64_t p) { return plan->RecordAt(p); }));
    locate.push_back(each([&](uint64_t p) { return plan->LocationAt(p).record; }));
    inverse.push_back(each([&](uint64_t p) { return plan->PositionOf(p); }));
  }
  std::printf("%-10s %8.0e records %6llu shards: RecordAt %4.0f ns, LocationAt %4.0f ns, PositionOf %4.0f ns%s\n", name,
              static_cast<double>(records), static_cast<unsigned long long>(shards), Median(at), Median(locate),
              Median(inverse), sink == 1 ? " " : "");
}

}  // namespace
}  // namespace penstock::bench

int main() {
  using penstock::plan::Shuffle;
  for (const uint64_t records : {uint64_t{1'280'000}, uint64_t{1'000'000'000'000}}) {
    penstock::bench::Measure("NONE", records, 1000, Shuffle::kNone);
    penstock::bench::Measure("CHUNKED", records, 1000, Shuffle::kChunked);
    penstock::bench::Measure("FULL", records, 1000, Shuffle::kFull);
  }
  return 0;
}
