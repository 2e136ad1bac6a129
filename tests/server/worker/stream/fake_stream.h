// The client's end of a worker's stream, without a network.
#ifndef PENSTOCK_TESTS_SERVER_WORKER_STREAM_FAKE_STREAM_H_
#define PENSTOCK_TESTS_SERVER_WORKER_STREAM_FAKE_STREAM_H_

#include <gtest/gtest.h>

#include <chrono>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "server/worker/stream/stream_session.h"
#include "transport/frame.h"
#include "transport/grpc/byte_buffer.h"

namespace penstock {

// Writes stay in flight until the test (or `auto_done`) says that they are done.
class FakeStream : public MessageStream {
 public:
  void StartRead() override {
    MutexLock lock(&mutex_);
    EXPECT_FALSE(finished_);
    ++reads_;
    changed_.NotifyAll();
  }
  void StartWrite(grpc::ByteBuffer message) override {
    MutexLock lock(&mutex_);
    EXPECT_FALSE(finished_);
    EXPECT_FALSE(writing_) << "two writes at once";
    writing_ = true;
    v1::ServerHeader header;
    SliceCursor payload;
    EXPECT_TRUE(ParseFrame(*FromByteBuffer(message), &header, &payload).ok());
    headers_.push_back(header);
    in_flight_ = std::move(message);
    changed_.NotifyAll();
  }
  void Finish(absl::Status status) override {
    MutexLock lock(&mutex_);
    EXPECT_FALSE(finished_) << "finished twice";
    EXPECT_FALSE(writing_) << "finished while a write is in flight";
    finished_ = true;
    status_ = std::move(status);
    changed_.NotifyAll();
  }

  bool WaitUntilRead(int reads) {
    return Wait([this, reads]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return reads_ >= reads || finished_; });
  }
  bool WaitUntilWriting() {
    return Wait([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return writing_; });
  }
  absl::Status WaitUntilFinished() {
    EXPECT_TRUE(Wait([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return finished_; }));
    MutexLock lock(&mutex_);
    return status_;
  }
  // Takes the write in flight off; the caller then tells the session.
  void Sent() {
    grpc::ByteBuffer gone;
    MutexLock lock(&mutex_);
    writing_ = false;
    gone.Swap(&in_flight_);
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
  template <typename Condition>
  bool Wait(Condition condition) {
    const Nanos deadline = Clock::Real()->Now() + std::chrono::nanoseconds(std::chrono::seconds(20)).count();
    MutexLock lock(&mutex_);
    while (!condition()) {
      const Nanos left = deadline - Clock::Real()->Now();
      if (left <= 0) return false;
      changed_.WaitFor(&mutex_, std::chrono::nanoseconds(left));
    }
    return true;
  }

  Mutex mutex_;
  CondVar changed_;
  int reads_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer in_flight_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::ServerHeader> headers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SERVER_WORKER_STREAM_FAKE_STREAM_H_
