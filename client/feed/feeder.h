// The feeder: the process beside a trainer that brings its batches (docs/feed.md).
#ifndef PENSTOCK_CLIENT_FEED_FEEDER_H_
#define PENSTOCK_CLIENT_FEED_FEEDER_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/packet_socket.h"
#include "penstock/v1/feed.pb.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/records/dataset_files.h"

namespace penstock::feed {

// What an OPEN without a coordinator reads: the job, with its globs resolved, and the roots that they are confined to.
struct LocalSource {
  v1::JobSpec job;
  std::vector<DataRoot> roots;
};

struct FeederOptions {
  int parent = 0;  // the process that this one belongs to
  std::function<absl::StatusOr<LocalSource>(const v1::FeedOpen&)> open_local;
  // Where indexes are kept when HELLO says nothing.
  std::function<absl::StatusOr<std::string>()> index_dir;
  std::string release;
};

// Serves the trainer at the other end of `main` until it closes that or its process ends; OK then. An error is the
// trainer's mistake (it has been told), or the system's. Threads may be left behind that hang in storage: the process
// must end without waiting for them.
absl::Status Feed(PacketSocket main, const FeederOptions& options);

}  // namespace penstock::feed

#endif  // PENSTOCK_CLIENT_FEED_FEEDER_H_
