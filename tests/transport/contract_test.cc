#include "tests/transport/contract_test.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/runtime/clock.h"

namespace penstock::transport {

bool AwaitRealTime(const std::function<bool()>& done) {
  const Nanos deadline = Clock::Real()->Now() + 20 * kSecond;
  while (!done()) {
    if (Clock::Real()->Now() > deadline) return false;
    Clock::Real()->Pause(kMillisecond / 5);
  }
  return true;
}

// ---- RecordedEnd ---------------------------------------------------------------------------------------------------

RecordedEnd::~RecordedEnd() {
  MutexLock lock(&mutex_);
  EXPECT_TRUE(closed_.has_value()) << "the stream released its events before OnClosed";
}

void RecordedEnd::SetStream(std::shared_ptr<MessageStream> stream) {
  MutexLock lock(&mutex_);
  stream_ = std::move(stream);
}

std::shared_ptr<MessageStream> RecordedEnd::stream() {
  MutexLock lock(&mutex_);
  return stream_;
}

void RecordedEnd::Read() {
  {
    MutexLock lock(&mutex_);
    if (std::exchange(reading_, true)) return;
  }
  stream()->StartRead();
}

void RecordedEnd::ReadAll() {
  {
    MutexLock lock(&mutex_);
    read_all_ = true;
  }
  Read();
}

void RecordedEnd::Write(std::string message) { WriteSlices(SliceList({Slice::Of(std::move(message))})); }

void RecordedEnd::WriteSlices(SliceList message) {
  {
    MutexLock lock(&mutex_);
    to_write_.push_back(std::move(message));
  }
  WriteNext();
}

void RecordedEnd::WriteNext() {
  SliceList message;
  {
    MutexLock lock(&mutex_);
    if (writing_ || to_write_.empty()) return;
    writing_ = true;
    message = std::move(to_write_.front());
    to_write_.erase(to_write_.begin());
  }
  stream()->StartWrite(std::move(message));
}

void RecordedEnd::Close(absl::Status status) { stream()->Close(std::move(status)); }

void RecordedEnd::OnMessage(SliceList message) {
  bool again = false;
  {
    MutexLock lock(&mutex_);
    EXPECT_TRUE(std::exchange(reading_, false)) << "a message that was not requested";
    EXPECT_FALSE(closed_.has_value()) << "a message after OnClosed";
    messages_.push_back(message.Joined());
    last_ = std::move(message);
    again = read_all_;
  }
  if (again) Read();
}

void RecordedEnd::OnWritten() {
  {
    MutexLock lock(&mutex_);
    EXPECT_TRUE(std::exchange(writing_, false)) << "OnWritten without a write";
    EXPECT_FALSE(closed_.has_value()) << "OnWritten after OnClosed";
    ++written_;
  }
  WriteNext();
}

void RecordedEnd::OnClosed(const absl::Status& status) {
  MutexLock lock(&mutex_);
  EXPECT_FALSE(closed_.has_value()) << "OnClosed twice";
  closed_ = status;
}

std::vector<std::string> RecordedEnd::messages() {
  MutexLock lock(&mutex_);
  return messages_;
}

size_t RecordedEnd::count() {
  MutexLock lock(&mutex_);
  return messages_.size();
}

size_t RecordedEnd::written() {
  MutexLock lock(&mutex_);
  return written_;
}

Peer RecordedEnd::peer() { return stream()->peer(); }

bool RecordedEnd::closed() {
  MutexLock lock(&mutex_);
  return closed_.has_value();
}

absl::Status RecordedEnd::status() {
  MutexLock lock(&mutex_);
  return *closed_;
}

SliceList RecordedEnd::last_message() {
  MutexLock lock(&mutex_);
  return last_;
}

// ---- The fixture ---------------------------------------------------------------------------------------------------

void CarrierContract::SetUp() {
  carrier_ = GetParam()();
  address_ = carrier_->Listen(this);
}

void CarrierContract::TearDown() {
  std::vector<std::shared_ptr<RecordedEnd>> all;
  {
    MutexLock lock(&mutex_);
    all = accepted_;
    all.insert(all.end(), connected_.begin(), connected_.end());
  }
  for (const auto& end : all) end->Close(absl::CancelledError("the test is over"));
  for (const auto& end : all) EXPECT_TRUE(Await([&] { return end->closed(); })) << "a stream that does not close";
  for (const auto& end : all) end->SetStream(nullptr);
  all.clear();
  {
    MutexLock lock(&mutex_);
    accepted_.clear();
    connected_.clear();
  }
  carrier_.reset();
}

std::shared_ptr<StreamEvents> CarrierContract::Accept(std::shared_ptr<MessageStream> stream) {
  auto end = std::make_shared<RecordedEnd>();
  end->SetStream(std::move(stream));
  std::function<void(RecordedEnd*)> at_once;
  {
    MutexLock lock(&mutex_);
    accepted_.push_back(end);
    at_once = in_accept_;
  }
  if (at_once) at_once(end.get());
  return end;
}

std::shared_ptr<RecordedEnd> CarrierContract::Connect() {
  auto end = std::make_shared<RecordedEnd>();
  end->SetStream(carrier_->transport()->Connect(address_, end));
  MutexLock lock(&mutex_);
  connected_.push_back(end);
  return end;
}

std::shared_ptr<RecordedEnd> CarrierContract::worker() {
  EXPECT_TRUE(Await([this] {
    MutexLock lock(&mutex_);
    return accepted_.size() > taken_;
  }));
  MutexLock lock(&mutex_);
  return accepted_[taken_++];
}

// ---- The contract --------------------------------------------------------------------------------------------------

namespace {

std::string Pattern(size_t bytes, int number) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; i += 64) {
    std::memset(text.data() + i, static_cast<int>((i >> 6) * 31 + static_cast<size_t>(number) * 7) & 0xFF,
                std::min<size_t>(64, bytes - i));
  }
  return text;
}

