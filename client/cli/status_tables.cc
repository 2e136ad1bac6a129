#include "client/cli/status_tables.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/output.h"
#include "client/cli/status_notes.h"

namespace penstock::cli {
namespace {

std::string Lower(const std::string& name) { return absl::AsciiStrToLower(name); }

std::string StateOf(const v1::WorkerStatus& worker) {
  return worker.state() == v1::WorkerStatus::DEAD ? "lost" : Lower(v1::WorkerStatus::State_Name(worker.state()));
}

// Small shares get more decimals: the smallest possible one is 0.0001 %.
std::string Percent(double share) { return absl::StrFormat("%.*f %%", share > 0 && share < 1e-4 ? 4 : 2, share * 100); }

}  // namespace

bool StillThere(const v1::WorkerStatus& worker) {
  return worker.state() != v1::WorkerStatus::DEAD && worker.state() != v1::WorkerStatus::LEFT;
}

std::string JobsTable(const v1::StatusReply& status) {
  if (status.jobs().empty()) return "no jobs: `penstock submit JOB.textproto` registers one\n";
  Table table({"JOB", "STATE", "RECORDS", "BYTES", "SHARDS", "BATCH", "VIEW", "NOTE"}, {2, 3, 4, 5, 6});
  for (const auto& job : status.jobs()) {
    table.Add({job.name(), job.paused_by().empty() ? Lower(v1::JobState_Name(job.state())) : "paused",
               Count(job.records()), HumanBytes(job.bytes()), Count(job.shards()), Count(job.batch_size()),
               absl::StrCat(job.view_number()), JobNote(job)});
  }
  return table.Text() + FailureLines(status);
}

std::string SessionsTable(const v1::StatusReply& status) {
  Table table({"READER", "RANK", "EPOCH", "DONE", "ROWS/S", "WAITED", "THROUGH", "HOST"}, {3, 4, 5});
  bool any = false;
  for (const auto& job : status.jobs()) {
    for (const auto& s : job.sessions()) {
      any = true;
      const double done =
          s.epoch_positions() == 0 ? 0 : static_cast<double>(s.position()) / static_cast<double>(s.epoch_positions());
      table.Add({absl::StrCat(job.name(), "/", s.id()), absl::StrFormat("%d of %d", s.rank(), s.world_size()),
                 absl::StrCat(s.epoch()), absl::StrFormat("%.1f %%", done * 100),
                 absl::StrFormat("%.0f", s.rows_per_second()), absl::StrFormat("%.0f %%", s.wait_fraction() * 100),
                 s.carriers().empty() ? "-" : s.carriers(), s.host()});
    }
  }
  return any ? table.Text() + WaitLines(status) : "";
}

std::string DatasetsTable(const v1::StatusReply& status, int most, bool all) {
  Table table({"DATA SET", "ROWS", "WANTED", "ACTUAL", "PASSES", "RECORDS"}, {1, 2, 3, 4, 5});
  bool any = false;
  std::string others;
  for (const auto& job : status.jobs()) {
    if (job.datasets().empty() || (job.sessions().empty() && !all)) continue;
    any = true;
    const bool read = !job.sessions().empty();
    double shown = 0;  // share of the rows of the table
    const int rows = std::min(most, job.datasets_size());
    for (int i = 0; i < rows; ++i) {
      const auto& dataset = job.datasets(i);
      shown += dataset.wanted_share();
      table.Add({absl::StrCat(job.name(), "/", dataset.name()), read ? Count(dataset.rows()) : "-",
                 Percent(dataset.wanted_share()), job.blend_rows() > 0 ? Percent(dataset.actual_share()) : "-",
                 read ? absl::StrFormat("%.2f", dataset.passes()) : "-", Count(dataset.records())});
    }
    const uint64_t more = job.datasets_total() - static_cast<uint64_t>(rows);
    if (more == 0) continue;
    absl::StrAppend(&others, "  ", job.name(), ": ", Count(more, "further data set"), " with ",
                    Percent(std::max(0.0, 1 - shown)), " of the rows",
                    all ? " (--json shows all)" : absl::StrCat(" (penstock status ", job.name(), ")"), "\n");
  }
  return any ? table.Text() + others : "";
}

std::string WorkersTable(const v1::StatusReply& status) {
  if (status.workers().empty()) return "no workers: start some with `penstockd worker --coordinator HOST:PORT`\n";
  Table table(
      {"WORKER", "ADDRESS", "STATE", "THREADS", "ROWS/S", "ROWS", "OWNS", "MEMORY", "CACHE HITS", "READERS", ""},
      {3, 4, 5, 6, 7, 8, 9});
  for (const auto& worker : status.workers()) {
    const auto& load = worker.load();
    const bool there = StillThere(worker);  // the last numbers of a worker that has left are out of date
    const uint64_t lookups = load.record_cache_hits() + load.record_cache_misses();
    table.Add(
        {NameOf(worker), worker.address(), StateOf(worker), absl::StrCat(worker.threads()),
         there ? absl::StrFormat("%.0f", load.rows_per_second()) : "-", Count(load.rows()),
         Count(worker.owned_records()),
         there ? absl::StrCat(HumanBytes(load.memory_bytes()), " of ", HumanBytes(worker.memory_budget_bytes())) : "-",
         lookups == 0 || !there ? "-"
                                : absl::StrFormat("%.0f %%", 100.0 * static_cast<double>(load.record_cache_hits()) /
                                                                 static_cast<double>(lookups)),
         there ? absl::StrCat(load.sessions()) : "-", worker.note()});
  }
  return table.Text() + ReleaseLines(status) + BudgetLines(status) + CacheLines(status) + TuningLines(status) +
         FileErrorLines(status) + RejectedLines(status);
}

}  // namespace penstock::cli
