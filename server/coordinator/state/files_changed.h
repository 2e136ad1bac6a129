// What became of a data set's files since they were frozen.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_FILES_CHANGED_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_FILES_CHANGED_H_

#include <string>

#include "penstock/v1/submitted_job.pb.h"

namespace penstock {

// In words, "2 new (data/a, data/b), 1 gone (data/c), 1 of another size (data/d: 100 bytes, 120 now)"; empty where
// nothing changed. `now` is in the order of (root, path), as snapshots are.
std::string FilesChanged(const v1::Snapshot& then, const google::protobuf::RepeatedPtrField<v1::Shard>& now);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_FILES_CHANGED_H_
