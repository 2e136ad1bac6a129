// The worker's end of the data plane's protocol, over any carrier. It computes rows from their numbers, and misbehaves
// as a test asks.
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

namespace penstock::client {

// Deviations of a fake worker from a correct one.
struct Misbehavior {
  absl::Status refuse = absl::OkStatus();         // ends every session with this error
  int64_t break_after_rows = -1;                  // ends a stream before it would send more rows than this
  bool old_release = false;                       // accepts without a protocol, as releases up to 0.2 do
  bool silent = false;                            // accepts everything, sends nothing
  bool accepts_only = false;                      // sends only `accepted`
  bool twice = false;                             // sends each message of rows twice
  bool truncated = false;                         // sends messages of rows without their last byte
  bool lying_lengths = false;                     // one row's length is one too large, its neighbor's one too small
  bool huge_count = false;                        // a ragged column that claims 2^32 - 1 elements
  bool damaged_out_of_range = false;              // reports damaged records that the job does not have
  bool garbage = false;                           // sends bytes that are no messages, in place of rows
  bool unrequested = false;                       // sends rows far ahead of every grant
  std::set<uint64_t> masked = {};                 // rows without content
  std::map<uint64_t, uint64_t> substituted = {};  // rows that claim to be of another record
  std::map<uint64_t, absl::Status> failing = {};  // rows that cannot be made
  std::set<uint64_t> damaged = {};                // records with a damaged copy here
  std::set<uint64_t> decided = {};                // records that it knows to be bad: it masks their rows
  bool fails_bad = false;                         // rows of bad records fail, as under FAIL
  int rows_per_message = 3;
};

// Thread-safe.
class FakeStreams final : public transport::StreamAcceptor {
 public:
  FakeStreams(std::string id, FakeJob job);
  ~FakeStreams() override;

  std::shared_ptr<transport::StreamEvents> Accept(std::shared_ptr<transport::MessageStream> stream) override;

  const std::string& id() const { return id_; }
  void Behave(Misbehavior how);
  // Announces to all streams that the worker leaves.
  void Drain();
  // Ends all streams, as a dying worker does.
  void BreakAll();

  // Blocks until this number of streams is open.
  void WaitForStreams(int open) const;
  // Blocks until a client has reported that it waits for rows.
  void WaitForWaiting() const;

  int open_streams() const;
  uint64_t rows_sent() const;
  uint64_t rows_fetched() const;  // requested by Fetch
  uint64_t grants() const;

 private:
  struct Shared;
  class Stream;

  const std::string id_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace penstock::client

#endif  // PENSTOCK_TESTS_CLIENT_FAKES_FAKE_STREAMS_H_
