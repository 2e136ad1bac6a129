#include "transport/lanes/laned_server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "transport/lanes/lane_choice.h"
#include "transport/peer.h"

namespace penstock::transport {
namespace {

// Events of a rejected call.
class Nobody final : public StreamEvents {
 public:
  void OnMessage(SliceList) override {}
  void OnWritten() override {}
  void OnClosed(const absl::Status&) override {}
};

}  // namespace

// Run calls OnWritten and OnClosed, one at a time: a thread that finds one in progress leaves the next to it. OnMessage
// comes from the first lane only.
class LanedServer final : public MessageStream, public std::enable_shared_from_this<LanedServer> {
 public:
  LanedServer(LaneAcceptor* acceptor, std::string name, std::shared_ptr<MessageStream> first)
      : acceptor_(acceptor),
        options_(acceptor->options_),
        executor_(acceptor->executor_),
        name_(std::move(name)),
        peer_(first->peer()) {
    MutexLock lock(&mutex_);
    lanes_.emplace_back();
    lanes_[0].stream = std::move(first);
    lanes_[0].joined = true;
  }

  // Sets the user's events. Called before any event of the stream. The user may already have written and closed.
  void SetEvents(std::shared_ptr<StreamEvents> events) {
    {
      MutexLock lock(&mutex_);
      events_ = std::move(events);
    }
    executor_->Post([self = shared_from_this()] { self->Run(); });
  }
  std::shared_ptr<StreamEvents> EventsOf(size_t lane) { return std::make_shared<LaneEvents>(shared_from_this(), lane); }
  // Adds a lane. Returns null if it is rejected.
  std::shared_ptr<StreamEvents> AddLane(std::shared_ptr<MessageStream> stream);

  void StartRead() override;
  void StartWrite(SliceList message) override;
  void Close(absl::Status status) override;
  std::shared_ptr<BlockMemory> send_memory() override;
  SendsFrom sends_from() const override;
  Peer peer() const override { return peer_; }
  std::string_view carrier() const override;

 private:
  class LaneEvents final : public StreamEvents {
   public:
    LaneEvents(std::shared_ptr<LanedServer> of, size_t lane) : of_(std::move(of)), lane_(lane) {}
    void OnMessage(SliceList message) override { of_->FromLane(lane_, std::move(message)); }
    void OnWritten() override { of_->LaneWritten(lane_); }
    void OnClosed(const absl::Status&) override { of_->LaneClosed(lane_); }

   private:
    const std::shared_ptr<LanedServer> of_;
    const size_t lane_;
  };

  struct Lane {
    std::shared_ptr<MessageStream> stream;  // null after it has closed
    bool joined = false;                    // the client confirmed that the worker may use it
    bool used = false;
    bool writing = false;
    uint64_t bytes = 0;   // size of the stream's message that is being written; 0: none
    uint64_t number = 0;  // number of that message
  };
  using Streams = std::vector<std::shared_ptr<MessageStream>>;

  void FromLane(size_t number, SliceList message);
  void LaneWritten(size_t number);
  void LaneClosed(size_t number);
  void Run();
  // If the stream is ending, closes its lanes: when no message is being written, or at once if `now`.
  void Finish(bool now);

  // Ends the stream because a lane was lost.
  void LoseLane() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<size_t> FreeLane() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tell(const absl::Status& rejected) const;
  size_t ReadyLanes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Streams FurtherLanes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<MessageStream> first() const {
    MutexLock lock(&mutex_);
    return lanes_[0].stream;
  }

  LaneAcceptor* const acceptor_;
  const LaneOptions options_;
  Executor* const executor_;
  const std::string name_;
  const Peer peer_;  // peer of the first lane