const size_t kSizes[] = {0, 1, 5, 4096, 100'000, 3'000'000};

}  // namespace

TEST_P(CarrierContract, EachEndKnowsItsPeer) {
  Peer in_accept;
  InAccept([&in_accept](RecordedEnd* end) { in_accept = end->peer(); });
  const auto client = Connect();
  client->Write("hello");
  const auto served = worker();
  served->Read();
  ASSERT_TRUE(Await([&] { return served->count() == 1; }));
  for (const Peer& peer : {client->peer(), served->peer()}) {
    EXPECT_EQ(peer.kind, carrier_->peer_kind());
    EXPECT_FALSE(peer.ToString().empty());
    if (peer.kind == Peer::Kind::kHost) {
      EXPECT_EQ(peer, Peer::Host(geteuid(), getpid()));
    }
  }
  EXPECT_EQ(in_accept, served->peer());
  if (carrier_->peer_kind() == Peer::Kind::kNetwork) {
    EXPECT_EQ(client->peer(), Peer::Network(address_));
  }
  client->Close(absl::CancelledError(""));
  ASSERT_TRUE(Await([&] { return served->closed(); }));
  EXPECT_EQ(in_accept, served->peer());
}

TEST_P(CarrierContract, MessagesArriveWholeAndInOrderBothWays) {
  const auto client = Connect();
  client->Write("hello");  // a carrier may connect with the first message
  const auto served = worker();
  client->ReadAll();
  served->ReadAll();
  std::vector<std::string> sent = {"hello"}, answered;
  for (int i = 0; i < 30; ++i) {
    sent.push_back(Pattern(kSizes[i % 6], i));
    answered.push_back(Pattern(kSizes[(i + 3) % 6], 1000 + i));
    client->Write(sent.back());
    served->Write(answered.back());
  }
  ASSERT_TRUE(Await([&] { return client->count() == 30 && served->count() == 31; }));
  EXPECT_TRUE(client->messages() == answered);
  EXPECT_TRUE(served->messages() == sent);
}

