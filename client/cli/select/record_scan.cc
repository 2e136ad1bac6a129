#include "client/cli/select/record_scan.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"
#include "base/status_place.h"
#include "client/cli/select/value_text.h"
#include "pipeline/plan/record_groups.h"
#include "pipeline/plan/record_packs.h"
#include "pipeline/plan/record_windows.h"
#include "pipeline/sources/shard_reader.h"
#include "pipeline/sources/shard_records.h"

namespace penstock::cli {
namespace {

constexpr uint64_t kRecordsBetweenReports = 1024;

class Scan {
 public:
  Scan(storage::Storage* storage, const std::vector<ShardToScan>& shards, const selection::RecordFilter& filter,
       const sources::RequestedFeatures* features, const ScanOptions& options)
      : storage_(storage), shards_(shards), filter_(filter), features_(features), options_(options) {
    results_.resize(shards.size());
  }

  std::vector<ScannedShard> Run() {
    ForEachOnThreads("ps-select", shards_.size(), options_.threads, [this](size_t n) {
      results_[n].failed = ScanOne(shards_[n], &results_[n]);
      Report(results_[n].records % kRecordsBetweenReports);
    });
    return std::move(results_);
  }

 private:
  absl::Status ScanOne(const ShardToScan& shard, ScannedShard* result) {
    PS_ASSIGN_OR_RETURN(std::unique_ptr<storage::StoredFile> file, storage_->OpenAndWait(shard.path));
    PS_ASSIGN_OR_RETURN(const auto reader,
                        sources::ShardReader::Open(std::move(file), shard.index, {.files = options_.files}));
    selection::RecordFilter::Scratch scratch;
    result->matches.resize(filter_.size());
    result->dropped.resize(filter_.size());
    std::vector<uint32_t> lengths;  // the records that are packed have these
    std::optional<plan::WindowCutter> windows;
    if (filter_.windows() != nullptr) windows.emplace(*filter_.windows());
    PS_RETURN_IF_ERROR(
        sources::ForEachRecord(*reader, features_, [&](uint64_t k, const absl::StatusOr<std::string_view>& record) {
          const uint64_t matches = result->all_matches, bad = result->bad;
          Evaluate(shard, k, record, &scratch, result);
          if (windows && result->bad > bad) windows->EndRun();
          if (windows && result->all_matches > matches) windows->Add(scratch.run);
          if (filter_.packing() != nullptr && result->all_matches > matches) lengths.push_back(scratch.length);
          if (++result->records % kRecordsBetweenReports == 0) Report(kRecordsBetweenReports);
          return absl::OkStatus();
        }));
    if (windows) {
      const plan::RecordWindows made = windows->Take();
      result->rows = {.rows = made.rows,
                      .runs = windows->runs(),
                      .short_runs = windows->short_runs(),
                      .longest_run = made.longest_run};
    }
    if (filter_.packing() == nullptr) return absl::OkStatus();
    PS_ASSIGN_OR_RETURN(const plan::RecordPacks packs, plan::PackRecords(lengths, *filter_.packing()));
    result->rows = {.rows = packs.rows(), .parts = packs.parts.size()};
    for (const plan::PackPart& part : packs.parts) result->rows.values += part.count;
    return absl::OkStatus();
  }

  void Evaluate(const ShardToScan& shard, uint64_t k, const absl::StatusOr<std::string_view>& record,
                selection::RecordFilter::Scratch* scratch, ScannedShard* result) const {
    absl::StatusOr<size_t> matches = record.ok() ? filter_.CountMatches(*record, scratch) : record.status();
    if (!matches.ok()) {
      ++result->bad;
      if (result->first_bad.size() >= options_.bad_examples) return;
      // The reader's errors name the file and the record already.
      result->first_bad.push_back(
          {k, record.ok() ? AtPlace(absl::StrCat(shard.path, ", record ", k), matches.status()) : matches.status()});
      return;
    }
    for (size_t n = 0; n < *matches; ++n) ++result->matches[n];
    if (*matches < filter_.size()) {
      std::vector<ExampleRecord>* const dropped = &result->dropped[*matches];
      if (dropped->size() < options_.dropped_examples) AddExample(k, *scratch, dropped);
      return;
    }
    const uint64_t match = result->all_matches++;
    if (filter_.makes_groups()) {
      const bool is_full = result->groups.size() > plan::RecordGroups::kMaxGroups;
      if (!is_full || result->groups.contains(scratch->group)) ++result->groups[scratch->group];
    }
    const bool is_example = match >= shard.first_example && (match - shard.first_example) % shard.example_stride == 0;
    if (!is_example || result->examples.size() >= options_.examples) return;
    AddExample(k, *scratch, &result->examples);
  }

  void AddExample(uint64_t k, const selection::RecordFilter::Scratch& scratch, std::vector<ExampleRecord>* out) const {
    ExampleRecord& example = out->emplace_back();
    example.record = k;
    if (scratch.parsed.size() != filter_.names().size()) return;
    for (const records::FeatureValue& value : scratch.parsed) example.values.push_back(ValueText(value));
  }

  void Report(uint64_t records) {
    if (!options_.progress) return;
    MutexLock lock(&mutex_);
    done_ += records;
    options_.progress(done_);
  }

  storage::Storage* const storage_;
  const std::vector<ShardToScan>& shards_;
  const selection::RecordFilter& filter_;
  const sources::RequestedFeatures* const features_;
  const ScanOptions& options_;
  std::vector<ScannedShard> results_;
  Mutex mutex_;
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::vector<ScannedShard> ScanRecords(storage::Storage* storage, const std::vector<ShardToScan>& shards,
                                      const selection::RecordFilter& filter, const sources::RequestedFeatures* features,
                                      const ScanOptions& options) {
  return Scan(storage, shards, filter, features, options).Run();
}

}  // namespace penstock::cli
