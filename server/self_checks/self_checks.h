// Checks that a daemon makes of itself and its host, repeatedly. `penstock doctor` prints their findings.
#ifndef PENSTOCK_SERVER_SELF_CHECKS_SELF_CHECKS_H_
#define PENSTOCK_SERVER_SELF_CHECKS_SELF_CHECKS_H_

#include <google/protobuf/repeated_field.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "base/runtime/thread_pool.h"
#include "penstock/v1/control.pb.h"

namespace penstock::server {

struct SelfCheck {
  std::string name;                   // name of the finding
  std::function<v1::Finding()> find;  // may block; must not need an object that the daemon destroys before its end
  Nanos every = 5 * kSecond;          // pause between two runs
};

// The checks and their last findings. Thread-safe.
class SelfChecks {
 public:
  // A check that runs for longer is reported.
  static constexpr Nanos kPatience = 5 * kSecond;

  SelfChecks(std::vector<SelfCheck> checks, Clock* clock);

  // Runs the checks that are due, one after another. Skips those that another call runs. Blocks as long as they do.
  void RunDue();
  // Returns the number of checks that run.
  size_t running() const;
  // Adds the last findings, and a fault for each check that hangs. Does not block.
  void CopyTo(google::protobuf::RepeatedPtrField<v1::Finding>* out) const;

 private:
  struct State {
    std::optional<Nanos> running_since, due;  // due: nullopt before the first run
    std::optional<v1::Finding> last;
  };

  const std::vector<SelfCheck> checks_;
  Clock* const clock_;
  mutable Mutex mutex_;
  std::vector<State> states_ ABSL_GUARDED_BY(mutex_);  // in the order of checks_
};

// Runs the checks on threads of their own. A check that hangs delays neither the others nor the end of the daemon.
class SelfCheckThreads {
 public:
  explicit SelfCheckThreads(std::vector<SelfCheck> checks);
  // Waits a second for a check that runs. The threads of a check that hangs remain until the process ends.
  ~SelfCheckThreads();

  void CopyTo(google::protobuf::RepeatedPtrField<v1::Finding>* out) const { parts_->checks.CopyTo(out); }

 private:
  struct Parts {
    SelfChecks checks;
    ThreadPool threads;
  };
  static void Tick(Parts* parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_SELF_CHECKS_SELF_CHECKS_H_
