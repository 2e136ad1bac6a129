// Warnings of a feeder about the epochs of a job.
#ifndef PENSTOCK_CLIENT_FEED_EPOCH_WARNINGS_H_
#define PENSTOCK_CLIENT_FEED_EPOCH_WARNINGS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace penstock::feed {

// Returns warnings, of one sentence each, about epochs of `rows` rows in batches of this size. `last_batch` is DROP,
// PAD or PARTIAL.
using EpochWarnings =
    std::function<std::vector<std::string>(uint32_t batch_size, const std::string& last_batch, uint64_t rows)>;

}  // namespace penstock::feed

#endif  // PENSTOCK_CLIENT_FEED_EPOCH_WARNINGS_H_
