#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/cgroup.h"
#include "base/json.h"
#include "base/runtime/clock.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/job_report.h"
#include "client/cli/local_job.h"
#include "client/cli/output.h"
#include "config/daemon_config.h"
#include "pipeline/host/loader_host.h"
#include "pipeline/loader/local_steps.h"
#include "pipeline/plan/job_order.h"
#include "pipeline/storage/files.h"

namespace penstock::cli {
namespace {

// One stage on one thread: the time and the bytes of its records.
struct Stage {
  std::string name;
  uint64_t records = 0, bytes = 0;
  double seconds = 0;
  double per_second() const { return seconds > 0 ? static_cast<double>(records) / seconds : 0; }
};

class Bench final : public Command {
 public:
  explicit Bench(storage::Storage* storage) : local_(storage) {}

  std::string name() const override { return "bench"; }
  std::string arguments() const override { return "GLOB|JOB.textproto [flags]"; }
  std::string summary() const override { return "how fast this machine makes a job's rows, stage by stage"; }
  std::string description() const override {
    return "No daemon is needed. First one thread goes through single stages (reading records; a whole image decoded;\n"
           "a whole row made), then the loader makes rows on all threads. For a glob, a job is made as `penstock "
           "init`\n"
           "does.\n\n"
           "  penstock bench train.textproto --seconds 10";
  }
  void AddFlags(config::Flags* flags) override {
    local_.AddFlags(flags);
    flags->AddUint("threads", &threads_, "N", "the loader's threads (default: the CPUs of this container)");
    flags->AddUint("read-threads", &read_threads_, "N",
                   "threads that only read, as a worker's --read-threads (default: found while it runs)");
    flags->AddString("disk-cache", &disk_cache_, "DIR",
                     "keep records in this folder, as a worker's --disk-cache (none)");
    flags->AddBytes("disk-cache-size", &disk_cache_size_, "BYTES", "what it may take (half of the disk's free space)");
    flags->AddUint("seconds", &seconds_, "S", "how long each stage runs at the most (default: 5)");
    flags->AddSwitch("stages", &stages_, "go through the single stages first (default; --no-stages leaves them out)");
    flags->AddBytes("memory-budget", &budget_, "BYTES", "the loader's memory (default: 1GiB)");
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    PS_ASSIGN_OR_RETURN(const std::string argument, OneArgument(arguments, "GLOB or JOB.textproto"));
    const int threads = threads_ == 0 ? AvailableCpus() : static_cast<int>(threads_);
    PS_ASSIGN_OR_RETURN(const v1::JobSpec spec, local_.Load(argument));
    host::LoaderHostOptions options;
    options.storage = local_.data().storage();
    options.loader.threads = threads;
    options.loader.memory_budget_bytes = budget_;
    options.threads_pinned = true;  // no trainer needs a CPU here
    if (read_threads_ != kFound) {
      if (read_threads_ > storage::RemoteFiles::kMaxThreads) {
        return UsageError(
            absl::StrCat("--read-threads ", read_threads_, ": at most ", storage::RemoteFiles::kMaxThreads));
      }
      options.read_threads = static_cast<int>(read_threads_);
    }
    options.disk_cache.folder = disk_cache_;
    options.disk_cache.limit_bytes = disk_cache_size_;
    options.disk_cache.warn = [](const std::string& text) {
      std::fprintf(stderr, "penstock bench: %s\n", text.c_str());
    };
    PS_ASSIGN_OR_RETURN(const auto host, host::LoaderHost::Create(std::move(options)));
    PS_ASSIGN_OR_RETURN(const auto job, local_.Open(host->storage(), spec, threads, host->slow_work()));
    const uint64_t positions = job->PlanOf(0).num_positions();
    PrintWarnings(WarningsOf(job->spec(), positions, job->order().batches()));
    std::vector<Stage> stages;
    if (stages_) PS_RETURN_IF_ERROR(OneThread(*job, &stages));
    loader::LocalStepsOptions reading;
    reading.read.epochs = 0;
    // A small data set can still be measured: limit the batch to its size.
    const plan::StepSizes sizes = plan::StepSizesOf(job->spec().batch(), job->order().batches());
    if (sizes.batches == nullptr && sizes.Largest() > positions)
      reading.batch_size = static_cast<uint32_t>(std::min(sizes.first, positions));
    PS_ASSIGN_OR_RETURN(const auto steps, loader::LocalSteps::Open(host->loader(), job, reading));
    PS_ASSIGN_OR_RETURN(Stage all, Loaded(*steps, threads));
    Report(stages, all, host->loader()->Stats(), host->tuning().Get().setting);
    if (!json_) std::printf("%s", ColumnLines(job->spec(), job->schema()).c_str());
    return absl::OkStatus();
  }

