// Addresses at which nobody answers.
#ifndef PENSTOCK_TESTS_SUPPORT_CLUSTER_SILENT_PORT_H_
#define PENSTOCK_TESTS_SUPPORT_CLUSTER_SILENT_PORT_H_

#include <string>
#include <vector>

namespace penstock {

class SilentPort {
 public:
  enum class Kind {
    kMute,       // connections come about, and nothing is ever said: a process that hangs
    kBlackHole,  // what is sent there gets no answer at all: a machine that is gone, a firewall that drops
  };

  // Ends the test program where the system does not let it be.
  explicit SilentPort(Kind kind);
  ~SilentPort();
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;

  const std::string& address() const { return address_; }  // 127.0.0.1:port

 private:
  std::vector<int> sockets_;
  std::string address_;
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SUPPORT_CLUSTER_SILENT_PORT_H_
