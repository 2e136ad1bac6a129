// A worker in this process: speaks the data plane's protocol over gRPC, computes rows from their numbers, and does
// wrong what a test asks it to.
#ifndef PENSTOCK_TESTS_CLIENT_FAKES_FAKE_WORKER_H_
#define PENSTOCK_TESTS_CLIENT_FAKES_FAKE_WORKER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "penstock/v1/data.grpc.pb.h"
#include "tests/client/fakes/fake_job.h"

namespace penstock {

// What a fake worker does otherwise than a good one.
struct Misbehavior {
  absl::Status refuse = absl::OkStatus();         // every session ends with it
  int64_t break_after_rows = -1;                  // a stream ends after that many rows
  bool silent = false;                            // takes everything, sends nothing
  bool twice = false;                             // sends each message twice
  bool truncated = false;                         // messages lose their last byte
  bool lying_lengths = false;                     // a row's length is one too large, its neighbor's one too small
  bool huge_count = false;                        // a ragged column that claims 2^32 - 1 elements
  bool garbage = false;                           // messages that are none
  bool unasked = false;                           // rows far ahead of every grant
  std::set<uint64_t> masked = {};                 // rows without content
  std::map<uint64_t, uint64_t> substituted = {};  // rows said to be another record's
  std::map<uint64_t, absl::Status> failing = {};  // rows that cannot be made
  int rows_per_message = 3;
};

class FakeWorker {
 public:
  FakeWorker(std::string id, FakeJob job);
  ~FakeWorker();

  ViewWorker view() const { return {id_, address_.ToString()}; }
  void Behave(Misbehavior how);
  // As SIGKILL: connections end, the port is closed.
  void Kill();
  // Comes back at the same address.
  void Restart();
  // Says to all streams that it leaves.
  void Drain();

  int open_streams() const;
  uint64_t rows_sent() const;
  uint64_t rows_fetched() const;  // asked for by Fetch
  uint64_t waitings() const;
  uint64_t grants() const;

  struct Shared;

 private:
  class Service;
  class StreamReactor;

  const std::string id_;
  Address address_{"127.0.0.1", 0};
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_CLIENT_FAKES_FAKE_WORKER_H_