 private:
  Nanos Until() const { return Clock::Real()->Now() + static_cast<Nanos>(seconds_) * kSecond; }

  // Runs `one` on the records of the plan in sequence, until the time is over or the epoch ends.
  template <typename Fn>
  absl::Status Measure(const loader::LoadJob& job, std::string stage, std::vector<Stage>* out, const Fn& one) const {
    const plan::EpochOrder plan = job.PlanOf(0);
    Stage measured{std::move(stage)};
    std::string record;
    const Nanos until = Until();
    Nanos spent = 0;
    for (uint64_t p = 0; p < plan.num_positions() && Clock::Real()->Now() < until; ++p) {
      const plan::PlannedRow row = plan.RowAt(p);
      const Nanos before_read = Clock::Real()->Now();
      PS_RETURN_IF_ERROR(job.reader().ReadRecord(row.record, &record));
      const Nanos after_read = Clock::Real()->Now();
      const absl::StatusOr<bool> counts_reading = one(job.PipelineOf(row.record), record, loader::SampleKeyOf(row));
      if (!counts_reading.ok()) {
        return absl::Status(counts_reading.status().code(),
                            absl::StrCat(job.reader().Describe(row.record), ": ", counts_reading.status().message()));
      }
      spent += *counts_reading ? after_read - before_read : Clock::Real()->Now() - after_read;
      ++measured.records;
      measured.bytes += record.size();
    }
    measured.seconds = static_cast<double>(spent) / kSecond;
    out->push_back(std::move(measured));
    return absl::OkStatus();
  }

  absl::Status OneThread(const loader::LoadJob& job, std::vector<Stage>* stages) const {
    augment::RowScratch scratch;
    const auto nothing = [](const augment::Pipeline&, const std::string&, const SampleKey&) -> absl::StatusOr<bool> {
      return true;
    };
    PS_RETURN_IF_ERROR(Measure(job, "read", stages, nothing));
    if (job.pipelines().HaveDecodedPrefix()) {
      const auto decode = [&](const augment::Pipeline& pipeline, const std::string& record,
                              const SampleKey&) -> absl::StatusOr<bool> {
        if (pipeline.HasDecodedPrefix()) PS_RETURN_IF_ERROR(pipeline.MakeDecoded(record, &scratch).status());
        return false;
      };
      PS_RETURN_IF_ERROR(Measure(job, "decode, whole image", stages, decode));
    }
    const batch::RowSchema& schema = job.schema();
    std::vector<std::vector<std::byte>> columns;
    batch::RowSlot slot;
    for (const batch::ColumnSpec& column : schema.columns) {
      columns.emplace_back(column.ragged ? 0 : column.Bytes());
      slot.fixed.push_back(column.ragged ? nullptr : columns.back().data());
    }
    slot.ragged.resize(schema.columns.size());
    return Measure(job, "parse to slot", stages,
                   [&](const augment::Pipeline& pipeline, const std::string& record,
                       const SampleKey& key) -> absl::StatusOr<bool> {
                     for (std::string& ragged : slot.ragged) ragged.clear();
                     PS_RETURN_IF_ERROR(pipeline.MakeRow(record, key, &slot, &scratch));
                     return false;
                   });
  }

