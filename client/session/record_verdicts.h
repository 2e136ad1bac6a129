// Part of a session: asks the coordinator which records with damaged copies are bad. Also sends the coordinator the
// decisions that the session made while the coordinator was away.
#ifndef PENSTOCK_CLIENT_SESSION_RECORD_VERDICTS_H_
#define PENSTOCK_CLIENT_SESSION_RECORD_VERDICTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/runtime/mailbox.h"
#include "base/runtime/strand.h"
#include "client/delivery/commands.h"
#include "client/session/window.h"
#include "client/transport/coordinator_client.h"

namespace penstock::client {

// Makes one call at a time while records wait for an answer or decisions wait to be stored. For tasks of the strand
// only.
class RecordVerdicts {
 public:
  // Maximum number of records, and of decisions, in one call.
  static constexpr size_t kMostRecords = 4096;

  // `strand` must outlive this object. `mailbox` must be closed before this object is destroyed.
  RecordVerdicts(Strand* strand, std::shared_ptr<Mailbox> mailbox, std::shared_ptr<CoordinatorClient> coordinator,
                 uint64_t job_uid, std::function<std::string()> session_id, std::shared_ptr<Window> window);

  void Ask(const AskVerdicts& ask);
  void Store(const StoreDecision& decision);
  void Stop();

 private:
  // Sets the timer for the next call.
  void Schedule();
  void Call();
  void Answered(const v1::JudgeRecordsRequest& request, const absl::StatusOr<v1::JudgeRecordsReply>& reply);

  Strand* const strand_;
  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<CoordinatorClient> coordinator_;
  const uint64_t job_uid_;
  const std::function<std::string()> session_id_;
  const std::shared_ptr<Window> window_;
  std::map<uint64_t, Nanos> asked_ ABSL_GUARDED_BY(strand_);            // record -> time of its next request
  std::map<uint64_t, std::string> decisions_ ABSL_GUARDED_BY(strand_);  // record -> message; not confirmed yet
  bool calling_ ABSL_GUARDED_BY(strand_) = false;
  bool stopped_ ABSL_GUARDED_BY(strand_) = false;
  Nanos backoff_ ABSL_GUARDED_BY(strand_) = 0;     // 0: the last call was answered
  Nanos not_before_ ABSL_GUARDED_BY(strand_) = 0;  // earliest time of the next call
  StrandTimer again_ ABSL_GUARDED_BY(strand_);
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_RECORD_VERDICTS_H_
