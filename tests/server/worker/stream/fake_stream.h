// The client's end of a worker's stream, without a network.
#ifndef PENSTOCK_TESTS_SERVER_WORKER_STREAM_FAKE_STREAM_H_
#define PENSTOCK_TESTS_SERVER_WORKER_STREAM_FAKE_STREAM_H_

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "penstock/v1/data.pb.h"
#include "transport/frame.h"
#include "transport/message_stream.h"
#include "transport/peer.h"

namespace penstock::worker {

// A carrier's stream. Writes stay in flight until the test accepts them. Notifies the session of a close by either
// side.
class FakeStream : public transport::MessageStream {
 public:
  void SetEvents(const std::shared_ptr<transport::StreamEvents>& events) {
    bool finished = false;
    {
      MutexLock lock(&mutex_);
      events_ = events;
      finished = finished_;
    }
    if (finished) events->OnClosed(status_of());
  }

  void StartRead() override {
    MutexLock lock(&mutex_);
    if (finished_) return;
    ++reads_;
    changed_.NotifyAll();
  }
  void StartWrite(transport::SliceList message) override {
    MutexLock lock(&mutex_);
    if (finished_) return;
    EXPECT_FALSE(writing_) << "two writes at once";
    writing_ = true;
    v1::ServerHeader header;
    transport::SliceCursor payload;
    EXPECT_TRUE(transport::ParseFrame(message, &header, &payload).ok());
    headers_.push_back(header);
    in_flight_ = std::move(message);
    changed_.NotifyAll();
  }
  void Close(absl::Status status) override { Finish(std::move(status)); }
  transport::Peer peer() const override { return transport::Peer::Network("10.0.0.7:5123"); }
  std::string_view carrier() const override { return "fake"; }

  // The client's side.
  void Send(const v1::ClientMessage& message) { SendBytes(message.SerializeAsString()); }
  void SendBytes(std::string bytes) {
    if (const auto events = this->events())
      events->OnMessage(transport::SliceList({transport::Slice::Of(std::move(bytes))}));
  }
  void Leave() { Finish(absl::OkStatus()); }
  // Accepts the write in flight.
  void Take() {
    transport::SliceList gone;
    {
      MutexLock lock(&mutex_);
      if (finished_ || !writing_) return;
      writing_ = false;
      std::swap(gone, in_flight_);
    }
    gone = transport::SliceList();
    if (const auto events = this->events()) events->OnWritten();
  }

  bool WaitUntilRead(int reads) {
    return Wait([this, reads]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return reads_ >= reads || finished_; });
  }
  bool WaitUntilWriting() {
    return Wait([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return writing_; });
  }
  absl::Status WaitUntilFinished() {
    EXPECT_TRUE(Wait([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return finished_; }));
    return status_of();
  }
  absl::Status status_of() {
    MutexLock lock(&mutex_);
    return status_;
  }
  std::vector<v1::ServerHeader> headers() {
    MutexLock lock(&mutex_);
    return headers_;
  }
  int reads() {
    MutexLock lock(&mutex_);
    return reads_;
  }
  bool writing() {
    MutexLock lock(&mutex_);
    return writing_;
  }
  bool finished() {
    MutexLock lock(&mutex_);
    return finished_;
  }

 private:
  std::shared_ptr<transport::StreamEvents> events() {
    MutexLock lock(&mutex_);
    return events_;
  }
  void Finish(absl::Status status) {
    std::shared_ptr<transport::StreamEvents> events;
    transport::SliceList gone;
    {
      MutexLock lock(&mutex_);
      if (finished_) return;
      finished_ = true;
      writing_ = false;
      status_ = status;
      std::swap(gone, in_flight_);
      events = std::move(events_);
      changed_.NotifyAll();
    }
    if (events != nullptr) events->OnClosed(status);
  }

  template <typename Condition>
  bool Wait(Condition condition) {
    MutexLock lock(&mutex_);
    while (!condition()) {
      if (!changed_.WaitFor(&mutex_, std::chrono::seconds(20))) return condition();
    }
    return true;
  }

  Mutex mutex_;
  CondVar changed_;
  int reads_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<transport::StreamEvents> events_ ABSL_GUARDED_BY(mutex_);
  transport::SliceList in_flight_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::ServerHeader> headers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::worker

#endif  // PENSTOCK_TESTS_SERVER_WORKER_STREAM_FAKE_STREAM_H_
