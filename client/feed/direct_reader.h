// A Reader of a job that is read in this process: computes rows in their places in the batch.
#ifndef PENSTOCK_CLIENT_FEED_DIRECT_READER_H_
#define PENSTOCK_CLIENT_FEED_DIRECT_READER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/feed/local_jobs.h"
#include "penstock/client.h"

namespace penstock::feed {

// Opens a reader. Its batches, order and states equal those of the same served job. Ignores the options about the job's
// name, groups, workers, copying threads, waits and notices. `loader` must outlive the reader. Batches may outlive
// both. Returns the errors of Reader::Open about ranks, batch sizes and states.
absl::StatusOr<std::unique_ptr<Reader>> OpenDirectReader(loader::Loader* loader, std::shared_ptr<const LoadedJob> job,
                                                         const ReaderOptions& options);

}  // namespace penstock::feed

#endif  // PENSTOCK_CLIENT_FEED_DIRECT_READER_H_
