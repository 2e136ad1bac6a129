// Reports the cause of a trainer's wait during the wait, and the end of the wait.
#ifndef PENSTOCK_CLIENT_SESSION_WAIT_NOTICE_H_
#define PENSTOCK_CLIENT_SESSION_WAIT_NOTICE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "client/session/window.h"

namespace penstock::client {

// Not thread-safe.
class WaitNotice {
 public:
  // `report` may be null: then nothing is reported.
  WaitNotice(std::shared_ptr<const Window> window, std::function<void(const std::string&)> report)
      : window_(std::move(window)), report_(std::move(report)) {}

  // Reports if a report is due: at the ages of notice_times.h, when the coordinator first names an unreadable file
  // after a report, and when rows arrive again. Returns the latest time of the next call.
  Nanos Tell(Nanos now);

 private:
  struct Reported {
    uint64_t step = 0;   // the step that the trainer waits for
    Nanos since = 0;     // start of that wait
    Nanos age = 0;       // the wait's age at the last report
    bool files = false;  // the coordinator had named unreadable files before the last report
  };

  const std::shared_ptr<const Window> window_;
  const std::function<void(const std::string&)> report_;
  std::optional<Reported> reported_;
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_WAIT_NOTICE_H_
