// Makes many storage calls, several of them in flight.
#ifndef PENSTOCK_PIPELINE_STORAGE_RUN_CALLS_H_
#define PENSTOCK_PIPELINE_STORAGE_RUN_CALLS_H_

#include <cstddef>
#include <functional>

#include "absl/functional/any_invocable.h"

namespace penstock::storage {

// Calls start(0, ended) ... start(count - 1, ended) in order, at most `under_way` in flight, and blocks until each has
// called its `ended`. `start` runs on the caller's thread, which must not be a storage's own.
void RunCalls(size_t count, size_t under_way,
              const std::function<void(size_t i, absl::AnyInvocable<void() &&> ended)>& start);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_RUN_CALLS_H_
