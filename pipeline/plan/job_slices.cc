#include "pipeline/plan/job_slices.h"

#include <algorithm>
#include <numeric>

namespace penstock::plan {
namespace {

// Returns the number of multiples of `stride` below `count`.
uint64_t StridesIn(uint64_t count, uint64_t stride) { return count / stride + (count % stride == 0 ? 0 : 1); }

RecordRun Skip(const RecordRun& run, uint64_t records) {
  if (records >= run.count) return {};
  return {run.first + records * run.stride, run.stride, run.count - records};
}

RecordRun Take(const RecordRun& run, uint64_t records) {
  return records == 0 ? RecordRun() : RecordRun{run.first, run.stride, std::min(run.count, records)};
}

RecordRun Every(const RecordRun& run, uint64_t n) {
  if (run.count <= 1 || n >= run.count) return Take(run, 1);
  return {run.first, run.stride * n, StridesIn(run.count, n)};
}

// Returns the part of `run` in the records [start, start + count), counted from `start`.
RecordRun PartOfShard(const RecordRun& run, uint64_t start, uint64_t count) {
  // `before` records of the run are in earlier shards, and `until` in those up to this one.
  const auto records_below = [&run](uint64_t end) {
    return end <= run.first ? 0 : std::min(run.count, StridesIn(end - run.first, run.stride));
  };
  const uint64_t before = records_below(start), until = records_below(start + count);
  if (before == until) return {};
  return {run.first + before * run.stride - start, until - before == 1 ? 1 : run.stride, until - before};
}

}  // namespace

bool CountsRecords(const v1::Select& step) {
  return step.has_take() || step.has_skip() || step.has_range() || step.has_every();
}

bool CountsRecords(const v1::Dataset& dataset) {
  return std::any_of(dataset.select().begin(), dataset.select().end(),
                     [](const v1::Select& step) { return CountsRecords(step); });
}

RecordRun AfterStep(const v1::Select& step, const RecordRun& run) {
  switch (step.step_case()) {
    case v1::Select::kTake:
      return Take(run, step.take());
    case v1::Select::kSkip:
      return Skip(run, step.skip());
    case v1::Select::kRange: {
      const uint64_t from = step.range().from(), to = step.range().has_to() ? step.range().to() : UINT64_MAX;
      return to <= from ? RecordRun() : Take(Skip(run, from), to - from);
    }
    case v1::Select::kEvery:
      return Every(Skip(run, step.every().offset()), std::max<uint64_t>(1, step.every().n()));
    default:
      return run;
  }
}

std::vector<RecordRun> KeptRuns(const v1::Dataset& dataset, std::span<const uint64_t> counts) {
  RecordRun run{.count = std::accumulate(counts.begin(), counts.end(), uint64_t{0})};
  for (const v1::Select& step : dataset.select()) run = AfterStep(step, run);
  std::vector<RecordRun> runs;
  uint64_t start = 0;
  for (const uint64_t count : counts) {
    runs.push_back(PartOfShard(run, start, count));
    start += count;
  }
  return runs;
}

}  // namespace penstock::plan
