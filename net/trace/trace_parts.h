// A recording as the messages that carry it.
#ifndef PENSTOCK_NET_TRACE_TRACE_PARTS_H_
#define PENSTOCK_NET_TRACE_TRACE_PARTS_H_

#include <cstddef>
#include <vector>

#include "base/trace/trace_recorder.h"
#include "penstock/v1/trace.pb.h"

namespace penstock {

// Cut into parts of at most `most_events` events, each of which can be read without the others; at least one. `like`
// has what all parts say of their process.
std::vector<v1::TracePart> MakeTraceParts(const TraceRecording& recording, const v1::TracePart& like,
                                          size_t most_events);

}  // namespace penstock

#endif  // PENSTOCK_NET_TRACE_TRACE_PARTS_H_
