// One loader's thread against readers that the test holds: simultaneous events.
#include "client/feed/feed_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/runtime/clock.h"
#include "tests/client/feed/trainer.h"

namespace penstock::feed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Always at the start of an epoch. `next` provides each result of Next.
class HeldReader final : public Reader {
 public:
  explicit HeldReader(std::function<absl::Status()> next) : next_(std::move(next)) {}

  absl::StatusOr<Batch> Next(absl::Duration /*timeout*/) override { return next_(); }
  absl::Status status() const override { return absl::OkStatus(); }
  std::string SaveState() const override { return plan::SerializeState(plan::SessionState{}); }
  uint64_t steps_per_epoch() const override { return 1; }
  uint64_t steps_left_in_epoch() const override { return 1; }
  uint64_t rows_per_epoch() const override { return 1; }
  const std::string& job() const override { return job_; }
  uint64_t batch_size() const override { return 1; }
  std::vector<BatchChange> batch_changes() const override { return {}; }
  uint64_t batch_multiple() const override { return 0; }
  uint64_t step_in_epoch() const override { return 0; }
  std::string_view last_batch() const override { return "DROP"; }
  const std::vector<ColumnInfo>& columns() const override { return columns_; }
  const std::vector<std::string>& datasets() const override { return datasets_; }
  ReaderStats Stats() const override { return {}; }
  void Cancel() override {}

 private:
  const std::function<absl::Status()> next_;
  const std::string job_ = "held";
  const std::vector<ColumnInfo> columns_;
  const std::vector<std::string> datasets_;
};

class FeedLoaderTest : public ::testing::Test {
 protected:
  // Readers open with the functions of `readers_`, in order.
  explicit FeedLoaderTest() : arena_(*BatchArena::Create(1 << 20)) {
    shared_.arena = arena_.get();
    shared_.slots = &slots_;
    shared_.clock = &clock_;
    shared_.open_reader = [this](const v1::FeedOpen&, const ReaderOptions& options,
                                 const std::atomic<bool>&) -> absl::StatusOr<std::unique_ptr<Reader>> {
      if (opens_ != nullptr) opens_(options);
      return std::make_unique<HeldReader>(readers_.at(opened_++));
    };
  }

  void Begin() {
    auto [ours, theirs] = SocketPair();
    trainer_ = std::make_unique<End>(std::move(ours));
    loader_ = std::make_unique<FeedLoader>(&shared_, *PacketSocket::Create(std::move(theirs)), v1::FeedOpen(),
                                           [this] { ended_.set_value(); });
    EXPECT_EQ(trainer_->Receive(16).has_value(), true);
  }

  // Hands the packet over as the control thread does, on this thread. The loader has processed it on return.
  void Give(uint32_t type, uint32_t stream, const std::string& body) {
    const std::string packet = MakePacket(static_cast<Type>(type), stream, body);
    EXPECT_TRUE(loader_->OnPacket(*ParsePacket(packet)).ok());
  }
  void Want(uint32_t stream, uint64_t sequence) {
    const uint32_t rest[] = {1, 0};
    std::string body(16, '\0');
    std::memcpy(body.data(), &sequence, 8);
    std::memcpy(body.data() + 8, rest, 8);
    Give(17, stream, body);
  }
  void Seek(uint32_t stream, uint64_t accepted) { Give(19, stream, absl::StrCat("{\"accepted\": ", accepted, "}")); }

  void TearDown() override {
    if (loader_ == nullptr) return;
    loader_->Stop();
    ended_.get_future().wait();
    loader_.reset();
  }

  std::unique_ptr<BatchArena> arena_;
  SlotTable slots_;
  FeedShared shared_;
  ManualClock clock_;
  std::function<void(const ReaderOptions&)> opens_;  // runs while a reader opens; may be null
  std::vector<std::function<absl::Status()>> readers_;
  std::atomic<size_t> opened_{0};
  std::promise<void> ended_;
  std::unique_ptr<End> trainer_;
  std::unique_ptr<FeedLoader> loader_;
};

