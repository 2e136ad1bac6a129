#include "tests/simulation/sim_network.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace penstock::simulation {
namespace {

enum Side { kClient = 0, kWorker = 1 };
Side Other(Side side) { return side == kClient ? kWorker : kClient; }

}  // namespace

// Both ends of a stream, and the messages under way between them.
class SimNetwork::Stream : public std::enable_shared_from_this<SimNetwork::Stream> {
 public:
  Stream(SimNetwork* network, uint64_t number, const std::string& client, const std::string& worker)
      : network_(network), number_(number) {
    sides_[kClient].host = client;
    sides_[kWorker].host = worker;
  }

  void SetEvents(Side side, std::shared_ptr<transport::StreamEvents> events) {
    sides_[side].events = std::move(events);
    Post([this, side] { Move(side); });
  }
  const std::string& host(Side side) const { return sides_[side].host; }

  void StartRead(Side side) {
    End& end = sides_[side];
    if (end.closing) return;
    PS_CHECK(!end.reading);
    end.reading = true;
    Post([this, side] { Move(side); });
  }

  void StartWrite(Side side, transport::SliceList message) {
    End& end = sides_[side];
    if (end.closing) return;
    PS_CHECK(!end.writing);
    end.writing = true;
    End& peer = sides_[Other(side)];
    peer.bytes_coming += message.bytes();
    Send(side, [this, side, message = std::move(message)]() mutable {
      sides_[Other(side)].inbox.push_back(std::move(message));
      Move(Other(side));
    });
    Post([this, side] { LetWrite(side); });
  }

  void Close(Side side, absl::Status status) {
    if (sides_[side].closing) return;
    if (side == kWorker) {
      CloseEnd(kWorker, status);
      Send(kWorker, [this, status = std::move(status)]() mutable {
        sides_[kClient].close_after_inbox = std::move(status);
        Move(kClient);
      });
    } else {
      CloseEnd(kClient, absl::CancelledError("the stream was closed at this end"));
      Send(kClient, [this] { CloseEnd(kWorker, absl::OkStatus()); });
    }
  }

  // Breaks the connection under both ends.
  void Lose(const std::string& why) {
    CloseEnd(kClient, absl::UnavailableError(why));
    CloseEnd(kWorker, absl::OkStatus());
  }

  // Drops the end of a dead process, without events.
  void Abandon(Side side) {
    End& end = sides_[side];
    end.closing = end.closed = true;
    const auto dropped = std::move(end.events);
    end.inbox.clear();
  }

  // Whether the client closed the stream before it arrived here.
  bool gone() const { return sides_[kWorker].closing; }
  bool over() const { return sides_[kClient].closed && sides_[kWorker].closed; }

 private:
  struct End {
    std::string host;
    std::shared_ptr<transport::StreamEvents> events;  // null before SetEvents and after the end
    std::deque<transport::SliceList> inbox;
    size_t bytes_coming = 0;  // bytes in the inbox and on the way to it
    bool reading = false;
    bool writing = false;
    bool closing = false;  // OnClosed is posted
    bool closed = false;   // OnClosed was called
    std::optional<absl::Status> close_after_inbox;
    Nanos last_arrival = 0;  // arrival of the last message from this end
  };

  template <typename F>
  void Post(F function) {
    network_->sim_->Post([self = shared_from_this(), function = std::move(function)]() mutable { function(); });
  }

  // Runs `function` after a delay, in order with all messages from `side`.
  template <typename F>
  void Send(Side side, F function) {
    End& end = sides_[side];
    end.last_arrival = std::max(end.last_arrival + 1, network_->sim_->clock()->Now() + network_->Delay());
    queue_[side].push_back(std::move(function));  // Arrive keeps this object alive
    network_->sim_->PostAt(end.last_arrival, [self = shared_from_this(), side] { self->Arrive(side); });
  }

