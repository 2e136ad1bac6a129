// Addresses that never answer.
#ifndef PENSTOCK_TESTS_SUPPORT_CLUSTER_SILENT_PORT_H_
#define PENSTOCK_TESTS_SUPPORT_CLUSTER_SILENT_PORT_H_

#include <string>
#include <vector>

namespace penstock::support {

class SilentPort {
 public:
  enum class Kind {
    kMute,       // connections open, but the peer sends nothing: a process that hangs
    kBlackHole,  // packets get no answer at all: a lost machine, a firewall that drops them
  };

  // Ends the test program if the system does not permit it.
  explicit SilentPort(Kind kind);
  ~SilentPort();
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;

  const std::string& address() const { return address_; }  // 127.0.0.1:port

 private:
  std::vector<int> sockets_;
  std::string address_;
};

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_CLUSTER_SILENT_PORT_H_