TEST_F(FeedLoaderTest, AFailureOfTheStreamBeforeASeekDoesNotBlockTheNextStream) {
  std::promise<void> within, sought;
  readers_ = {[&] {
                within.set_value();
                sought.get_future().wait();
                return absl::DataLossError("the old stream failed");
              },
              [] { return absl::DataLossError("the new stream failed"); }};
  Begin();
  Want(1, 0);
  within.get_future().wait();
  Seek(2, 0);
  sought.set_value();
  const auto answer = trainer_->Receive(20);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->stream, 2u);
  Want(2, 0);
  const auto failed = trainer_->Receive();
  ASSERT_TRUE(failed.has_value()) << "the new stream did not try its batch 0";
  EXPECT_EQ(failed->type, 21u);
  EXPECT_EQ(failed->stream, 2u);
  EXPECT_THAT(failed->body, HasSubstr("the new stream failed"));
}

TEST_F(FeedLoaderTest, AWantForAStreamThatIsNotYetOpenIsQueued) {
  std::promise<void> within, wanted;
  readers_ = {[&] {
                within.set_value();
                wanted.get_future().wait();
                return absl::CancelledError("by the SEEK");
              },
              [] { return absl::DataLossError("a second batch was requested"); }};
  Begin();
  Want(1, 0);
  within.get_future().wait();
  Seek(2, 0);
  Want(2, 0);
  wanted.set_value();
  EXPECT_EQ(trainer_->Receive()->type, 20u);
  const auto failed = trainer_->Receive();
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->stream, 2u);
}

TEST_F(FeedLoaderTest, OnlyTheLastOfSeveralSeeksIsAnswered) {
  std::promise<void> within, sought;
  readers_ = {[&] {
                within.set_value();
                sought.get_future().wait();
                return absl::CancelledError("by the SEEK");
              },
              [] { return absl::DataLossError("a second batch was requested"); }};
  Begin();
  Want(1, 0);
  within.get_future().wait();
  Seek(2, 0);
  Seek(3, 0);
  sought.set_value();
  const auto answer = trainer_->Receive(20);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->stream, 3u);
  Want(3, 0);
  EXPECT_EQ(trainer_->Receive(21)->stream, 3u);
}

TEST_F(FeedLoaderTest, AFailedBatchIsRetriedOnlyOnANewRequest) {
  std::atomic<int> tries{0};
  const auto next = [&] { return absl::DataLossError(absl::StrCat("try ", ++tries)); };
  readers_ = {next, next};
  Begin();
  Want(1, 0);
  EXPECT_THAT(trainer_->Receive(21)->body, HasSubstr("try 1"));
  Want(1, 0);
  const uint32_t rest[] = {1, 1};
  std::string again(16, '\0');
  std::memcpy(again.data() + 8, rest, 8);
  Give(17, 1, again);
  EXPECT_THAT(trainer_->Receive(21)->body, HasSubstr("try 2"));
  EXPECT_EQ(tries.load(), 2);
}

TEST_F(FeedLoaderTest, AWaitToOpenIsReportedWithItsWholeLength) {
  // The reader is opened in pieces of 5 s. Each piece reports its wait after 3 s.
  opens_ = [this](const ReaderOptions& options) {
    for (int piece = 0; piece < 7; ++piece) {
      clock_.Advance(3 * kSecond);
      options.on_wait("waiting to open: the coordinator is silent");
      clock_.Advance(2 * kSecond);
    }
  };
  readers_ = {[] { return absl::CancelledError("by the end"); }};
  auto [ours, theirs] = SocketPair();
  trainer_ = std::make_unique<End>(std::move(ours));
  loader_ = std::make_unique<FeedLoader>(&shared_, *PacketSocket::Create(std::move(theirs)), v1::FeedOpen(),
                                         [this] { ended_.set_value(); });
  std::vector<std::string> notices;
  for (auto packet = trainer_->Receive(); packet.has_value() && packet->type != 16; packet = trainer_->Receive()) {
    notices.push_back(packet->body);
  }
  EXPECT_THAT(notices, ElementsAre(HasSubstr("waiting 3 s to open: the coordinator is silent"),
                                   HasSubstr("waiting 33 s to open: the coordinator is silent")));
}

}  // namespace
}  // namespace penstock::feed
