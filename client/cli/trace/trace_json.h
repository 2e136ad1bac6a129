// Converts a trace to Chrome's trace events in JSON, which ui.perfetto.dev opens. Pure.
//
// The format: "Trace Event Format", https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU (X:
// complete events; b, e: async ones; i: instants; s, t, f: flows, which bind to the slice around their time; M: names
// and order of processes and threads). Times are in microseconds.
#ifndef PENSTOCK_CLIENT_CLI_TRACE_TRACE_JSON_H_
#define PENSTOCK_CLIENT_CLI_TRACE_TRACE_JSON_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "penstock/v1/trace.pb.h"

namespace penstock::cli {

struct TraceInput {
  std::string job;
  std::string version;               // release of the writing program
  std::vector<v1::TracePart> parts;  // parts of all processes, in any order
  std::vector<v1::MissingProcess> missing;
  uint64_t refused_parts = 0;
  // Sets the file of a record of the snapshot and the record's number in it: "images-00003.tfrecord", 17. Returns false
  // if they are unknown.
  std::function<bool(uint64_t record, std::string* file, uint64_t* number)> place = nullptr;
};

// A summary of the trace for the user.
struct TraceSummary {
  int workers = 0, trainers = 0;
  uint64_t events = 0;
  uint64_t rows = 0;     // number of rows made
  uint64_t dropped = 0;  // events that a recording had no room for
  double seconds = 0;    // from the first event to the last
};

std::string TraceJson(const TraceInput& input, TraceSummary* summary);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_TRACE_TRACE_JSON_H_
