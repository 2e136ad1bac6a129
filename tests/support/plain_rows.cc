#include "tests/support/plain_rows.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/batch/batch_digest.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/loader/row_maker.h"
#include "pipeline/plan/job_order.h"

namespace penstock::support {
namespace {

// Columns without content: zeros, no elements, one empty string in `scalar` columns.
std::vector<PlainRow::Column> EmptyColumns(const batch::RowSchema& schema) {
  std::vector<PlainRow::Column> columns;
  for (const batch::ColumnSpec& column : schema.columns) {
    columns.push_back({std::string(column.ragged ? 4 : column.Bytes(), '\0'), column.ragged});
    if (column.ragged && column.scalar) columns.back().bytes = std::string("\1\0\0\0\0\0\0\0", 8);
  }
  return columns;
}

// Returns the columns that the pipeline makes of the record.
absl::StatusOr<std::vector<PlainRow::Column>> ColumnsOf(const loader::LoadJob& job, uint64_t record,
                                                        const SampleKey& key) {
  std::string bytes;
  PS_RETURN_IF_ERROR(job.reader().ReadRecord(record, &bytes));
  const batch::RowSchema& schema = job.schema();
  std::vector<PlainRow::Column> columns = EmptyColumns(schema);
  batch::RowSlot slot;
  for (PlainRow::Column& column : columns) {
    slot.fixed.push_back(column.ragged ? nullptr : reinterpret_cast<std::byte*>(column.bytes.data()));
  }
  slot.ragged.resize(columns.size());
  augment::RowScratch scratch;
  if (const absl::Status status = job.PipelineOf(record).MakeRow(bytes, key, &slot, &scratch); !status.ok()) {
    return absl::DataLossError(absl::StrCat(job.reader().Describe(record), ": ", status.message()));
  }
  for (size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].ragged) columns[c].bytes = std::move(slot.ragged[c]);
  }
  return columns;
}

absl::StatusOr<PlainRow> RowOf(const loader::LoadJob& job, const plan::EpochOrder& plan, uint64_t position) {
  const plan::PlannedRow planned = plan.RowAt(position);
  const SampleKey key = loader::SampleKeyOf(planned);
  PlainRow row;
  row.id = plan.LocationAt(position);
  std::vector<uint64_t> sources = {planned.record};
  if (job.spec().errors().policy() == v1::SUBSTITUTE) {
    const auto others = loader::SubstitutesOf(job.reader().snapshot(), key, planned.record);
    sources.insert(sources.end(), others.begin(), others.end());
  }
  for (const uint64_t source : sources) {
    absl::StatusOr<std::vector<PlainRow::Column>> columns = ColumnsOf(job, source, key);
    if (!columns.ok() && (!absl::IsDataLoss(columns.status()) || job.spec().errors().policy() == v1::FAIL)) {
      return columns.status();
    }
    if (!columns.ok()) continue;
    row.source = source;
    row.substituted = source != planned.record;
    row.columns = *std::move(columns);
    PS_ASSIGN_OR_RETURN(row.id.record, job.reader().NumberInShard(planned.record));
    return row;
  }
  PS_ASSIGN_OR_RETURN(row.id.record, job.reader().NumberInShard(planned.record));
  row.source = planned.record;
  row.masked = true;
  row.columns = EmptyColumns(job.schema());
  return row;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const loader::LoadJob>> OpenJob(const v1::JobSpec& job,
                                                               const std::vector<sources::DataRoot>& roots,
                                                               storage::Storage* storage) {
  PS_ASSIGN_OR_RETURN(std::shared_ptr<loader::DatasetReader> reader,
                      loader::OpenDataset(storage, job, roots, std::nullopt, 1));
  return loader::LoadJob::Create(job, std::move(reader));
}

absl::StatusOr<std::vector<PlainStep>> PlainSteps(const loader::LoadJob& job, const PlainRead& read) {
  PS_ASSIGN_OR_RETURN(const plan::Steps steps,
                      plan::Steps::Create(job.positions(), plan::StepSizesOf(job.spec().batch(), job.order().batches()),
                                          plan::LastBatchOf(job.spec().batch().last()), read.world_size));
  std::vector<PlainStep> all;
  for (plan::Cursor at = steps.Normalized(read.start); at.epoch < read.start.epoch + read.epochs;) {
    const plan::EpochOrder plan = job.PlanOf(at.epoch);
    PlainStep& step = all.emplace_back();
    step.span = steps.StepAt(at);
    const plan::SlotRange slice = steps.Slice(step.span, read.rank);
    for (uint64_t slot = slice.begin; slot < slice.end; ++slot) {
      PS_ASSIGN_OR_RETURN(PlainRow row, RowOf(job, plan, steps.PositionOfSlot(step.span, slot)));
      row.valid = steps.IsValid(step.span, slot) && !row.masked;
      step.rows.push_back(std::move(row));
    }
    at = steps.After(step.span);
  }
  return all;
}

std::string DigestOf(const std::vector<PlainStep>& steps) {
  batch::BatchDigest digest;
  for (const PlainStep& step : steps) {
    for (const PlainRow& row : step.rows) {
      std::vector<batch::BatchDigest::Column> columns;
      for (const PlainRow::Column& column : row.columns) columns.push_back({column.bytes, column.ragged});
      digest.AddRow(static_cast<int64_t>(row.id.shard), static_cast<int64_t>(row.id.record), row.valid, columns,
                    static_cast<int32_t>(row.id.set));
    }
  }
  return digest.Hex();
}

std::string PlainDigest(const TestDataset& dataset, const v1::JobSpec& job, uint64_t epochs,
                        storage::Storage* storage) {
  const auto opened = OpenJob(job, dataset.roots, storage);
  if (!opened.ok()) return opened.status().ToString();
  const auto steps = PlainSteps(**opened, {.epochs = epochs});
  return steps.ok() ? DigestOf(*steps) : steps.status().ToString();
}

}  // namespace penstock::support
