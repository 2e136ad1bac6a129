#ifndef PENSTOCK_SERVER_WORKER_STREAM_WIRE_COMPRESSION_H_
#define PENSTOCK_SERVER_WORKER_STREAM_WIRE_COMPRESSION_H_

namespace penstock {

// Of rows that go over a network.
enum class WireCompression {
  kAuto,  // where it is found to pay (compression_trial.h)
  kOff,
  kOn,  // wherever the client reads it
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_STREAM_WIRE_COMPRESSION_H_
