#ifndef PENSTOCK_SERVER_WORKER_STREAM_WIRE_COMPRESSION_H_
#define PENSTOCK_SERVER_WORKER_STREAM_WIRE_COMPRESSION_H_

namespace penstock::worker {

// Compression of rows that go over a network.
enum class WireCompression {
  kAuto,  // if it pays (compression_trial.h)
  kOff,
  kOn,  // for every client that supports it
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_STREAM_WIRE_COMPRESSION_H_