  mutable Mutex mutex_;
  std::shared_ptr<StreamEvents> events_ ABSL_GUARDED_BY(mutex_);  // null until they are known, and after the end
  std::vector<Lane> lanes_ ABSL_GUARDED_BY(mutex_);
  LaneChoice choice_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;      // number of the next message
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;   // lanes that were too many
  bool owed_ ABSL_GUARDED_BY(mutex_) = false;      // an OnWritten is due when a lane is free
  bool calling_ ABSL_GUARDED_BY(mutex_) = false;   // an event is running
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;   // the stream is ending
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;  // all lanes were closed
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;     // OnClosed was called
  absl::Status told_ ABSL_GUARDED_BY(mutex_);      // status for the client
  absl::Status own_ ABSL_GUARDED_BY(mutex_);       // status of the worker's own Close
  TimerId grace_ ABSL_GUARDED_BY(mutex_) = 0;
};

std::shared_ptr<StreamEvents> LanedServer::AddLane(std::shared_ptr<MessageStream> stream) {
  size_t number = 0;
  bool too_many = false;
  {
    MutexLock lock(&mutex_);
    number = lanes_.size();
    if (!closing_ && number < std::min(options_.most, kMostLanes)) {
      lanes_.emplace_back();
      lanes_[number].stream = stream;
      lanes_[number].writing = true;
    } else {
      number = 0;
      too_many = !closing_ && ++refused_ > 1;  // a client opens no further lane after the first refusal
    }
  }
  if (too_many) {
    Tell(absl::ResourceExhaustedError(absl::StrCat("opens more than ", std::min(options_.most, kMostLanes),
                                                   " connections for one stream, again and again")));
  }
  if (number == 0) return nullptr;
  stream->StartRead();
  stream->StartWrite(WithPrefix({LanePrefix::Kind::kHello, 0}));
  return EventsOf(number);
}

void LanedServer::StartRead() {
  if (const std::shared_ptr<MessageStream> stream = first(); stream != nullptr) stream->StartRead();
}

std::shared_ptr<BlockMemory> LanedServer::send_memory() {
  const std::shared_ptr<MessageStream> stream = first();
  return stream == nullptr ? nullptr : stream->send_memory();
}

MessageStream::SendsFrom LanedServer::sends_from() const {
  const std::shared_ptr<MessageStream> stream = first();
  return stream == nullptr ? SendsFrom::kNowhere : stream->sends_from();
}

std::string_view LanedServer::carrier() const {
  MutexLock lock(&mutex_);
  const std::string_view first = lanes_[0].stream == nullptr ? "grpc" : lanes_[0].stream->carrier();
  return LanedCarrier(first, options_.all ? ReadyLanes() : std::min(choice_.lanes(), ReadyLanes()));
}

size_t LanedServer::ReadyLanes() const {
  return static_cast<size_t>(std::count_if(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.joined; }));
}

LanedServer::Streams LanedServer::FurtherLanes() const {
  Streams streams;
  for (size_t i = 1; i < lanes_.size(); ++i) {
    if (lanes_[i].stream != nullptr) streams.push_back(lanes_[i].stream);
  }
  return streams;
}

void LanedServer::Tell(const absl::Status& rejected) const {
  if (options_.on_rejected != nullptr) options_.on_rejected(peer_, rejected);
}

std::optional<size_t> LanedServer::FreeLane() const {
  for (const Lane& lane : lanes_) {
    if (lane.bytes > 0 && next_ - lane.number > options_.ahead) return std::nullopt;
  }
  size_t left = options_.all ? lanes_.size() : choice_.lanes();
  for (size_t i = 0; i < lanes_.size() && left > 0; ++i) {
    if (!lanes_[i].joined) continue;
    if (!lanes_[i].writing) return i;
    --left;
  }
  return std::nullopt;
}

void LanedServer::LoseLane() {
  closing_ = true;
  told_ = absl::UnavailableError("one of the stream's connections was lost");
}

void LanedServer::StartWrite(SliceList message) {
  std::shared_ptr<MessageStream> stream;
  bool more = false;
  {
    MutexLock lock(&mutex_);
    if (closing_ || ended_) return;
    if (const std::optional<size_t> number = FreeLane(); number) {
      Lane& lane = lanes_[*number];
      lane.number = next_++;
      message = WithPrefix({LanePrefix::Kind::kMessage, lane.number}, message);
      lane.used = lane.writing = true;
      lane.bytes = message.bytes();
      stream = lane.stream;
      owed_ = true;
      more = FreeLane().has_value();
      if (!more) choice_.Full(executor_->clock()->Now());
    } else {
      LoseLane();  // the lane that was free at OnWritten is lost
    }
  }
  if (stream == nullptr) {
    Finish(/*now=*/true);
    return;
  }
  stream->StartWrite(std::move(message));
  if (more) {
    executor_->Post([self = shared_from_this()] { self->Run(); });
  }
}

void LanedServer::LaneWritten(size_t number) {
  {
    MutexLock lock(&mutex_);
    Lane& lane = lanes_[number];
    lane.writing = false;
    const Nanos now = executor_->clock()->Now();
    choice_.Free(now);
    if (const uint64_t bytes = std::exchange(lane.bytes, 0); bytes > 0) choice_.Sent(bytes, ReadyLanes(), now);
  }
  Finish(/*now=*/false);
  Run();
}

void LanedServer::Run() {
  for (;;) {
    std::shared_ptr<StreamEvents> events;
    bool closed = false;
    absl::Status status;
    {
      MutexLock lock(&mutex_);
      if (calling_ || events_ == nullptr) return;
      closed = std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.stream == nullptr; });
      if (closed) {
        events = std::move(events_);
        events_ = nullptr;
        ended_ = true;
        status = own_;
        if (grace_ != 0) executor_->Cancel(grace_);
      } else {
        if (!owed_ || closing_ || !FreeLane()) return;
        owed_ = false;
        calling_ = true;
        events = events_;
      }
    }
    if (closed) {
      acceptor_->Forget(name_);
      events->OnClosed(status);
      return;
    }
    events->OnWritten();
    MutexLock lock(&mutex_);
    calling_ = false;
  }
}

