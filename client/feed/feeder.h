// The feeder: a process on the trainer's host that fetches its batches (docs/feed.md).
#ifndef PENSTOCK_CLIENT_FEED_FEEDER_H_
#define PENSTOCK_CLIENT_FEED_FEEDER_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/packet_socket.h"
#include "client/feed/epoch_warnings.h"
#include "penstock/v1/feed.pb.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/sources/dataset_files.h"
#include "pipeline/storage/storage.h"

namespace penstock::feed {

// The input of an OPEN without a coordinator: the job, with its globs resolved, and the roots to which they are
// confined.
struct LocalSource {
  v1::JobSpec job;
  std::vector<sources::DataRoot> roots;
};

struct FeederOptions {
  int parent = 0;                       // process id of the trainer
  storage::Storage* storage = nullptr;  // of jobs that are read in this process
  std::function<absl::StatusOr<LocalSource>(const v1::FeedOpen&)> open_local;
  // Returns the folder for indexes if HELLO names none.
  std::function<absl::StatusOr<std::string>()> index_dir;
  std::string release;
  EpochWarnings epoch_warnings = nullptr;
};

// Serves the trainer at the other end of `main`. Returns OK when the trainer closes the socket or its process ends.
// Returns an error if the trainer made a mistake, which was reported to it, or if a system call failed. Threads that
// hang in storage may remain: the process must exit without joining them.
absl::Status Feed(PacketSocket main, const FeederOptions& options);

}  // namespace penstock::feed

#endif  // PENSTOCK_CLIENT_FEED_FEEDER_H_
