// What is wrong or waited for, in lines under the tables of `penstock status`.
#ifndef PENSTOCK_CLIENT_CLI_STATUS_NOTES_H_
#define PENSTOCK_CLIENT_CLI_STATUS_NOTES_H_

#include <string>

#include "penstock/v1/control.pb.h"

namespace penstock::cli {

// A job's last column: how far it is, who reads it, what it waits for.
std::string JobNote(const v1::StatusReply::JobStatus& job);

// Why jobs, and what was to replace them, failed: "  train: ..." each, wrapped, behind an empty line; "" where none
// did.
std::string FailureLines(const v1::StatusReply& status);

// What workers say keeps them from making rows: "  worker w1: ..." each; "" where nothing does.
std::string TroubleLines(const v1::StatusReply& status);

// What workers' caches hold, how often they have what is asked of them, and what that saved: "  worker w1: disk cache
// 1.2 GiB of 40.0 GiB, ..." each; what they ask of far storage; "" where there is nothing to tell.
std::string CacheLines(const v1::StatusReply& status);

// What workers have set by themselves: "  worker w1: 2 threads, 48 more read (read threads 0 -> 48: ...)" each; ""
// where all is as it was begun.
std::string TuningLines(const v1::StatusReply& status);

// What is wrong with readers and what they wait for: "  train/s1-4, rank 0: ..." each; "" where there is nothing.
std::string WaitLines(const v1::StatusReply& status);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_STATUS_NOTES_H_
