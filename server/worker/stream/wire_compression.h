// The setting for compression of rows between hosts.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_WIRE_COMPRESSION_H_
#define PENSTOCK_SERVER_WORKER_STREAM_WIRE_COMPRESSION_H_

namespace penstock::worker {

// States when a worker compresses the rows that it sends over a network. Clients that do not support compression always
// receive uncompressed rows.
enum class WireCompression {
  kAuto,  // while it increases the rate of rows (compression_trial.h)
  kOff,   // never
  kOn,    // always
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_STREAM_WIRE_COMPRESSION_H_
