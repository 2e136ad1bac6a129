// Many calls to a storage, several under way at a time.
#ifndef PENSTOCK_PIPELINE_IMPORT_RUN_CALLS_H_
#define PENSTOCK_PIPELINE_IMPORT_RUN_CALLS_H_

#include <cstddef>
#include <functional>

#include "absl/functional/any_invocable.h"

namespace penstock {

// Starts start(0, ended) ... start(count - 1, ended) in order, at most `under_way` at once, and waits until each has
// called its `ended`. From one thread; not from a storage's own.
void RunCalls(size_t count, size_t under_way,
              const std::function<void(size_t i, absl::AnyInvocable<void() &&> ended)>& start);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_RUN_CALLS_H_
