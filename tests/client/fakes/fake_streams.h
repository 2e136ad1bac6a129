// The worker's end of the data plane's protocol, over any carrier: computes rows from their numbers, and does wrong
// what a test asks it to.
#ifndef PENSTOCK_TESTS_CLIENT_FAKES_FAKE_STREAMS_H_
#define PENSTOCK_TESTS_CLIENT_FAKES_FAKE_STREAMS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "tests/client/fakes/fake_job.h"
#include "transport/message_stream.h"

namespace penstock {

// What a fake worker does otherwise than a good one.
struct Misbehavior {
  absl::Status refuse = absl::OkStatus();         // every session ends with it
  int64_t break_after_rows = -1;                  // a stream ends after that many rows
  bool silent = false;                            // takes everything, sends nothing
  bool accepts_only = false;                      // takes everything, sends nothing but that it accepts
  bool twice = false;                             // sends each message twice
  bool truncated = false;                         // messages lose their last byte
  bool lying_lengths = false;                     // a row's length is one too large, its neighbor's one too small
  bool huge_count = false;                        // a ragged column that claims 2^32 - 1 elements
  bool garbage = false;                           // messages that are none
  bool unasked = false;                           // rows far ahead of every grant
  bool faults_out_of_range = false;               // what is wrong is said of rows that are not in the message
  std::set<uint64_t> masked = {};                 // rows without content
  std::map<uint64_t, uint64_t> substituted = {};  // rows said to be another record's
  std::map<uint64_t, absl::Status> failing = {};  // rows that cannot be made
  int rows_per_message = 3;
};

// Thread-safe.
class FakeStreams final : public StreamAcceptor {
 public:
  FakeStreams(std::string id, FakeJob job);
  ~FakeStreams() override;

  std::shared_ptr<StreamEvents> Accept(std::shared_ptr<MessageStream> stream) override;

  const std::string& id() const { return id_; }
  void Behave(Misbehavior how);
  // Says to all streams that it leaves.
  void Drain();
  // All streams end, as when the worker dies.
  void BreakAll();

  int open_streams() const;
  uint64_t rows_sent() const;
  uint64_t rows_fetched() const;  // asked for by Fetch
  uint64_t waitings() const;
  uint64_t grants() const;

 private:
  struct Shared;
  class Stream;

  const std::string id_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_CLIENT_FAKES_FAKE_STREAMS_H_