TEST_P(CarrierContract, AMessageOfManySlicesIsOneMessage) {
  const auto client = Connect();
  client->Write("hello");
  const auto served = worker();
  std::string whole;
  SliceList message;
  for (int i = 0; i < 500; ++i) {
    std::string piece = Pattern(static_cast<size_t>(i % 7) * 40, i);
    whole += piece;
    message.Add(Slice::Of(std::move(piece)));
  }
  served->WriteSlices(std::move(message));
  client->Read();
  ASSERT_TRUE(Await([&] { return client->count() == 1; }));
  EXPECT_TRUE(client->messages()[0] == whole);
}

TEST_P(CarrierContract, AWriterWaitsForAReaderThatReadsNothingAndLosesNoMessage) {
  const auto client = Connect();
  client->Write("hello");
  const auto served = worker();
  constexpr int kMessages = 100;
  for (int i = 0; i < kMessages; ++i) served->Write(Pattern(1 << 18, i));
  // The length of this wait does not matter. A carrier buffers a few MiB, but not all 25 MiB.
  size_t taken = 0;
  for (int looks = 0; looks < 20; ++looks) {
    Await([&, rounds = 0]() mutable { return ++rounds > 10; });
    taken = served->written();
  }
  EXPECT_LT(taken, 64u);
  client->ReadAll();
  ASSERT_TRUE(Await([&] { return client->count() == kMessages; }))
      << client->count() << " of " << served->written()
      << " written messages arrived; closed: " << (client->closed() ? client->status().ToString() : "no");
  const std::vector<std::string> messages = client->messages();
  for (int i = 0; i < kMessages; ++i) EXPECT_TRUE(messages[i] == Pattern(1 << 18, i)) << i;
}

TEST_P(CarrierContract, AWorkerMayWriteBeforeAcceptReturns) {
  InAccept([](RecordedEnd* served) {
    served->Write("draining");
    served->Write("soon");
  });
  const auto client = Connect();
  client->Write("hello");
  client->ReadAll();
  const auto served = worker();
  ASSERT_TRUE(Await([&] { return client->count() == 2 && served->written() == 2; }));
  EXPECT_EQ(client->messages(), (std::vector<std::string>{"draining", "soon"}));
}

TEST_P(CarrierContract, AWorkerMayRejectBeforeAcceptReturns) {
  InAccept([](RecordedEnd* served) { served->Close(absl::ResourceExhaustedError("there are too many streams")); });
  const auto client = Connect();
  client->Write("hello");
  client->ReadAll();
  const auto served = worker();
  ASSERT_TRUE(Await([&] { return client->closed() && served->closed(); }));
  EXPECT_EQ(client->status(), absl::ResourceExhaustedError("there are too many streams"));
  EXPECT_EQ(client->count(), 0u);
}

