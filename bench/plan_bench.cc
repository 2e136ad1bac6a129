// Nanoseconds per look-up in the plan, and the time until the first row of a mid-epoch resume is known, for small and
// huge data sets.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench_support.h"
#include "pipeline/plan/data_order.h"

namespace penstock::bench {
namespace {

// Without a blend if `sets` is 0.
void Measure(const char* name, uint64_t records, plan::Shuffle shuffle, uint64_t sets) {
  constexpr uint64_t kShards = 10'000, kLookups = 200'000;
  const std::vector<uint64_t> counts(kShards, records / kShards);
  std::optional<plan::BlendOptions> blend;
  if (sets > 0) blend.emplace();
  for (uint64_t set = 0; set < sets; ++set) {
    blend->sets.push_back({std::to_string(set), kShards / sets, 1.0 + static_cast<double>(set % 7)});
  }
  uint64_t sink = 0;
  std::vector<double> resume;
  for (int run = 0; run < 5; ++run) {
    resume.push_back(1e3 * TimeOf([&] {
                             const auto made =
                                 *plan::DataOrder::Create(counts, {.seed = 17, .shuffle = shuffle}, blend);
                             sink += made->Epoch(3).RowAt(made->num_positions() / 2).record;
                           }).cpu);
  }
  const auto order = *plan::DataOrder::Create(counts, {.seed = 17, .shuffle = shuffle}, blend);
  const plan::EpochOrder epoch = order->Epoch(3);
  const uint64_t stride = epoch.num_positions() / kLookups + 1;
  std::vector<double> at, locate, inverse;
  for (int run = 0; run < 5; ++run) {
    const auto each = [&](auto look_up) {
      return 1e9 / kLookups * TimeOf([&] {
                                for (uint64_t i = 0; i < kLookups; ++i)
                                  sink += look_up(i * stride % epoch.num_positions());
                              }).cpu;
    };
    at.push_back(each([&](uint64_t p) { return epoch.RowAt(p).record; }));
    locate.push_back(each([&](uint64_t p) { return epoch.LocationAt(p).record; }));
    inverse.push_back(each([&](uint64_t p) { return epoch.PositionOf(p % records, 0).value_or(0); }));
  }
  std::printf(
      "%-8s %5.0e records, %4llu data sets: RowAt %4.0f ns, LocationAt %4.0f ns, PositionOf %4.0f ns, resume %5.1f "
      "ms%s\n",
      name, static_cast<double>(records), static_cast<unsigned long long>(std::max<uint64_t>(1, sets)), Median(at),
      Median(locate), Median(inverse), Median(resume), sink == 1 ? " " : "");
}

}  // namespace
}  // namespace penstock::bench

int main() {
  using penstock::plan::Shuffle;
  for (const uint64_t records : {uint64_t{1'280'000}, uint64_t{1'000'000'000'000}}) {
    for (const uint64_t sets : {0, 10, 1000}) {
      penstock::bench::Measure("NONE", records, Shuffle::kNone, sets);
      penstock::bench::Measure("CHUNKED", records, Shuffle::kChunked, sets);
      penstock::bench::Measure("FULL", records, Shuffle::kFull, sets);
    }
  }
  return 0;
}
