// A trace as Chrome's trace events in JSON, which ui.perfetto.dev opens. Pure.
//
// The format: "Trace Event Format", https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
// (X: complete events; b, e: async ones; i: instants; s, t, f: flows, which bind to the slice around their time; M:
// names and order of processes and threads). Times are microseconds.
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
  std::string version;               // of who writes it
  std::vector<v1::TracePart> parts;  // of all processes, in any order
  std::vector<v1::MissingProcess> missing;
  uint64_t refused_parts = 0;
  // The file of a record of the snapshot and its number in it: "images-00003.tfrecord", 17. False: not known.
  std::function<bool(uint64_t record, std::string* file, uint64_t* number)> place = nullptr;
};

// What is in it, for who asked.
struct TraceSummary {
  int workers = 0, trainers = 0;
  uint64_t events = 0;
  uint64_t rows = 0;     // made
  uint64_t dropped = 0;  // events that there was no room for
  double seconds = 0;    // from the first event to the last
};

std::string TraceJson(const TraceInput& input, TraceSummary* summary);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_TRACE_TRACE_JSON_H_