TEST_P(CarrierContract, MessagesWrittenBeforeACloseArriveBeforeItsStatus) {
  const auto client = Connect();
  client->Write("hello");
  const auto served = worker();
  served->Write("one");
  served->Write("two");
  ASSERT_TRUE(Await([&] { return served->written() == 2; }));
  served->Close(absl::FailedPreconditionError("the job is gone"));
  client->ReadAll();
  ASSERT_TRUE(Await([&] { return client->closed() && served->closed(); }));
  EXPECT_EQ(client->messages(), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(client->status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(client->status().message(), "the job is gone");
}

TEST_P(CarrierContract, ACloseWithOkIsNoError) {
  const auto client = Connect();
  client->Write("hello");
  const auto served = worker();
  client->ReadAll();
  served->Close(absl::OkStatus());
  ASSERT_TRUE(Await([&] { return client->closed() && served->closed(); }));
  EXPECT_TRUE(client->status().ok()) << client->status();
}

TEST_P(CarrierContract, AClientsCloseReachesAWorkerThatDoesNotReadAndIsBlockedInWrites) {
  const auto client = Connect();
  client->Write("hello");
  const auto served = worker();
  for (int i = 0; i < 100; ++i) served->Write(Pattern(1 << 18, i));
  client->Close(absl::OkStatus());
  ASSERT_TRUE(Await([&] { return client->closed() && served->closed(); }));
  EXPECT_TRUE(served->status().ok()) << served->status();
  EXPECT_EQ(client->status().code(), absl::StatusCode::kCancelled);
}

TEST_P(CarrierContract, AWorkersCloseEndsEvenIfTheClientNeverReads) {
  const auto client = Connect();
  client->Write("hello");
  const auto served = worker();
  for (int i = 0; i < 100; ++i) served->Write(Pattern(1 << 18, i));
  EXPECT_TRUE(Await([&] { return served->written() >= 1; }));
  served->Close(absl::ResourceExhaustedError("hoards rows"));
  EXPECT_TRUE(Await([&] { return served->closed(); }));
}

TEST_P(CarrierContract, AStreamToAnAddressWithoutAListenerClosesAsUnavailable) {
  auto end = std::make_shared<RecordedEnd>();
  auto stream = carrier_->transport()->Connect(carrier_->Nowhere(), end);
  end->SetStream(stream);
  end->Write("hello");
  end->ReadAll();
  ASSERT_TRUE(Await([&] { return end->closed(); }));
  EXPECT_EQ(end->status().code(), absl::StatusCode::kUnavailable) << end->status();
  end->SetStream(nullptr);
}

TEST_P(CarrierContract, CallsAfterTheEndDoNothing) {
  const auto client = Connect();
  client->Write("hello");
  const auto served = worker();
  client->Close(absl::OkStatus());
  ASSERT_TRUE(Await([&] { return client->closed() && served->closed(); }));
  for (const auto& end : {client, served}) {
    end->ReadAll();
    end->Write("late");
    end->Close(absl::InternalError("late"));
  }
  Await([rounds = 0]() mutable { return ++rounds > 20; });
  EXPECT_TRUE(client->messages().empty());
  EXPECT_TRUE(served->messages().empty());
}

TEST_P(CarrierContract, SlicesOutliveTheirStream) {
  const auto client = Connect();
  client->Write("hello");
  const auto served = worker();
  served->Write(Pattern(300'000, 3));
  client->Read();
  ASSERT_TRUE(Await([&] { return client->count() == 1; }));
  const SliceList kept = client->last_message();
  client->Close(absl::OkStatus());
  ASSERT_TRUE(Await([&] { return client->closed() && served->closed(); }));
  EXPECT_TRUE(kept.Joined() == Pattern(300'000, 3));
}

TEST_P(CarrierContract, TheEventsAreReleasedAfterTheEnd) {
  std::weak_ptr<RecordedEnd> gone;
  {
    auto end = std::make_shared<RecordedEnd>();
    gone = end;
    end->SetStream(carrier_->transport()->Connect(address_, end));
    end->Write("hello");
    end->Close(absl::OkStatus());
    ASSERT_TRUE(Await([&] { return end->closed(); }));
    end->SetStream(nullptr);
  }
  EXPECT_TRUE(Await([&] { return gone.expired(); }));
}

// Streams end at any moment, from either side or both at once, with reads and writes under way.
TEST_P(CarrierContract, StreamsMayEndAtAnyMoment) {
  for (int round = 0; round < 60; ++round) {
    const auto client = Connect();
    client->Write("hello");
    const auto served = worker();
    client->ReadAll();
    served->ReadAll();
    for (int i = 0; i < 8; ++i) {
      client->Write(Pattern(2000, i));
      served->Write(Pattern(200'000, i));
    }
    const size_t until = static_cast<size_t>(round % 9);
    Await([&] { return client->count() >= until; });
    if (round % 3 != 1) client->Close(absl::OkStatus());
    if (round % 3 != 0) served->Close(absl::AbortedError("any moment"));
    ASSERT_TRUE(Await([&] { return client->closed() && served->closed(); }))
        << "round " << round << ": client " << client->closed() << ", worker " << served->closed() << ", got "
        << client->count() << " of " << served->written() << ", worker got " << served->count() << " of "
        << client->written();
    const std::vector<std::string> got = client->messages();
    for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(got[i] == Pattern(200'000, static_cast<int>(i)));
  }
}

}  // namespace penstock::transport
