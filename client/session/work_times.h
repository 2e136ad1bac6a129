// The working time of a session's copying threads, and the workers that the trainer waited for.
#ifndef PENSTOCK_CLIENT_SESSION_WORK_TIMES_H_
#define PENSTOCK_CLIENT_SESSION_WORK_TIMES_H_

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime/clock.h"
#include "penstock/v1/explain.pb.h"

namespace penstock::client {

// Not thread-safe.
class WorkTimes {
 public:
  // Maximum number of workers in a report.
  static constexpr size_t kMostWorkers = 16;

  void Copied(Nanos time) { copying_ += time; }
  void Sealed(Nanos time) { sealing_ += time; }
  // Records the wait for a step. `worker` delivered its last row, and is "" if the stream to it is closed.
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

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_WORK_TIMES_H_
