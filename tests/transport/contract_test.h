// The contract of message_stream.h as tests that every carrier passes. A carrier's test file has a factory:
//
//   INSTANTIATE_TEST_SUITE_P(InProcess, CarrierContract, ::testing::Values(&MakeInProcess));
#ifndef PENSTOCK_TESTS_TRANSPORT_CONTRACT_TEST_H_
#define PENSTOCK_TESTS_TRANSPORT_CONTRACT_TEST_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "transport/message_stream.h"
#include "transport/peer.h"

namespace penstock::transport {

// A carrier under test.
class Carrier {
 public:
  virtual ~Carrier() = default;  // requires that all streams have closed
  virtual Transport* transport() = 0;
  // Returns the address whose streams `acceptor` accepts. Called once.
  virtual std::string Listen(StreamAcceptor* acceptor) = 0;
  // Returns an address without a listener.
  virtual std::string Nowhere() = 0;
  // Returns the kind of the peers of both ends.
  virtual Peer::Kind peer_kind() = 0;
  // Runs the carrier until done() holds. Returns false if it does not hold for a long time.
  virtual bool Await(const std::function<bool()>& done) = 0;
};

// Polls in real time, for carriers with their own threads. Returns false after 20 s.
bool AwaitRealTime(const std::function<bool()>& done);

// One end: records the received messages, and checks the order of events.
class RecordedEnd final : public StreamEvents {
 public:
  ~RecordedEnd() override;

  void SetStream(std::shared_ptr<MessageStream> stream);
  void Read();                      // reads one message
  void ReadAll();                   // reads now, and again after each message
  void Write(std::string message);  // queues the message after the earlier ones
  void WriteSlices(SliceList message);
  void Close(absl::Status status);

  std::vector<std::string> messages();
  size_t count();  // number of received messages
  size_t written();
  Peer peer();
  bool closed();
  absl::Status status();  // status of OnClosed
  SliceList last_message();

  void OnMessage(SliceList message) override;
  void OnWritten() override;
  void OnClosed(const absl::Status& status) override;

 private:
  void WriteNext();
  std::shared_ptr<MessageStream> stream();

  Mutex mutex_;
  std::shared_ptr<MessageStream> stream_ ABSL_GUARDED_BY(mutex_);
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_all_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<SliceList> to_write_ ABSL_GUARDED_BY(mutex_);
  size_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> messages_ ABSL_GUARDED_BY(mutex_);
  SliceList last_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mutex_);
};

// Keeps the worker's ends in the order of their arrival. For carriers without threads.
class RecordingAcceptor final : public StreamAcceptor {
 public:
  std::shared_ptr<StreamEvents> Accept(std::shared_ptr<MessageStream> stream) override {
    ends.push_back(std::make_shared<RecordedEnd>());
    ends.back()->SetStream(std::move(stream));
    return ends.back();
  }
  std::vector<std::shared_ptr<RecordedEnd>> ends;
};

using CarrierFactory = std::unique_ptr<Carrier> (*)();

class CarrierContract : public ::testing::TestWithParam<CarrierFactory>, public StreamAcceptor {
 protected:
  void SetUp() override;
  void TearDown() override;

  std::shared_ptr<StreamEvents> Accept(std::shared_ptr<MessageStream> stream) override;

  // Connects a stream and returns the client's end. worker() returns the worker's end.
  std::shared_ptr<RecordedEnd> Connect();
  // Waits for the worker's end of the next stream, and returns it. The order is that of acceptance.
  std::shared_ptr<RecordedEnd> worker();
  bool Await(const std::function<bool()>& done) { return carrier_->Await(done); }
  // Sets a function that runs on each stream before the worker's Accept returns.
  void InAccept(std::function<void(RecordedEnd*)> at_once) {
    MutexLock lock(&mutex_);
    in_accept_ = std::move(at_once);
  }

  std::unique_ptr<Carrier> carrier_;
  std::string address_;

 private:
  Mutex mutex_;
  std::function<void(RecordedEnd*)> in_accept_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<RecordedEnd>> accepted_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<RecordedEnd>> connected_ ABSL_GUARDED_BY(mutex_);
  size_t taken_ = 0;
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TESTS_TRANSPORT_CONTRACT_TEST_H_