  // Delivers the oldest message from `side`. If the connection is cut, this message and all later ones wait.
  void Arrive(Side side) {
    if (network_->IsCut(host(kClient), host(kWorker))) {
      network_->held_[Between(host(kClient), host(kWorker))].push_back(
          [self = shared_from_this(), side] { self->Arrive(side); });
      return;
    }
    Task task = std::move(queue_[side].front());
    queue_[side].pop_front();
    std::move(task)();
  }

  void Move(Side side) {
    End& end = sides_[side];
    if (end.closing || end.events == nullptr) return;
    if (end.reading && !end.inbox.empty()) {
      end.reading = false;
      transport::SliceList message = std::move(end.inbox.front());
      end.inbox.pop_front();
      end.bytes_coming -= message.bytes();
      LetWrite(Other(side));
      const std::shared_ptr<transport::StreamEvents> events = end.events;
      events->OnMessage(std::move(message));
    }
    if (!end.closing && end.close_after_inbox && end.inbox.empty()) CloseEnd(side, *end.close_after_inbox);
  }

  void LetWrite(Side side) {
    End& end = sides_[side];
    if (!end.writing || end.closing || end.events == nullptr) return;
    if (sides_[Other(side)].bytes_coming > network_->options_.window_bytes) return;
    end.writing = false;
    Post([this, side, events = end.events] {
      if (!sides_[side].closed) events->OnWritten();
    });
  }

  void CloseEnd(Side side, absl::Status status) {
    End& end = sides_[side];
    if (std::exchange(end.closing, true)) return;
    end.inbox.clear();
    Post([this, side, status = std::move(status)] {
      End& closed = sides_[side];
      if (closed.closed) return;
      closed.closed = true;
      const auto events = std::move(closed.events);
      closed.events = nullptr;
      if (events != nullptr) events->OnClosed(status);
      if (over()) network_->streams_.erase(number_);
    });
  }

  SimNetwork* const network_;
  const uint64_t number_;
  End sides_[2];
  std::deque<Task> queue_[2];  // by the sending side
};

class SimNetwork::End final : public transport::MessageStream {
 public:
  End(std::shared_ptr<Stream> stream, Side side) : stream_(std::move(stream)), side_(side) {}
  void StartRead() override { stream_->StartRead(side_); }
  void StartWrite(transport::SliceList message) override { stream_->StartWrite(side_, std::move(message)); }
  void Close(absl::Status status) override { stream_->Close(side_, std::move(status)); }
  transport::Peer peer() const override {
    return transport::Peer::Simulated(stream_->host(side_ == kClient ? kWorker : kClient));
  }
  std::string_view carrier() const override { return "simulated"; }

 private:
  const std::shared_ptr<Stream> stream_;
  const Side side_;
};

class SimNetwork::HostTransport final : public transport::Transport {
 public:
  HostTransport(SimNetwork* network, std::string host) : network_(network), host_(std::move(host)) {}
  std::shared_ptr<transport::MessageStream> Connect(const transport::WorkerAddress& worker,
                                                    std::shared_ptr<transport::StreamEvents> events) override {
    return network_->Connect(host_, worker.network, std::move(events));
  }

 private:
  SimNetwork* const network_;
  const std::string host_;
};

SimNetwork::SimNetwork(SimScheduler* sim, const Options& options) : sim_(sim), options_(options) {}

SimNetwork::~SimNetwork() { Finish(); }

void SimNetwork::Finish() {
  // Waiting tasks hold streams, which hold this network.
  sim_->DropAll();
  for (const auto& [number, stream] : std::exchange(streams_, {})) {
    stream->Abandon(kClient);
    stream->Abandon(kWorker);
  }
}

transport::Transport* SimNetwork::TransportOf(const std::string& host) {
  auto& transport = transports_[host];
  if (transport == nullptr) transport = std::make_unique<HostTransport>(this, host);
  return transport.get();
}

void SimNetwork::Listen(const std::string& host, transport::StreamAcceptor* acceptor) { acceptors_[host] = acceptor; }

void SimNetwork::StopListening(const std::string& host) { acceptors_.erase(host); }