  absl::StatusOr<Stage> Loaded(loader::LocalSteps& steps, int threads) const {
    Stage measured{absl::StrCat("loader, ", threads, threads == 1 ? " thread" : " threads")};
    PS_RETURN_IF_ERROR(steps.Next().status());  // warms up threads and files
    const Nanos start = Clock::Real()->Now(), until = Until();
    while (Clock::Real()->Now() < until) {
      PS_ASSIGN_OR_RETURN(const std::optional<loader::LocalSteps::Step> step, steps.Next());
      if (!step) break;
      measured.records += step->rows->size();
    }
    measured.seconds = static_cast<double>(Clock::Real()->Now() - start) / kSecond;
    return measured;
  }

  void Report(const std::vector<Stage>& stages, const Stage& all, const loader::LoaderStats& stats,
              const tuning::TuningSetting& setting) const {
    if (json_) {
      std::vector<std::string> items;
      for (const Stage& stage : stages) {
        items.push_back(Json()
                            .Field("stage", stage.name)
                            .Field("records", stage.records)
                            .Field("records_per_second", stage.per_second())
                            .Object());
      }
      std::printf("%s\n", Json()
                              .Raw("one_thread", Json::Array(items))
                              .Field("threads", static_cast<uint64_t>(setting.threads))
                              .Field("read_threads", static_cast<uint64_t>(setting.read_threads))
                              .Field("rows", all.records)
                              .Field("rows_per_second", all.per_second())
                              .Field("memory_peak_bytes", stats.memory_peak_bytes)
                              .Field("remote_requests", stats.remote_requests)
                              .Field("remote_bytes", stats.remote_bytes)
                              .Field("remote_used_bytes", stats.remote_used_bytes)
                              .Field("remote_hedges", stats.remote_hedges)
                              .Field("disk_cache_hits", stats.disk_cache.hits)
                              .Field("disk_cache_misses", stats.disk_cache.misses)
                              .Object()
                              .c_str());
      return;
    }
    if (stages_) PrintStages(stages);
    std::printf("%s: %s rows/s, %s of memory at most\n", all.name.c_str(),
                Count(static_cast<uint64_t>(all.per_second())).c_str(), HumanBytes(stats.memory_peak_bytes).c_str());
    if (setting.read_threads > 0) {
      std::printf("%s beside these, for reads of %.3g ms\n",
                  Count(static_cast<uint64_t>(setting.read_threads), "thread").c_str(),
                  stats.storage_reads > 0 ? 1e3 * stats.storage_seconds / static_cast<double>(stats.storage_reads) : 0);
    }
    if (stats.disk_cache.limit > 0) {
      std::printf("disk cache %s: %s records from it, %s from storage\n", disk_cache_.c_str(),
                  Count(stats.disk_cache.hits).c_str(), Count(stats.disk_cache.misses).c_str());
    }
  }

  static void PrintStages(const std::vector<Stage>& stages) {
    Table table({"ONE THREAD", "RECORDS", "EACH", "PER SECOND", "BYTES/S"}, {1, 2, 3, 4});
    for (const Stage& stage : stages) {
      table.Add({stage.name, Count(stage.records),
                 absl::StrFormat("%.3f ms",
                                 stage.records == 0 ? 0.0 : stage.seconds * 1000 / static_cast<double>(stage.records)),
                 Count(static_cast<uint64_t>(stage.per_second())),
                 HumanBytes(stage.seconds > 0 ? static_cast<uint64_t>(static_cast<double>(stage.bytes) / stage.seconds)
                                              : 0)});
    }
    std::printf("%s\n", table.Text().c_str());
  }

  LocalJob local_;
  std::string disk_cache_;
  // The default of --read-threads: tuned automatically.
  static constexpr uint64_t kFound = UINT64_MAX;
  uint64_t disk_cache_size_ = 0, threads_ = 0, read_threads_ = kFound, seconds_ = 5, budget_ = uint64_t{1} << 30;
  bool stages_ = true, json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewBench(storage::Storage* storage) { return std::make_unique<Bench>(storage); }

}  // namespace penstock::cli
