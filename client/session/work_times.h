// The time that a session's copying threads work, and whom its trainer waited for.
#ifndef PENSTOCK_CLIENT_SESSION_WORK_TIMES_H_
#define PENSTOCK_CLIENT_SESSION_WORK_TIMES_H_

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime/clock.h"
#include "penstock/v1/explain.pb.h"

namespace penstock {

// Not thread-safe.
class WorkTimes {
 public:
  // Workers that a report names at most.
  static constexpr size_t kMostWorkers = 16;

  void Copied(Nanos time) { copying_ += time; }
  void Sealed(Nanos time) { sealing_ += time; }
  // A step was taken after so long a wait; its last row came from `worker` ("": one that has gone).
  void WaitedOn(const std::string& worker, Nanos time) {
    if (time > 0) waited_on_[worker] += time;
  }

  void AddTo(v1::SessionTimes* times) const {
    times->set_copy_seconds(Seconds(copying_));
    times->set_seal_seconds(Seconds(sealing_));
    std::vector<std::pair<Nanos, std::string>> most;
    for (const auto& [worker, time] : waited_on_) most.emplace_back(-time, worker);
    std::sort(most.begin(), most.end());
    if (most.size() > kMostWorkers) most.resize(kMostWorkers);
    for (const auto& [time, worker] : most) {
      v1::WaitedOn* const on = times->add_waited_on();
      on->set_worker(worker);
      on->set_seconds(Seconds(-time));
    }
  }

 private:
  static double Seconds(Nanos time) { return static_cast<double>(time) / kSecond; }

  Nanos copying_ = 0, sealing_ = 0;
  std::map<std::string, Nanos> waited_on_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_WORK_TIMES_H_
