#include "transport/lanes/laned_client.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "transport/lanes/lane_order.h"
#include "transport/peer.h"

namespace penstock::transport {
namespace {

// Events of the lanes run on any threads. Events of the stream run one at a time: a thread that finds none in progress
// calls the next one (Run). Each lane is read while the order holds no message of it.
class LanedClient final : public MessageStream, public std::enable_shared_from_this<LanedClient> {
 public:
  LanedClient(ConnectLane connect, std::shared_ptr<StreamEvents> events, PostTask post, const Clock* clock,
              const LaneOffer& offer)
      : connect_(std::move(connect)),
        post_(std::move(post)),
        clock_(clock),
        offer_(offer),
        name_(RandomHexId(offer.random)),
        events_(std::move(events)) {}

  // Opens the next lane.
  void Open();

  void StartRead() override;
  void StartWrite(SliceList message) override;
  void Close(absl::Status status) override;
  Peer peer() const override;
  std::string_view carrier() const override;

 private:
  class LaneEvents final : public StreamEvents {
   public:
    LaneEvents(std::shared_ptr<LanedClient> of, size_t lane) : of_(std::move(of)), lane_(lane) {}
    void OnMessage(SliceList message) override { of_->FromLane(lane_, std::move(message)); }
    void OnWritten() override {
      if (lane_ == 0) of_->Written();
    }
    void OnClosed(const absl::Status& status) override { of_->LaneClosed(lane_, status); }

   private:
    const std::shared_ptr<LanedClient> of_;
    const size_t lane_;
  };

  struct Lane {
    std::shared_ptr<MessageStream> stream;  // null before it is connected and after it has closed
    bool open = true;                       // its OnClosed has not run
    bool reading = false;
    bool joined = false;      // the worker may use it
    Nanos last_message = -1;  // time of its last message
  };
  using Streams = std::vector<std::shared_ptr<MessageStream>>;
  enum class Numbered { kUnknown, kYes, kNo };

  void FromLane(size_t lane, SliceList message);
  void Written();
  void LaneClosed(size_t lane, const absl::Status& status);
  // Calls the stream's next events while there are any.
  void Run();

