// A network between simulated hosts: delays, cuts and deaths on virtual time. It is the carrier of simulations, and an
// example of a carrier: it passes tests/transport/contract_test.cc.
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

namespace penstock::simulation {

// Hosts are names, and a host's address is its name. Not thread-safe: everything runs in the scheduler's tasks.
class SimNetwork {
 public:
  struct Options {
    Nanos least_delay = 50'000;  // one way, drawn for each message; messages of a stream keep their order
    Nanos most_delay = 500'000;
    Nanos notice_cut_after = 8 * kSecond;  // time until keepalive notices a lost peer
    size_t window_bytes = size_t{4} << 20;
  };
  SimNetwork(SimScheduler* sim, const Options& options);
  // Calls Finish().
  ~SimNetwork();
  // Ends the simulation: abandons every end of a stream without events, and drops all tasks.
  void Finish();

  // Opens streams from `host`. Lives as long as the network.
  transport::Transport* TransportOf(const std::string& host);
  // Passes streams to `host` on to `acceptor`, until the host is killed or StopListening.
  void Listen(const std::string& host, transport::StreamAcceptor* acceptor);
  void StopListening(const std::string& host);

  // Runs `task` at `to` after a delay. It runs later if the connection is cut, and never if either host has died
  // meanwhile. For calls.
  void Deliver(const std::string& from, const std::string& to, Task task);

  // Holds all messages between the two hosts until Heal(). Open streams end on both sides after `notice_cut_after`,
  // unless Heal() is called before.
  void Cut(const std::string& a, const std::string& b);
  void Heal(const std::string& a, const std::string& b);
  bool IsCut(const std::string& a, const std::string& b) const;

  // Kills the host's process. Its ends of streams are abandoned without events. The other ends close after a delay, a
  // client's end as Unavailable; until then they may receive messages that are under way. Calls under way from or to
  // the host are lost. A new process may use the name at once.
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
  // A call under way.
  struct Arriving {
    std::string from, to;
    uint64_t from_life, to_life;
    Task task;
  };
  void Arrive(Arriving arriving);
  uint64_t LifeOf(const std::string& host) const;
  std::shared_ptr<transport::MessageStream> Connect(const std::string& from, const std::string& to,
                                                    std::shared_ptr<transport::StreamEvents> events);

  SimScheduler* const sim_;
  const Options options_;
  std::map<std::string, std::unique_ptr<HostTransport>> transports_;
  std::map<std::string, transport::StreamAcceptor*> acceptors_;
  std::map<std::string, uint64_t> lives_;  // number of deaths of each host
  std::map<Way, std::vector<Task>> held_;  // cut connections with their waiting tasks
  // By number: operations on all streams use the order of their opening.
  std::map<uint64_t, std::shared_ptr<Stream>> streams_;
  uint64_t next_stream_ = 1;
};

}  // namespace penstock::simulation

#endif  // PENSTOCK_TESTS_SIMULATION_SIM_NETWORK_H_
