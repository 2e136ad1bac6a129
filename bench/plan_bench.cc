// Nanoseconds per look-up in the plan of a data set, a blend or groups of records, and the time until the first row of
// a mid-epoch resume is known, for small and huge data sets.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench_support.h"
#include "pipeline/plan/data_order.h"

namespace penstock::bench {
namespace {

constexpr uint64_t kShards = 10'000;
using OrderPtr = std::shared_ptr<const plan::DataOrder>;

// Without a blend if `sets` is 0.
OrderPtr Blended(uint64_t records, plan::Shuffle shuffle, uint64_t sets) {
  std::optional<plan::BlendOptions> blend;
  if (sets > 0) blend.emplace();
  for (uint64_t set = 0; set < sets; ++set) {
    blend->sets.push_back({std::to_string(set), kShards / sets, 1.0 + static_cast<double>(set % 7)});
  }
  const std::vector<uint64_t> counts(kShards, records / kShards);
  return *plan::DataOrder::Create(counts, {.seed = 17, .shuffle = shuffle}, blend);
}

// Each shard has `in_shard` of the groups, whose sizes differ. With `sort`, the groups follow each other.
OrderPtr Grouped(uint64_t records, plan::Shuffle shuffle, uint32_t groups, uint32_t in_shard,
                 const std::optional<plan::SortOptions>& sort = std::nullopt) {
  plan::Grouping balance;
  balance.sorted = sort;
  for (uint32_t group = 0; group < groups; ++group) balance.groups.names.push_back(std::to_string(100'000 + group));
  std::vector<uint64_t> counts;
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    plan::ShardGroups& of_shard = balance.groups.shards.emplace_back();
    for (uint32_t i = 0; i < in_shard; ++i) of_shard.groups.push_back((shard + i * (groups / in_shard)) % groups);
    std::sort(of_shard.groups.begin(), of_shard.groups.end());
    const uint32_t share = static_cast<uint32_t>(records / kShards / in_shard);
    for (uint32_t i = 0; i < in_shard; ++i) of_shard.records.push_back(1 + share * (1 + i % 3) / 2);
    counts.push_back(std::accumulate(of_shard.records.begin(), of_shard.records.end(), uint64_t{0}));
  }
  return *plan::DataOrder::CreateGrouped(counts, {.seed = 17, .shuffle = shuffle}, balance);
}

// `make` creates the order.
void Measure(const std::string& name, const std::function<OrderPtr()>& make) {
  constexpr uint64_t kLookups = 200'000;
  uint64_t sink = 0;
  std::vector<double> resume;
  for (int run = 0; run < 5; ++run) {
    resume.push_back(1e3 * TimeOf([&] {
                             const OrderPtr made = make();
                             sink += made->Epoch(3).RowAt(made->num_positions() / 2).record;
                           }).cpu);
  }
  const OrderPtr order = make();
  const uint64_t records = order->num_records();
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
      "%-8s %5.0e records, %5u parts: RowAt %4.0f ns, LocationAt %4.0f ns, PositionOf %4.0f ns, resume %5.1f ms%s\n",
      name.c_str(), static_cast<double>(records), order->parts(), Median(at), Median(locate), Median(inverse),
      Median(resume), sink == 1 ? " " : "");
}

}  // namespace
}  // namespace penstock::bench

int main() {
  using penstock::bench::Blended;
  using penstock::bench::Grouped;
  using penstock::bench::Measure;
  using penstock::plan::Shuffle;
  for (const uint64_t records : {uint64_t{1'280'000}, uint64_t{1'000'000'000'000}}) {
    for (const uint64_t sets : {0, 10, 1000}) {
      Measure("NONE", [=] { return Blended(records, Shuffle::kNone, sets); });
      Measure("CHUNKED", [=] { return Blended(records, Shuffle::kChunked, sets); });
      Measure("FULL", [=] { return Blended(records, Shuffle::kFull, sets); });
    }
  }
  // All classes in all shards, up to the limit of pairs, and shards that are sorted by class.
  Measure("balanced", [] { return Grouped(1'280'000, Shuffle::kChunked, 100, 100); });
  Measure("balanced", [] { return Grouped(128'000'000, Shuffle::kChunked, 1000, 400); });
  Measure("balanced", [] { return Grouped(128'000'000, Shuffle::kChunked, 10'000, 2); });
  Measure("sorted", [] { return Grouped(128'000'000, Shuffle::kChunked, 256, 256, penstock::plan::SortOptions()); });
  Measure("bucketed",
          [] { return Grouped(128'000'000, Shuffle::kChunked, 256, 256, penstock::plan::SortOptions{.batch = 256}); });
  return 0;
}