  // Returns the lanes to read from, and marks them as being read.
  Streams ToRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds `bytes` to the measurement. Returns true if the client should open another lane.
  bool WantsLane(uint64_t bytes, Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Fails the stream with `status` unless it has ended. Returns the lanes to close.
  Streams Fail(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Streams Connected() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the stream's final status once no further message can arrive.
  std::optional<absl::Status> End() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ConnectLane connect_;
  const PostTask post_;
  const Clock* const clock_;
  const LaneOffer offer_;
  const std::string name_;

  mutable Mutex mutex_;
  std::shared_ptr<StreamEvents> events_ ABSL_GUARDED_BY(mutex_);  // null after the end
  std::vector<Lane> lanes_ ABSL_GUARDED_BY(mutex_);               // the first opened the stream
  LaneOrder order_ ABSL_GUARDED_BY(mutex_);
  Numbered numbered_ ABSL_GUARDED_BY(mutex_) = Numbered::kUnknown;  // whether the worker's messages have prefixes
  uint64_t unnumbered_ ABSL_GUARDED_BY(mutex_) = 0;
  bool wanted_ ABSL_GUARDED_BY(mutex_) = false;   // a StartRead waits for its message
  bool calling_ ABSL_GUARDED_BY(mutex_) = false;  // an event is running
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;  // Close was called
  bool enough_ ABSL_GUARDED_BY(mutex_) = false;   // open no more lanes: one could not be opened
  std::optional<absl::Status> failed_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> first_closed_ ABSL_GUARDED_BY(mutex_);  // status of the first lane's end
  std::optional<uint64_t> messages_ ABSL_GUARDED_BY(mutex_);          // total, once the worker reported it
  Nanos window_began_ ABSL_GUARDED_BY(mutex_) = -1;
  uint64_t window_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t used_ ABSL_GUARDED_BY(mutex_) = 1;  // number of lanes used in the last window
};

absl::Status NotUnderstood() { return absl::InternalError("a worker's message is numbered as none can be"); }

void CloseAll(const std::vector<std::shared_ptr<MessageStream>>& streams, const absl::Status& status) {
  for (const auto& stream : streams) stream->Close(status);
}

void LanedClient::Open() {
  size_t number = 0;
  {
    MutexLock lock(&mutex_);
    number = lanes_.size();
    if (number == kMostLanes) return;
    lanes_.emplace_back();
  }
  std::shared_ptr<MessageStream> stream =
      connect_(LaneCall{name_, number > 0}, std::make_shared<LaneEvents>(shared_from_this(), number));
  bool read = false, close = false;
  {
    MutexLock lock(&mutex_);
    Lane& lane = lanes_[number];
    if (!lane.open) return;
    lane.stream = stream;
    close = closing_ || failed_.has_value() || first_closed_.has_value();
    read = lane.reading = number > 0 && !close;
  }
  if (close) stream->Close(absl::CancelledError("the stream has ended"));
  if (read) stream->StartRead();
}

void LanedClient::StartRead() {
  Streams read;
  bool post = false;
  {
    MutexLock lock(&mutex_);
    if (events_ == nullptr || closing_ || failed_) return;
    wanted_ = true;
    if (calling_) return;  // the thread in Run continues
    post = order_.HasNext() || End().has_value();
    if (!post) read = ToRead();
  }
  for (const auto& stream : read) stream->StartRead();
  if (post) {
    post_([self = shared_from_this()] { self->Run(); });
  }
}

void LanedClient::StartWrite(SliceList message) {
  std::shared_ptr<MessageStream> first;
  {
    MutexLock lock(&mutex_);
    if (closing_ || failed_) return;
    first = lanes_[0].stream;
  }
  if (first != nullptr) first->StartWrite(std::move(message));
}

void LanedClient::Close(absl::Status status) {
  Streams close;
  bool ended = false;
  {
    MutexLock lock(&mutex_);
    if (events_ == nullptr || std::exchange(closing_, true)) return;
    order_.Clear();
    close = Connected();
    ended = End().has_value();
  }
  CloseAll(close, status);
  // All lanes have closed and their messages are unread, so no other event would report the end.
  if (ended) {
    post_([self = shared_from_this()] { self->Run(); });
  }
}

Peer LanedClient::peer() const {
  MutexLock lock(&mutex_);
  return lanes_[0].stream == nullptr ? Peer() : lanes_[0].stream->peer();
}

std::string_view LanedClient::carrier() const {
  MutexLock lock(&mutex_);
  const std::string_view first = lanes_[0].stream == nullptr ? "grpc" : lanes_[0].stream->carrier();
  return LanedCarrier(first, used_);
}

LanedClient::Streams LanedClient::Connected() const {
  Streams streams;
  for (const Lane& lane : lanes_) {
    if (lane.stream != nullptr) streams.push_back(lane.stream);
  }
  return streams;
}

LanedClient::Streams LanedClient::ToRead() {
  Streams streams;
  if (closing_ || failed_) return streams;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    if (lane.stream == nullptr || lane.reading || order_.Holds(i)) continue;
    lane.reading = true;
    streams.push_back(lane.stream);
  }
  return streams;
}

bool LanedClient::WantsLane(uint64_t bytes, Nanos now) {
  if (window_began_ < 0) window_began_ = now;
  window_bytes_ += bytes;
  const Nanos length = now - window_began_;
  if (length < offer_.window) return false;
  const double rate = static_cast<double>(window_bytes_) * kSecond / static_cast<double>(length);
  size_t used = 0, open = 0;
  for (const Lane& lane : lanes_) {
    open += lane.open ? 1 : 0;
    used += lane.last_message >= window_began_ ? 1 : 0;
  }
  window_began_ = now;
  window_bytes_ = 0;
  used_ = used;
  return numbered_ == Numbered::kYes && !enough_ && rate >= offer_.bytes_per_second && lanes_.size() < kMostLanes &&
         used == open;
}

LanedClient::Streams LanedClient::Fail(absl::Status status) {
  if (closing_ || failed_) return {};
  failed_ = std::move(status);
  order_.Clear();
  return Connected();
}

void LanedClient::FromLane(size_t number, SliceList message) {
  Streams close;
  std::shared_ptr<MessageStream> joined;
  bool open = false;
  {
    MutexLock lock(&mutex_);
    Lane& lane = lanes_[number];
    lane.reading = false;
    if (closing_ || failed_) return;
    const uint64_t bytes = message.bytes();
    std::optional<LanePrefix> prefix;
    if (numbered_ != Numbered::kNo) {
      prefix = TakePrefix(&message);
      if (numbered_ == Numbered::kUnknown) numbered_ = prefix ? Numbered::kYes : Numbered::kNo;
    }
    if (numbered_ == Numbered::kNo) prefix = LanePrefix{LanePrefix::Kind::kMessage, unnumbered_++};
    bool good = prefix.has_value();
    if (good && prefix->kind == LanePrefix::Kind::kMessage) {
      const Nanos now = clock_->Now();
      lane.last_message = now;
      good = order_.Add(number, prefix->number, std::move(message));
      open = good && WantsLane(bytes, now);
    } else if (good && prefix->kind == LanePrefix::Kind::kHello && number > 0 && !lane.joined) {
      lane.joined = true;
      joined = lane.stream;
    } else if (good && prefix->kind == LanePrefix::Kind::kEnd && number == 0) {
      messages_ = prefix->number;
    } else {
      good = false;
    }
    if (!good) close = Fail(NotUnderstood());
  }
  CloseAll(close, NotUnderstood());
  if (joined != nullptr) joined->StartWrite(WithPrefix({LanePrefix::Kind::kJoined, 0}));
  Run();
  if (open) Open();
}

void LanedClient::Written() {
  std::shared_ptr<StreamEvents> events;
  {
    MutexLock lock(&mutex_);
    if (closing_ || failed_) return;
    events = events_;
  }
  if (events != nullptr) events->OnWritten();
}

void LanedClient::LaneClosed(size_t number, const absl::Status& status) {
  Streams close;
  absl::Status why = absl::CancelledError("the stream has ended");
  {
    MutexLock lock(&mutex_);
    Lane& lane = lanes_[number];
    lane.open = false;
    lane.stream = nullptr;
    if (number == 0) {
      first_closed_ = status;
      // If the worker reported the number of messages, it sends the rest over the other lanes and closes them itself.
      if (!messages_) close = Connected();
    } else if (!lane.joined) {
      enough_ = true;
    } else if (!status.ok() && !first_closed_) {
      why = absl::UnavailableError("one of the stream's connections was lost: " + std::string(status.message()));
      close = Fail(why);
    }
  }
  CloseAll(close, why);
  Run();
}

std::optional<absl::Status> LanedClient::End() const {
  if (!first_closed_) return std::nullopt;
  for (const Lane& lane : lanes_) {
    if (lane.open) return std::nullopt;
  }
  if (closing_) return first_closed_;
  if (failed_) return failed_;
  if (order_.HasNext()) return std::nullopt;
  if (first_closed_->ok() && (!order_.empty() || (messages_ && *messages_ != order_.taken()))) {
    return absl::UnavailableError("one of the stream's connections was lost before all of it had come");
  }
  return first_closed_;
}

void LanedClient::Run() {
  for (;;) {
    std::shared_ptr<StreamEvents> events;
    std::optional<SliceList> message;
    std::optional<absl::Status> end;
    Streams read;
    {
      MutexLock lock(&mutex_);
      if (calling_ || events_ == nullptr) return;
      end = End();
      if (end) {
        events = std::move(events_);
        events_ = nullptr;
      } else if (wanted_ && !closing_ && !failed_ && order_.HasNext()) {
        wanted_ = false;
        calling_ = true;
        message = order_.Take();
        events = events_;
      }
      // Do not read ahead before the first requested message.
      if (wanted_ || numbered_ != Numbered::kUnknown) read = ToRead();
    }
    for (const auto& stream : read) stream->StartRead();
    if (end) events->OnClosed(*end);
    if (!message) return;
    events->OnMessage(*std::move(message));
    MutexLock lock(&mutex_);
    calling_ = false;
  }
}

}  // namespace

std::shared_ptr<MessageStream> ConnectLanes(ConnectLane connect, std::shared_ptr<StreamEvents> events, PostTask post,
                                            const Clock* clock, const LaneOffer& offer) {
  auto stream = std::make_shared<LanedClient>(std::move(connect), std::move(events), std::move(post), clock, offer);
  stream->Open();
  return stream;
}

}  // namespace penstock::transport
