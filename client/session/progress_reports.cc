#include "client/session/progress_reports.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

namespace penstock::client {
namespace {

constexpr Nanos kEvery = kSecond;            // if the coordinator does not request another interval
constexpr Nanos kMostBetween = 5 * kSecond;  // upper limit of the coordinator's interval
constexpr Nanos kReportTimeout = 2 * kSecond;
constexpr Nanos kReopenTimeout = 5 * kSecond;
// Interval of requests for the cause of a wait. With many readers the interval grows by kAskWhyForEach for each of
// them.
constexpr Nanos kAskWhyEvery = 2 * kSecond;
constexpr Nanos kAskWhyForEach = 20 * kMillisecond;
constexpr size_t kMostLines = 2;
constexpr char kOfWorker[] = "Worker ";  // the coordinator's lines about a worker's files begin with this

}  // namespace

ProgressReports::ProgressReports(Strand* strand, std::shared_ptr<Mailbox> mailbox,
                                 std::shared_ptr<CoordinatorClient> coordinator, v1::OpenSessionRequest open,
                                 std::string session_id, uint32_t copy_threads, std::shared_ptr<Window> window,
                                 std::function<v1::HeldJob()> held,
                                 std::function<void(const absl::StatusOr<v1::OpenSessionReply>&)> reopened,
                                 std::function<void(const v1::ReportSessionReply&)> answered,
                                 std::function<void(std::vector<std::string>)> on_file_errors)
    : strand_(strand),
      mailbox_(std::move(mailbox)),
      coordinator_(std::move(coordinator)),
      open_(std::move(open)),
      copy_threads_(copy_threads),
      window_(std::move(window)),
      held_(std::move(held)),
      reopened_(std::move(reopened)),
      answered_(std::move(answered)),
      on_file_errors_(std::move(on_file_errors)),
      session_id_(std::move(session_id)),
      next_(strand) {}

void ProgressReports::Start() {
  strand_->AssertHere();
  started_ = last_ = begun_ = strand_->clock()->Now();
  rate_.Add(last_, 0);
  Next(begun_ + kEvery);
}

void ProgressReports::Stop() {
  strand_->AssertHere();
  stopped_ = true;
  next_.Cancel();
}

const std::string& ProgressReports::session_id() const {
  strand_->AssertHere();
  return session_id_;
}

v1::ReportSessionRequest ProgressReports::MakeReport() {
  strand_->AssertHere();
  const Nanos now = strand_->clock()->Now();
  Window::Progress progress = window_->GetProgress();
  v1::ReportSessionRequest request;
  request.set_session_id(session_id_);
  request.set_epoch(progress.cursor.epoch);
  request.set_position(progress.cursor.position);
  const double seconds = std::max(1e-3, static_cast<double>(now - last_) / kSecond);
  rate_.Add(now, progress.rows);
  request.set_rows_per_second(rate_.PerSecond(now));
  request.set_wait_fraction(std::clamp(static_cast<double>(progress.waited - waited_) / kSecond / seconds, 0.0, 1.0));
  request.set_rows(progress.rows);
  for (std::string& worker : progress.failed_workers) request.add_failed_workers(std::move(worker));
  request.set_carriers(absl::StrJoin(progress.carriers, ", "));
  request.set_carriers_note(std::move(progress.carriers_note));
  request.set_waiting_for(window_->DescribeWait(kLeastWait));
  *request.mutable_times() = std::move(progress.times);
  request.mutable_times()->set_seconds(static_cast<double>(now - started_) / kSecond);
  request.mutable_times()->set_copy_threads(copy_threads_);
  waited_ = progress.waited;
  last_ = now;
  return request;
}

void ProgressReports::Next(Nanos at) {
  strand_->AssertHere();
  if (stopped_) return;
  next_.Set(at, [this] {
    strand_->AssertHere();
    begun_ = strand_->clock()->Now();
    unknown_ ? Reopen() : Report();
  });
}

void ProgressReports::AskWhy(bool waits) {
  strand_->AssertHere();
  if (on_file_errors_ == nullptr) return;
  if (!waits) {
    if (std::exchange(waits_, false)) on_file_errors_({});
    return;
  }
  waits_ = true;
  const Nanos now = strand_->clock()->Now();
  if (now < ask_why_at_) return;
  ask_why_at_ = now + std::max<Nanos>(kAskWhyEvery, open_.world_size() * kAskWhyForEach);
  v1::ExplainRequest request;
  request.set_job(open_.job());
  coordinator_->Explain(request, kReportTimeout,
                        [this, mailbox = mailbox_](const absl::StatusOr<v1::ExplainReply>& reply) {
                          if (!reply.ok()) return;
                          std::vector<std::string> lines;
                          for (const v1::Explanation& job : reply->jobs()) {
                            if (job.limit() != v1::Explanation::FILES) continue;
                            for (const std::string& sentence : job.sentences()) {
                              if (absl::StartsWith(sentence, kOfWorker) && lines.size() < kMostLines)
                                lines.push_back(sentence);
                            }
                          }
                          mailbox->Post([this, lines = std::move(lines)] {
                            strand_->AssertHere();
                            if (waits_ && !stopped_) on_file_errors_(lines);
                          });
                        });
}

void ProgressReports::Report() {
  strand_->AssertHere();
  const v1::ReportSessionRequest report = MakeReport();
  AskWhy(!report.waiting_for().empty());
  coordinator_->ReportSession(
      report, kReportTimeout, [this, mailbox = mailbox_](absl::StatusOr<v1::ReportSessionReply> reply) {
        mailbox->Post([this, reply = std::move(reply)] {
          strand_->AssertHere();
          Nanos next = begun_ + kEvery;
          if (reply.ok()) {
            if (reply->next_report_ms() != 0) {
              next = strand_->clock()->Now() + std::min(reply->next_report_ms() * kMillisecond, kMostBetween);
            }
            unknown_ = reply->unknown_session();
            if (unknown_) next = strand_->clock()->Now();  // before another reader gets the rank
            if (answered_ != nullptr && !stopped_) answered_(*reply);
          }
          Next(next);
        });
      });
}

void ProgressReports::Reopen() {
  strand_->AssertHere();
  v1::OpenSessionRequest request = open_;
  const plan::Cursor cursor = window_->cursor();
  request.set_epoch(cursor.epoch);
  request.set_position(cursor.position);
  request.set_resumes(session_id_);
  *request.mutable_held() = held_();
  coordinator_->OpenSession(request, kReopenTimeout,
                            [this, mailbox = mailbox_](absl::StatusOr<v1::OpenSessionReply> reply) {
                              mailbox->Post([this, reply = std::move(reply)] {
                                strand_->AssertHere();
                                if (reply.ok() && !reply->session_id().empty()) {
                                  unknown_ = false;
                                  session_id_ = reply->session_id();
                                  if (!stopped_) reopened_(reply);
                                } else if (absl::IsAlreadyExists(reply.status()) && !stopped_) {
                                  stopped_ = true;
                                  return reopened_(reply);
                                }
                                Next(begun_ + kEvery);
                              });
                            });
}

void ProgressReports::CloseSession(Nanos timeout, std::function<void()> done) {
  strand_->AssertHere();
  v1::CloseSessionRequest request;
  request.set_session_id(session_id_);
  *request.mutable_last() = MakeReport();
  coordinator_->CloseSession(
      request, timeout, [mailbox = mailbox_, done = std::move(done)](const absl::StatusOr<v1::CloseSessionReply>&) {
        mailbox->Post([done] { done(); });
      });
}

}  // namespace penstock::client
