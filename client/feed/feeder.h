// The feeder: a process on the trainer's host that fetches the trainer's batches (docs/feed.md).
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

// The source of an OPEN that names a job file or contains a job's text: this process reads the data itself. The globs
// of `job` do not depend on the working folder. Files outside `roots` are rejected.
struct LocalSource {
  v1::JobSpec job;
  std::vector<sources::DataRoot> roots;
};

struct FeederOptions {
  int parent = 0;                       // process id of the trainer
  storage::Storage* storage = nullptr;  // for jobs that this process reads; must live until the process exits
  // Returns the source of an OPEN. Loaders call it on their own threads, possibly concurrently.
  std::function<absl::StatusOr<LocalSource>(const v1::FeedOpen&)> open_local;
  // Returns the folder for indexes if HELLO names none.
  std::function<absl::StatusOr<std::string>()> index_dir;
  std::string release;                     // this program's release, for the trainer
  EpochWarnings epoch_warnings = nullptr;  // null: no warnings
};

// Serves the trainer at the other end of `main`. Returns OK when the trainer closes the socket or its process ends. Any
// other return is an error that ended the service, such as a packet against the protocol, too little memory or a failed
// system call. It is also an error if the trainer has already ended before the start. Before Feed returns an error, it
// tries to send the error to the trainer, unless it failed to start. Threads that hang in storage may still run: the
// process must exit without joining them, and `options` must live until then.
absl::Status Feed(PacketSocket main, const FeederOptions& options);

}  // namespace penstock::feed

#endif  // PENSTOCK_CLIENT_FEED_FEEDER_H_
