// Counts what the streams of a worker send, by carrier, for metrics.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_SENT_COUNTS_H_
#define PENSTOCK_SERVER_WORKER_STREAM_SENT_COUNTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::worker {

// Thread-safe. The counts of one Sums may differ by a message that is being sent.
class SentCounts {
 public:
  enum Carrier : uint8_t { kSharedMemory, kGrpc, kOther, kCarriers };

  struct Sums {
    std::array<uint64_t, kCarriers> bytes = {};    // of rows, not compressed
    std::array<uint64_t, kCarriers> streams = {};  // open streams that have sent rows
    uint64_t compressed_bytes = 0;                 // of rows, compressed
    uint64_t compressed_row_bytes = 0;             // size of the same rows before compression
    uint64_t granted_rows = 0, fetched_rows = 0;
    uint64_t connections = 0;  // of streams over gRPC
  };

  // One stream. Not thread-safe.
  class Stream {
   public:
    explicit Stream(SentCounts* counts) : counts_(counts) {}
    ~Stream() { Ends(); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    // Counts a message of rows. `carrier` is MessageStream::carrier(). `sent_bytes` is less than `row_bytes` if the
    // rows are compressed.
    void Sends(std::string_view carrier, uint64_t row_bytes, uint64_t sent_bytes, uint64_t granted, uint64_t fetched);
    // Removes the stream from the open ones.
    void Ends();

   private:
    void Follow(std::string_view carrier);

    SentCounts* const counts_;
    std::string name_;  // name of the carrier; "": no rows were sent
    Carrier carrier_ = kOther;
    uint64_t connections_ = 0;
  };

  Sums Get() const;

 private:
  std::array<std::atomic<uint64_t>, kCarriers> bytes_ = {}, streams_ = {};
  std::atomic<uint64_t> compressed_bytes_{0}, compressed_row_bytes_{0}, granted_rows_{0}, fetched_rows_{0},
      connections_{0};
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_STREAM_SENT_COUNTS_H_
