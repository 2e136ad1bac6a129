// Warnings of a feeder about the epochs of a job.
#ifndef PENSTOCK_CLIENT_FEED_EPOCH_WARNINGS_H_
#define PENSTOCK_CLIENT_FEED_EPOCH_WARNINGS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace penstock::feed {

// Returns warnings about epochs of `rows` rows in batches of `batch_size`, one sentence each. `last_batch` is DROP, PAD
// or PARTIAL.
using EpochWarnings =
    std::function<std::vector<std::string>(uint32_t batch_size, const std::string& last_batch, uint64_t rows)>;

}  // namespace penstock::feed

#endif  // PENSTOCK_CLIENT_FEED_EPOCH_WARNINGS_H_
