// Compares the files of a data set with its snapshot.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_FILES_CHANGED_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_FILES_CHANGED_H_

#include <string>

#include "penstock/v1/submitted_job.pb.h"

namespace penstock::coordinator {

// Describes the changes, for example "2 new (data/a, data/b), 1 gone (data/c), 1 of another size (data/d: 100 bytes,
// 120 now)". Names at most three files of each kind. Returns "" if nothing changed. `now` must be ordered as snapshots
// are. `set_files` has the number of files of each data set if they have names.
std::string FilesChanged(const v1::Snapshot& then, const google::protobuf::RepeatedPtrField<v1::Shard>& now,
                         const google::protobuf::RepeatedField<uint32_t>& set_files = {});

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_FILES_CHANGED_H_
