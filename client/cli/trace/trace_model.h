// Combines the parts of a trace: processes, tracks and their events on one clock, and the flows between them. Pure.
#ifndef PENSTOCK_CLIENT_CLI_TRACE_TRACE_MODEL_H_
#define PENSTOCK_CLIENT_CLI_TRACE_TRACE_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/runtime/clock.h"
#include "client/cli/trace/clock_fit.h"
#include "penstock/v1/trace.pb.h"

namespace penstock::cli {

struct TraceModel {
  struct Event {
    std::string name;
    v1::TraceEvent::Kind kind = v1::TraceEvent::SPAN;
    Nanos begin = 0, end = 0;  // since the trace's first event
    uint64_t epoch = 0;
    uint64_t position = 0, record = 0;  // plus 1; 0: none
    uint64_t rows = 0, bytes = 0;
    Nanos spread = 0;
  };
  struct Track {
    std::string name;
    std::string session;
    uint64_t dropped = 0;
    std::vector<Event> events;  // sorted by start; for equal starts the enclosing event first
  };
  struct Process {
    std::string id;
    bool worker = false;
    std::string host, version;
    uint32_t rank = 0;
    std::vector<std::string> sessions;
    ClockBounds clock;
    Nanos offset = 0;  // added to its times to convert them to the coordinator's clock
    Nanos round_trip = 0;
    uint32_t exchanges = 0;
    std::vector<Track> tracks;
  };
  // A point of a flow. One kind of flow connects a row, its message and the receipt of the message. Another connects a
  // sealed step with the wait that it ended.
  struct Place {
    size_t process = 0, track = 0;
    Nanos at = 0;
  };
  struct Flow {
    std::string name;
    std::vector<Place> places;  // at least two, in order
  };
  std::vector<Process> processes;  // trainers by rank, then workers by id
  std::vector<Flow> flows;
};

TraceModel MakeTraceModel(const std::vector<v1::TracePart>& parts);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_TRACE_TRACE_MODEL_H_
