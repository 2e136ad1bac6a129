#include "tests/support/cluster/reading.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/runtime/clock.h"
#include "pipeline/batch/batch_digest.h"

namespace penstock::support {
namespace {

void AddRow(const Batch& batch, size_t row, batch::BatchDigest* digest) {
  digest->BeginRow(batch.ids()[row].shard, batch.ids()[row].record, batch.valid()[row] != 0,
                   batch.datasets().empty() ? 0 : batch.datasets()[row]);
  for (const ColumnView& column : batch.columns()) {
    const ColumnInfo& info = column.info();
    const char* bytes = static_cast<const char*>(column.raw());
    const auto splits = column.row_splits();
    if (info.type == ElementType::kString) {
      const size_t begin = splits.empty() ? row : static_cast<size_t>(splits[row]);
      const size_t end = splits.empty() ? row + 1 : static_cast<size_t>(splits[row + 1]);
      std::vector<std::string_view> strings;
      for (size_t i = begin; i < end; ++i) strings.push_back(column.string(i));
      digest->AddRaggedStrings(strings);
    } else if (info.ragged) {
      const size_t elements = static_cast<size_t>(splits[splits.size() - 1]);
      const size_t size = elements == 0 ? 0 : column.bytes() / elements;
      const size_t begin = static_cast<size_t>(splits[row]), end = static_cast<size_t>(splits[row + 1]);
      digest->AddRaggedNumbers(static_cast<uint32_t>(end - begin), {bytes + begin * size, (end - begin) * size});
    } else {
      const size_t size = column.bytes() / column.rows();
      digest->AddFixed({bytes + row * size, size});
    }
  }
}

}  // namespace

ReadPlan EpochsOf(const v1::JobSpec& job, uint64_t epochs) {
  ReadPlan plan;
  plan.options.job = job.name();
  plan.options.epochs = epochs;
  plan.options.prefetch_steps = 4;
  return plan;
}

ReadResult ReadFrom(Reader& reader, const ReadPlan& plan) {
  ReadResult result;
  batch::BatchDigest digest;
  while (result.steps.size() < plan.max_steps) {
    if (plan.until && !result.steps.empty() && plan.until()) break;
    const Nanos before = Clock::Real()->Now();
    const auto batch = reader.Next(plan.timeout);
    const double wait = static_cast<double>(Clock::Real()->Now() - before) / kSecond;
    if (absl::IsOutOfRange(batch.status())) break;
    if (!batch.ok()) {
      result.status = batch.status();
      break;
    }
    if (result.steps.empty()) {
      result.first_wait = wait;
    } else {
      result.longest_wait = std::max(result.longest_wait, wait);
    }
    ReadStep step;
    step.epoch = batch->epoch();
    batch::BatchDigest step_digest;
    for (size_t row = 0; row < batch->rows(); ++row) {
      AddRow(*batch, row, &digest);
      AddRow(*batch, row, &step_digest);
      step.ids.emplace_back(batch->ids()[row].shard, batch->ids()[row].record);
      step.sources.emplace_back(batch->sources()[row].shard, batch->sources()[row].record);
      step.valid.push_back(batch->valid()[row]);
    }
    step.datasets.assign(batch->datasets().begin(), batch->datasets().end());
    step.digest = step_digest.Hex();
    result.steps.push_back(std::move(step));
    result.state = reader.SaveState();
    if (plan.after_step) plan.after_step(result.steps.size());
  }
  result.digest = digest.Hex();
  result.stats = reader.Stats();
  return result;
}

ReadResult ReadThrough(const std::string& coordinator, const ReadPlan& plan) {
  ConnectOptions connect = plan.connect;
  connect.coordinator = coordinator;
  connect.open_timeout = absl::Seconds(30);
  auto reader = Reader::Open(connect, plan.options);
  if (reader.ok()) return ReadFrom(**reader, plan);
  ReadResult result;
  result.status = reader.status();
  return result;
}

::testing::AssertionResult EveryRecordOncePerEpoch(const ReadResult& result, uint64_t records, uint64_t epochs) {
  std::map<uint64_t, std::map<std::pair<int64_t, int64_t>, int>> seen;
  for (const ReadStep& step : result.steps) {
    for (size_t i = 0; i < step.ids.size(); ++i) {
      if (step.valid[i] != 0) ++seen[step.epoch][step.ids[i]];
    }
  }
  if (seen.size() != epochs) return ::testing::AssertionFailure() << seen.size() << " epochs";
  for (const auto& [epoch, ids] : seen) {
    if (ids.size() != records) {
      return ::testing::AssertionFailure() << "epoch " << epoch << " has " << ids.size() << " records of " << records;
    }
    for (const auto& [id, count] : ids) {
      if (count != 1) {
        return ::testing::AssertionFailure()
               << "record " << id.second << " of shard " << id.first << " came " << count << " times";
      }
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace penstock::support