void LanedServer::FromLane(size_t number, SliceList message) {
  if (number == 0) {
    std::shared_ptr<StreamEvents> events;
    {
      MutexLock lock(&mutex_);
      if (!closing_) events = events_;
    }
    if (events != nullptr) events->OnMessage(std::move(message));
    return;
  }
  std::shared_ptr<MessageStream> wrong;
  {
    MutexLock lock(&mutex_);
    Lane& lane = lanes_[number];
    const std::optional<LanePrefix> prefix = TakePrefix(&message);
    if (prefix && prefix->kind == LanePrefix::Kind::kJoined && !lane.joined) {
      lane.joined = lane.stream != nullptr;
    } else {
      wrong = lane.stream;
    }
  }
  if (wrong != nullptr) {
    const absl::Status status = absl::InvalidArgumentError("a further connection of a stream carries no messages");
    Tell(status);
    wrong->Close(status);
  }
  Run();  // this lane may be free now
}

void LanedServer::Close(absl::Status status) {
  {
    MutexLock lock(&mutex_);
    if (ended_ || std::exchange(closing_, true)) return;
    own_ = told_ = std::move(status);
    grace_ = executor_->PostAt(executor_->clock()->Now() + options_.close_grace, [weak = weak_from_this()] {
      if (const std::shared_ptr<LanedServer> self = weak.lock()) self->Finish(/*now=*/true);
    });
  }
  Finish(/*now=*/false);
}

void LanedServer::Finish(bool now) {
  std::shared_ptr<MessageStream> first;
  Streams further;
  std::optional<LanePrefix> end;
  absl::Status told;
  {
    MutexLock lock(&mutex_);
    if (!closing_ || finished_) return;
    bool writing = false, used = false;
    for (size_t i = 1; i < lanes_.size(); ++i) {
      writing = writing || (lanes_[i].bytes > 0 && lanes_[i].stream != nullptr);
      used = used || lanes_[i].used;
    }
    // Wait for the first lane's write only if the client needs the number of messages.
    if (used) writing = writing || (lanes_[0].writing && lanes_[0].stream != nullptr);
    if (writing && !now) return;
    finished_ = true;
    if (used && !lanes_[0].writing) end = LanePrefix{LanePrefix::Kind::kEnd, next_};
    first = lanes_[0].stream;
    further = FurtherLanes();
    told = told_;
  }
  for (const auto& stream : further) stream->Close(absl::OkStatus());
  if (first == nullptr) return;
  if (end) first->StartWrite(WithPrefix(*end));
  first->Close(told);
}

void LanedServer::LaneClosed(size_t number) {
  bool lost = false;
  {
    MutexLock lock(&mutex_);
    Lane& lane = lanes_[number];
    lane.stream = nullptr;
    lane.joined = lane.writing = false;
    lane.bytes = 0;
    lost = !closing_ && (number == 0 || lane.used);
    if (lost) LoseLane();
  }
  // The lane's messages are lost with it, so do not wait for other writes. Do not wait either if the client has
  // disconnected.
  Finish(/*now=*/lost || number == 0);
  Run();
}

std::shared_ptr<StreamEvents> LaneAcceptor::Accept(std::shared_ptr<MessageStream> stream,
                                                   const std::optional<LaneCall>& call) {
  if (!call || (!call->joins && (options_.most < 2 || !IsStreamName(call->stream)))) {
    return streams_->Accept(std::move(stream));
  }
  if (call->joins) {
    std::shared_ptr<LanedServer> of;
    {
      MutexLock lock(&mutex_);
      if (const auto found = by_name_.find(call->stream); found != by_name_.end()) of = found->second.lock();
    }
    const Peer caller = stream->peer(), owner = of == nullptr ? Peer() : of->peer();
    const Ownership owned{call->stream, owner};
    absl::Status refusal = options_.may_act({Act::kAddLane, call->stream, caller}, of == nullptr ? nullptr : &owned);
    if (refusal.ok() && of != nullptr) {
      if (std::shared_ptr<StreamEvents> events = of->AddLane(stream); events != nullptr) return events;
    }
    if (refusal.ok()) refusal = absl::ResourceExhaustedError("this stream accepts no further connection");
    if (absl::IsPermissionDenied(refusal) && options_.on_rejected != nullptr) options_.on_rejected(caller, refusal);
    stream->Close(std::move(refusal));
    return std::make_shared<Nobody>();
  }
  auto laned = std::make_shared<LanedServer>(this, call->stream, stream);
  {
    MutexLock lock(&mutex_);
    if (!by_name_.emplace(call->stream, laned).second) {
      laned = nullptr;
    }
  }
  if (laned == nullptr) {
    stream->Close(absl::AlreadyExistsError("another stream has this name"));
    return std::make_shared<Nobody>();
  }
  laned->SetEvents(streams_->Accept(laned));
  return laned->EventsOf(0);
}

void LaneAcceptor::Forget(const std::string& name) {
  MutexLock lock(&mutex_);
  by_name_.erase(name);
}

}  // namespace penstock::transport
