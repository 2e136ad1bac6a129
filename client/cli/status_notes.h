// Lines below the tables of `penstock status`.
#ifndef PENSTOCK_CLIENT_CLI_STATUS_NOTES_H_
#define PENSTOCK_CLIENT_CLI_STATUS_NOTES_H_

#include <string>

#include "penstock/v1/control.pb.h"

namespace penstock::cli {

// Returns the worker's name for display.
const std::string& NameOf(const v1::WorkerStatus& worker);

// Returns a job's last column: its progress, its readers, and the cause of a wait.
std::string JobNote(const v1::StatusReply::JobStatus& job);

// Returns the errors of failed jobs and failed replacements: wrapped lines "  train: ..." after an empty line, or "".
std::string FailureLines(const v1::StatusReply& status);

// Returns the errors of files that workers report: lines "  worker w1: ...", or "".
std::string FileErrorLines(const v1::StatusReply& status);

// Returns the content, hit rate and savings of the workers' caches, as lines "  worker w1: disk cache 1.2 GiB of 40.0
// GiB, ...", and their requests to remote storage. Returns "" if there is nothing to report.
std::string CacheLines(const v1::StatusReply& status);

// Returns the workers of another release than the coordinator's, as during an upgrade: lines "  worker w1: penstock
// 0.3.0, protocol 1; the coordinator is penstock 0.4.0". Returns "" if there are none.
std::string ReleaseLines(const v1::StatusReply& status);

// Returns "rejected 10.0.0.9 (alice) 1,204 times, last 3 s ago: ...".
std::string RejectedText(const v1::RejectedCaller& caller);

// Returns the callers that coordinator and workers rejected in the last minutes: lines "  coordinator: rejected
// 10.0.0.9 (alice) 1,204 times, last 3 s ago: ...". Returns "" if there are none.
std::string RejectedLines(const v1::StatusReply& status);

// Returns the origin of the workers' memory budgets: lines "  worker w1: memory budget 256 MiB (half of 512 MiB, ...)".
std::string BudgetLines(const v1::StatusReply& status);

// Returns the settings that workers tuned: lines "  worker w1: 2 threads, 48 more read (read threads 0 -> 48: ...)".
// Returns "" if no worker changed a setting.
std::string TuningLines(const v1::StatusReply& status);

// Returns the errors and waits of readers: lines "  train/s1-4, rank 0: ...", or "".
std::string WaitLines(const v1::StatusReply& status);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_STATUS_NOTES_H_
