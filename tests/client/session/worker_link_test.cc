#include "client/session/worker_link.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "base/runtime/sim_scheduler.h"
#include "transport/in_process.h"

namespace penstock::client {
namespace {

constexpr size_t kMiB = 1 << 20;

// The worker's end. Records the begins of grants, if it reads at all, and sends `replies` messages of a MiB each.
class Worker final : public transport::StreamAcceptor {
 public:
  class End final : public transport::StreamEvents {
   public:
    explicit End(Worker* worker) : worker_(worker) {}
    void OnMessage(transport::SliceList message) override {
      v1::ClientMessage parsed;
      EXPECT_TRUE(parsed.ParseFromString(message.Joined()));
      worker_->begins.push_back(parsed.grant().begin());
      worker_->stream->StartRead();
    }
    void OnWritten() override { worker_->SendNext(); }
    void OnClosed(const absl::Status&) override { worker_->stream = nullptr; }

   private:
    Worker* const worker_;
  };

  std::shared_ptr<transport::StreamEvents> Accept(std::shared_ptr<transport::MessageStream> accepted) override {
    stream = std::move(accepted);
    if (reads) stream->StartRead();
    SendNext();
    return std::make_shared<End>(this);
  }
  void SendNext() {
    if (sent == replies) return;
    ++sent;
    stream->StartWrite(transport::SliceList({transport::Slice::Of(std::string(kMiB, 'w'))}));
  }

  int replies = 0, sent = 0;
  bool reads = true;
  std::vector<uint64_t> begins;
  std::shared_ptr<transport::MessageStream> stream;
};

class Events final : public LinkEvents {
 public:
  void OnLinkMessage(const std::shared_ptr<WorkerLink>&, transport::SliceList message) override {
    received.push_back(message.bytes());
  }
  void OnLinkClosed(const std::shared_ptr<WorkerLink>&, const absl::Status& status) override {
    EXPECT_FALSE(closed.has_value()) << "closed twice";
    closed = status;
  }
  std::vector<size_t> received;
  std::optional<absl::Status> closed;
};

class WorkerLinkTest : public testing::Test {
 protected:
  WorkerLinkTest() { transport_.Listen("worker", &worker_); }
  std::shared_ptr<WorkerLink> Open(const char* address = "worker") {
    return WorkerLink::Open(7, address, &transport_, events_);
  }
  static v1::ClientMessage Message(uint64_t number) {
    v1::ClientMessage message;
    message.mutable_grant()->set_begin(number);
    return message;
  }

  SimScheduler scheduler_{1};
  transport::InProcessTransport transport_{&scheduler_};
  Worker worker_;
  const std::shared_ptr<Events> events_ = std::make_shared<Events>();
};

TEST_F(WorkerLinkTest, MessagesArriveInTheOrderInWhichTheyAreSent) {
  const auto link = Open();
  std::vector<uint64_t> sent;
  for (uint64_t i = 0; i < 500; ++i) {
    link->Send(Message(i));
    sent.push_back(i);
  }
  scheduler_.RunFor(kSecond);
  EXPECT_EQ(worker_.begins, sent);
  EXPECT_FALSE(link->heard());
  link->Cancel();
  scheduler_.RunFor(kSecond);
  EXPECT_TRUE(events_->closed.has_value());
}

TEST_F(WorkerLinkTest, ReadsNoMoreThanTheReceiverConsumes) {
  worker_.replies = 100;
  const auto link = Open();
  scheduler_.RunFor(kSecond);
  EXPECT_TRUE(link->heard());
  const size_t most = WorkerLink::kMaxBacklogBytes / kMiB + 1;
  EXPECT_EQ(events_->received.size(), most);
  EXPECT_LT(worker_.sent, 100) << "the link blocks the worker's writes";
  for (size_t consumed = 0; consumed < 100; ++consumed) {
    ASSERT_LT(consumed, events_->received.size());
    EXPECT_LE(events_->received.size() - consumed, most);
    link->Consumed(events_->received[consumed]);
    scheduler_.RunFor(kSecond);
  }
  EXPECT_EQ(events_->received.size(), 100u);
  link->Cancel();
  scheduler_.RunFor(kSecond);
}

TEST_F(WorkerLinkTest, ClosesWhenTheWorkerReadsNothing) {
  worker_.reads = false;
  const auto link = Open();
  v1::ClientMessage message = Message(1);
  message.mutable_use_view()->mutable_view()->add_workers()->set_id(std::string(kMiB, 'v'));
  for (size_t i = 0; i < WorkerLink::kMaxQueuedMessages + 20; ++i) link->Send(i < 10 ? message : Message(i));
  scheduler_.RunFor(kSecond);
  EXPECT_TRUE(events_->closed.has_value());
}

TEST_F(WorkerLinkTest, ReportsAnAddressWithoutAListener) {
  const auto link = Open("nobody");
  link->Send(Message(1));
  scheduler_.RunFor(kSecond);
  ASSERT_TRUE(events_->closed.has_value());
  EXPECT_EQ(events_->closed->code(), absl::StatusCode::kUnavailable);
  link->Send(Message(2));
  link->Consumed(0);
  link->Cancel();
}

TEST_F(WorkerLinkTest, ReportsNothingAfterDetach) {
  worker_.replies = 3;
  const auto link = Open();
  link->Detach();
  link->Cancel();
  scheduler_.RunFor(kSecond);
  EXPECT_TRUE(events_->received.empty());
  EXPECT_FALSE(events_->closed.has_value());
  EXPECT_EQ(events_.use_count(), 1);
}

}  // namespace
}  // namespace penstock::client
