// Converts a recording to the messages that carry it.
#ifndef PENSTOCK_NET_TRACE_TRACE_PARTS_H_
#define PENSTOCK_NET_TRACE_TRACE_PARTS_H_

#include <cstddef>
#include <vector>

#include "base/trace/trace_recorder.h"
#include "penstock/v1/trace.pb.h"

namespace penstock::net {

// Splits a recording into one or more parts of at most `most_events` events. A reader needs no other part to read one.
// `like` holds the fields that are the same in all parts of this process.
std::vector<v1::TracePart> MakeTraceParts(const TraceRecording& recording, const v1::TracePart& like,
                                          size_t most_events);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_TRACE_TRACE_PARTS_H_
