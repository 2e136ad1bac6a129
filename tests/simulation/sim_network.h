// A network between hosts of a simulation: delays, cuts and deaths on virtual time. The carrier of simulations, and an
// example of one: it passes tests/transport/contract_test.cc.
#ifndef PENSTOCK_TESTS_SIMULATION_SIM_NETWORK_H_
#define PENSTOCK_TESTS_SIMULATION_SIM_NETWORK_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime/sim_scheduler.h"
#include "transport/message_stream.h"

namespace penstock {

// Hosts are names; an address is a host's name. Not thread-safe: all of it runs in the scheduler's tasks.
class SimNetwork {
 public:
  struct Options {
    Nanos least_delay = 50'000;  // one way, drawn for each message; messages of a stream keep their order
    Nanos most_delay = 500'000;
    Nanos notice_cut_after = 8 * kSecond;  // what keepalive takes to find a peer gone
    size_t window_bytes = size_t{4} << 20;
  };
  SimNetwork(SimScheduler* sim, const Options& options);
  // As Finish().
  ~SimNetwork();
  // The end of the simulation: every end of a stream is let go of without a word, and all tasks are dropped.
  void Finish();

  // Streams that `host` opens. Lives as long as the network.
  Transport* TransportOf(const std::string& host);
  // `acceptor` is asked for streams to `host`, until the host is killed or StopListening.
  void Listen(const std::string& host, StreamAcceptor* acceptor);
  void StopListening(const std::string& host);

  // Runs `task` at `to` after a delay, later while the way is cut, never when either host has died meanwhile. For
  // calls.
  void Deliver(const std::string& from, const std::string& to, Task task);

  // Nothing goes between the two any more; nobody is told. What was sent waits.
  void Cut(const std::string& a, const std::string& b);
  void Heal(const std::string& a, const std::string& b);
  bool IsCut(const std::string& a, const std::string& b) const;

  // The host's process is gone: its ends of streams are let go without a word, the others close as Unavailable, and
  // nothing that is under way from or to it arrives. Its name can be used again at once, by a new process.
  void Kill(const std::string& host);

 private:
  class Stream;
  class End;
  class HostTransport;
  friend class Stream;

  using Way = std::pair<std::string, std::string>;  // sorted
  static Way Between(const std::string& a, const std::string& b) { return a < b ? Way(a, b) : Way(b, a); }
  Nanos Delay() { return options_.least_delay + DrawUpTo(options_.most_delay - options_.least_delay); }
  Nanos DrawUpTo(Nanos most) { return most <= 0 ? 0 : static_cast<Nanos>(sim_->Draw(static_cast<uint64_t>(most) + 1)); }
  // A call on its way.
  struct Arriving {
    std::string from, to;
    uint64_t from_life, to_life;
    Task task;
  };
  void Arrive(Arriving arriving);
  uint64_t LifeOf(const std::string& host) const;
  std::shared_ptr<MessageStream> Connect(const std::string& from, const std::string& to,
                                         std::shared_ptr<StreamEvents> events);

  SimScheduler* const sim_;
  const Options options_;
  std::map<std::string, std::unique_ptr<HostTransport>> transports_;
  std::map<std::string, StreamAcceptor*> acceptors_;
  std::map<std::string, uint64_t> lives_;  // how often a host was killed
  std::map<Way, std::vector<Task>> held_;  // cut ways, and what waits for them to heal
  // By number: what is done to all is done in the order of their opening.
  std::map<uint64_t, std::shared_ptr<Stream>> streams_;
  uint64_t next_stream_ = 1;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SIMULATION_SIM_NETWORK_H_
