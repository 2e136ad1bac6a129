// Part of a session: reports its progress to the coordinator every second, or at the interval that the coordinator
// requests, at most 5 s. Reopens the session if the coordinator does not know it.
#ifndef PENSTOCK_CLIENT_SESSION_PROGRESS_REPORTS_H_
#define PENSTOCK_CLIENT_SESSION_PROGRESS_REPORTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/runtime/mailbox.h"
#include "base/runtime/strand.h"
#include "client/session/row_rate.h"
#include "client/session/window.h"
#include "client/transport/coordinator_client.h"

namespace penstock::client {

// For tasks of the strand only.
class ProgressReports {
 public:
  // Minimum length of a wait to describe in a report.
  static constexpr Nanos kLeastWait = 2 * kSecond;

  // `open` is the request that opened the session. If the coordinator does not know the session, sends `open` again,
  // with the current position and the job's state from `held`. `reopened` receives the reply, or AlreadyExists if the
  // rank has another reader. The latter ends the reports. `answered` receives the replies to reports. While the trainer
  // waits for at least kLeastWait, `on_file_errors` receives the coordinator's lines about the job's failing files.
  // After the wait, it receives an empty list once. After Stop, these functions receive nothing. `strand` must outlive
  // this object. `mailbox` must be closed before this object is destroyed.
  ProgressReports(Strand* strand, std::shared_ptr<Mailbox> mailbox, std::shared_ptr<CoordinatorClient> coordinator,
                  v1::OpenSessionRequest open, std::string session_id, uint32_t copy_threads,
                  std::shared_ptr<Window> window, std::function<v1::HeldJob()> held,
                  std::function<void(const absl::StatusOr<v1::OpenSessionReply>&)> reopened,
                  std::function<void(const v1::ReportSessionReply&)> answered = nullptr,
                  std::function<void(std::vector<std::string>)> on_file_errors = nullptr);

  void Start();
  void Stop();
  // Sends a last report and closes the session at the coordinator, which otherwise drops it once it is silent. Calls
  // `done` on the strand, within `timeout`.
  void CloseSession(Nanos timeout, std::function<void()> done);

  const std::string& session_id() const;

 private:
  v1::ReportSessionRequest MakeReport();
  void Next(Nanos at);  // sets the timer for the next report or attempt to reopen
  void Report();
  void Reopen();
  void AskWhy(bool waits);

  Strand* const strand_;
  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<CoordinatorClient> coordinator_;
  const v1::OpenSessionRequest open_;
  const uint32_t copy_threads_;
  const std::shared_ptr<Window> window_;
  const std::function<v1::HeldJob()> held_;
  const std::function<void(const absl::StatusOr<v1::OpenSessionReply>&)> reopened_;
  const std::function<void(const v1::ReportSessionReply&)> answered_;
  const std::function<void(std::vector<std::string>)> on_file_errors_;
  std::string session_id_ ABSL_GUARDED_BY(strand_);
  bool unknown_ ABSL_GUARDED_BY(strand_) = false;  // the coordinator does not know the session
  bool stopped_ ABSL_GUARDED_BY(strand_) = false;
  Nanos begun_ ABSL_GUARDED_BY(strand_) = 0;  // start of the current or last call
  RowRate rate_ ABSL_GUARDED_BY(strand_);
  Nanos started_ ABSL_GUARDED_BY(strand_) = 0;
  // Values at the last report.
  Nanos last_ ABSL_GUARDED_BY(strand_) = 0;
  Nanos waited_ ABSL_GUARDED_BY(strand_) = 0;
  bool waits_ ABSL_GUARDED_BY(strand_) = false;
  Nanos ask_why_at_ ABSL_GUARDED_BY(strand_) = 0;  // earliest time of the next AskWhy
  StrandTimer next_ ABSL_GUARDED_BY(strand_);
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_PROGRESS_REPORTS_H_
