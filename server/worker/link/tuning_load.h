// The part of heartbeats about the numbers of threads and requests that a worker has chosen.
#ifndef PENSTOCK_SERVER_WORKER_LINK_TUNING_LOAD_H_
#define PENSTOCK_SERVER_WORKER_LINK_TUNING_LOAD_H_

#include "penstock/v1/control.pb.h"
#include "pipeline/loader/self_tuning.h"

namespace penstock::worker {

// Sets all fields of `out` to the tuning's state.
void AddTuning(const loader::SelfTuning& tuning, v1::Tuning* out);

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_LINK_TUNING_LOAD_H_