uint64_t SimNetwork::LifeOf(const std::string& host) const {
  const auto found = lives_.find(host);
  return found == lives_.end() ? 0 : found->second;
}

std::shared_ptr<transport::MessageStream> SimNetwork::Connect(const std::string& from, const std::string& to,
                                                              std::shared_ptr<transport::StreamEvents> events) {
  auto stream = std::make_shared<Stream>(this, next_stream_, from, to);
  streams_.emplace(next_stream_++, stream);
  stream->SetEvents(kClient, std::move(events));
  const auto refuse = [stream, to] { stream->Lose(absl::StrCat("no process listens at ", to)); };
  // A cut connection also holds this request. The client notices after notice_cut_after.
  Deliver(from, to, [this, stream, to, refuse] {
    if (stream->gone()) return;
    const auto found = acceptors_.find(to);
    if (found == acceptors_.end()) {
      refuse();
      return;
    }
    stream->SetEvents(kWorker, found->second->Accept(std::make_shared<End>(stream, kWorker)));
  });
  if (IsCut(from, to)) {
    sim_->PostAt(sim_->clock()->Now() + options_.notice_cut_after, [this, stream, from, to] {
      if (IsCut(from, to)) stream->Lose(absl::StrCat(to, " does not answer"));
    });
  }
  return std::make_shared<End>(stream, kClient);
}

void SimNetwork::Deliver(const std::string& from, const std::string& to, Task task) {
  const uint64_t from_life = LifeOf(from), to_life = LifeOf(to);
  Arriving arriving{from, to, from_life, to_life, std::move(task)};
  sim_->PostAt(sim_->clock()->Now() + Delay(),
               [this, arriving = std::move(arriving)]() mutable { Arrive(std::move(arriving)); });
}

void SimNetwork::Arrive(Arriving arriving) {
  if (LifeOf(arriving.from) != arriving.from_life || LifeOf(arriving.to) != arriving.to_life) return;
  if (IsCut(arriving.from, arriving.to)) {
    held_[Between(arriving.from, arriving.to)].push_back(
        [this, arriving = std::move(arriving)]() mutable { Arrive(std::move(arriving)); });
    return;
  }
  std::move(arriving.task)();
}

void SimNetwork::Cut(const std::string& a, const std::string& b) {
  const Way way = Between(a, b);
  if (!held_.emplace(way, std::vector<Task>()).second) return;
  for (const auto& [number, stream] : streams_) {
    if (Between(stream->host(kClient), stream->host(kWorker)) != way) continue;
    sim_->PostAt(sim_->clock()->Now() + options_.notice_cut_after, [this, weak = std::weak_ptr(stream), way] {
      const auto alive = weak.lock();
      if (alive != nullptr && IsCut(way.first, way.second))
        alive->Lose("the connection was lost: no answer to keepalive");
    });
  }
}

void SimNetwork::Heal(const std::string& a, const std::string& b) {
  const auto found = held_.find(Between(a, b));
  if (found == held_.end()) return;
  std::vector<Task> tasks = std::move(found->second);
  held_.erase(found);
  // One task runs all of them in order: the scheduler runs simultaneous tasks in any order.
  sim_->Post([tasks = std::move(tasks)]() mutable {
    for (Task& task : tasks) std::move(task)();
  });
}

bool SimNetwork::IsCut(const std::string& a, const std::string& b) const { return held_.contains(Between(a, b)); }

void SimNetwork::Kill(const std::string& host) {
  ++lives_[host];
  acceptors_.erase(host);
  const auto all = streams_;
  for (const auto& [number, opened] : all) {
    const std::shared_ptr<Stream> stream = opened;
    if (stream->host(kClient) != host && stream->host(kWorker) != host) continue;
    if (stream->host(kClient) == host) stream->Abandon(kClient);
    if (stream->host(kWorker) == host) stream->Abandon(kWorker);
    sim_->PostAt(sim_->clock()->Now() + Delay(),
                 [stream, host] { stream->Lose(absl::StrCat(host, " reset the connection")); });
  }
}

}  // namespace penstock::simulation
