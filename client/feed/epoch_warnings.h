// Warnings of a feeder about the epochs of a job.
#ifndef PENSTOCK_CLIENT_FEED_EPOCH_WARNINGS_H_
#define PENSTOCK_CLIENT_FEED_EPOCH_WARNINGS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "penstock/client.h"
#include "penstock/v1/job.pb.h"

namespace penstock::feed {

// Returns warnings about epochs of `rows` rows in batches as `batch` has them, one sentence each.
using EpochWarnings = std::function<std::vector<std::string>(const v1::Batch& batch, uint64_t rows)>;

// Returns the batch of the reader's job, or its replacement.
v1::Batch BatchOf(const Reader& reader);

}  // namespace penstock::feed

#endif  // PENSTOCK_CLIENT_FEED_EPOCH_WARNINGS_H_
