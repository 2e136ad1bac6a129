// Tells the coordinator, each second, how a session is doing, and opens the session again where it is not known.
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
#include "client/session/bad_records.h"
#include "client/session/row_rate.h"
#include "client/session/window.h"
#include "client/transport/coordinator_client.h"

namespace penstock {

// For the strand's tasks alone.
class ProgressReports {
 public:
  // A wait of the trainer's that is shorter than this is not told of in words.
  static constexpr Nanos kLeastWait = 2 * kSecond;

  // `open`: the request that opened the session, sent again, with what `held` says, when the coordinator has forgotten
  // it. `reopened` is then told of its answer: AlreadyExists when the rank has another reader by then, which ends the
  // reports. `answered`: what else the coordinator says. `troubled`, while the trainer waits and once when that is
  // over: which files of the job the coordinator knows to fail, and at which worker. The strand outlives this; the
  // mailbox is closed before it goes.
  ProgressReports(Strand* strand, std::shared_ptr<Mailbox> mailbox, std::shared_ptr<CoordinatorClient> coordinator,
                  v1::OpenSessionRequest open, std::string session_id, uint32_t copy_threads,
                  std::shared_ptr<Window> window, std::shared_ptr<BadRecords> bad_records,
                  std::function<v1::HeldJob()> held,
                  std::function<void(const absl::StatusOr<v1::OpenSessionReply>&)> reopened,
                  std::function<void(const v1::ReportSessionReply&)> answered = nullptr,
                  std::function<void(std::vector<std::string>)> troubled = nullptr);

  void Start();
  void Stop();
  // Closes the session at the coordinator, with a last report, as a courtesy: it forgets sessions that say nothing,
  // too. `done` on the strand, within `timeout`.
  void CloseSession(Nanos timeout, std::function<void()> done);

  const std::string& session_id() const;

 private:
  v1::ReportSessionRequest MakeReport();
  void Next(Nanos at);  // the next report, or another try to open the session
  void Report();
  void Reopen();
  void AskWhy(bool waits);

  Strand* const strand_;
  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<CoordinatorClient> coordinator_;
  const v1::OpenSessionRequest open_;
  const uint32_t copy_threads_;
  const std::shared_ptr<Window> window_;
  const std::shared_ptr<BadRecords> bad_records_;
  const std::function<v1::HeldJob()> held_;
  const std::function<void(const absl::StatusOr<v1::OpenSessionReply>&)> reopened_;
  const std::function<void(const v1::ReportSessionReply&)> answered_;
  const std::function<void(std::vector<std::string>)> troubled_;
  std::string session_id_ ABSL_GUARDED_BY(strand_);
  bool unknown_ ABSL_GUARDED_BY(strand_) = false;  // the coordinator does not know the session any more
  bool stopped_ ABSL_GUARDED_BY(strand_) = false;
  Nanos begun_ ABSL_GUARDED_BY(strand_) = 0;  // the call under way, or the last one
  RowRate rate_ ABSL_GUARDED_BY(strand_);
  Nanos started_ ABSL_GUARDED_BY(strand_) = 0;
  // As of the last report.
  Nanos last_ ABSL_GUARDED_BY(strand_) = 0;
  Nanos waited_ ABSL_GUARDED_BY(strand_) = 0;
  bool waits_ ABSL_GUARDED_BY(strand_) = false;
  Nanos ask_why_at_ ABSL_GUARDED_BY(strand_) = 0;  // not before
  StrandTimer next_ ABSL_GUARDED_BY(strand_);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_PROGRESS_REPORTS_H_
