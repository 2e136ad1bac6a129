// A Reader on a job that is read in this process: rows are computed in their places in the batch.
#ifndef PENSTOCK_CLIENT_FEED_DIRECT_READER_H_
#define PENSTOCK_CLIENT_FEED_DIRECT_READER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/feed/local_jobs.h"
#include "penstock/client.h"

namespace penstock {

// Batches, order, states and errors are those of the same job served. `options.job` and what is about workers is not
// used. `loader` outlives the reader; batches may outlive both. Errors: as Reader::Open's about ranks, batch sizes and
// states.
absl::StatusOr<std::unique_ptr<Reader>> OpenDirectReader(Loader* loader, std::shared_ptr<const LoadedJob> job,
                                                         const ReaderOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FEED_DIRECT_READER_H_
