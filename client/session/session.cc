#include "client/session/session.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/version.h"
#include "net/protocols_proto.h"
#include "net/session_label.h"

namespace penstock::client {
namespace {

constexpr Nanos kCloseSessionWithin = 300 * kMillisecond;
constexpr Nanos kClosedWithin = 400 * kMillisecond;
constexpr Nanos kStopped = kSecond;
constexpr Nanos kPutTraceWithin = 5 * kSecond;

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

TrackerOptions TrackerOptionsOf(const JobInfo& job, const SessionOptions& options) {
  TrackerOptions tracker;
  tracker.rank = options.rank;
  tracker.start = options.start;
  tracker.epochs = options.epochs;
  tracker.window_steps = options.window_steps;
  tracker.order = job.order;
  return tracker;
}

v1::Open FirstMessage(const JobInfo& job, const plan::Steps& steps, const SessionOptions& options) {
  v1::Open open;
  open.set_version(std::string(Version()));
  *open.mutable_protocols() = net::ToProto(kProtocols);
  open.set_job(job.name);
  open.set_job_uid(job.uid);
  open.set_order_fingerprint(job.order_fingerprint);
  open.set_pipeline_fingerprint(job.pipeline_fingerprint);
  open.set_rank(options.rank);
  open.set_end_epoch(plan::EndEpoch(options.start, options.epochs));
  open.set_world_size(static_cast<uint32_t>(steps.world_size()));
  open.add_codings(v1::ROW_CODING_ZSTD);
  open.set_step_rows(static_cast<uint32_t>(steps.sizes().first));
  for (const plan::SizeChange& change : steps.sizes().changes) {
    v1::StepChange* const later = open.add_step_changes();
    later->set_at_rows(change.at_rows);
    later->set_step_rows(static_cast<uint32_t>(change.size));
  }
  return open;
}

v1::TracePart TracePartOf(const SessionOptions& options) {
  v1::TracePart part;
  part.set_host(options.open.host());
  part.set_version(options.open.version());
  part.set_rank(options.rank);
  return part;
}

}  // namespace

Session::Session(JobInfo job, const plan::Steps& steps, SessionOptions options,
                 std::shared_ptr<CoordinatorClient> coordinator, const SessionRuntime& runtime)
    : job_(std::make_shared<const JobInfo>(std::move(job))),
      steps_(steps),
      options_(std::move(options)),
      coordinator_(std::move(coordinator)),
      strand_(runtime.control),
      mailbox_(std::make_shared<Mailbox>(&strand_)),
      memory_(std::make_shared<BatchMemory>(options_.allocator, options_.max_free_bytes)),
      trace_(std::make_shared<TraceRecorder>()),
      window_(std::make_shared<Window>(job_->name, steps_, TrackerOptionsOf(*job_, options_),
                                       options_.most_window_steps, strand_.clock())),
      awake_(std::make_shared<std::atomic<bool>>(false)),
      links_(&strand_, runtime.transport, FirstMessage(*job_, steps_, options_), window_,
             std::make_shared<Receiver>(job_, steps_, window_, trace_, runtime.copying,
                                        [this, mailbox = mailbox_](uint64_t link) {
                                          mailbox->Post([this, link] {
                                            strand_.AssertHere();
                                            links_.Closed(link);
                                            MaybeClosed();
                                          });
                                        })),
      watch_(
          &strand_, mailbox_, coordinator_, job_, options_.watched,
          [this](const absl::StatusOr<std::shared_ptr<const plan::View>>& news) { OnNews(news); },
          [this](const std::vector<uint64_t>& records) { window_->Decided(records); },
          [this](std::string why) { window_->SetPaused(std::move(why)); }),
      traces_(runtime.control, trace_, TracePartOf(options_),
              [coordinator = coordinator_](const v1::PutTraceRequest& request, net::TraceTaker::Done done) {
                coordinator->PutTrace(request, kPutTraceWithin, std::move(done));
              }),
      trainer_trace_(trace_, strand_.clock()),
      reports_(
          &strand_, mailbox_, coordinator_, options_.open, options_.session_id, runtime.copy_threads, window_,
          [this] {
            strand_.AssertHere();
            return watch_.Held();
          },
          [this](const absl::StatusOr<v1::OpenSessionReply>& reply) {
            strand_.AssertHere();
            if (!reply.ok()) return window_->JobGone(reply.status());
            TakeTicket(reply->ticket());
            watch_.Take(reply->job(), reply->revision());
          },
          [this](const v1::ReportSessionReply& reply) {
            TakeTicket(reply.ticket());
            TakeTraces(reply);
          },
          [this](std::vector<std::string> file_errors) {
            window_->SetFileErrors(std::move(file_errors));
            Turn();  // reports the files to a waiting trainer
          }),
      verdicts_(
          &strand_, mailbox_, coordinator_, job_->uid,
          [this] {
            strand_.AssertHere();
            return reports_.session_id();
          },
          window_),
      wait_notice_(window_, options_.on_wait),
      next_turn_(&strand_),
      give_up_(&strand_) {
  links_.SetTicket(options_.ticket);
}

Session::~Session() {
  mailbox_->Close();
  window_->Close();
  // An object of the carrier may hold the window a moment longer than the reader, but must not keep the trainer's
  // memory.
  memory_->Close();
}

void Session::Start(std::shared_ptr<const plan::View> view, std::function<void()> on_due) {
  window_->SetHooks(
      [this, mailbox = mailbox_, awake = awake_] {
        if (!awake->exchange(true)) mailbox->Post([this] { Turn(); });
      },
      std::move(on_due));
  mailbox_->Post([this] {
    strand_.AssertHere();
    watch_.Start();
    reports_.Start();
  });
  window_->ViewChanged(std::move(view));
}

void Session::Turn() {
  strand_.AssertHere();
  if (closing_) return;
  awake_->store(false);
  const Nanos now = strand_.clock()->Now();
  // Turns are at most a second apart. A much later turn means that this process was stopped (SIGSTOP, a frozen
  // container).
  if (turn_due_ > 0 && now - turn_due_ > kStopped) {
    window_->Stopped(now - turn_due_);
    links_.Stopped(now - turn_due_);
  }
  Nanos next = 0;
  for (const Command& command : window_->Tick(&next)) CarryOut(command);
  TellNotice();
  next = std::min({next, links_.BreakSilent(now), wait_notice_.Tell(now)});
  // An early turn is harmless.
  if (next_turn_.pending() && next_turn_.when() <= next && next_turn_.when() > now) return;
  turn_due_ = std::max(next, now + kMillisecond);
  next_turn_.Set(turn_due_, [this] { Turn(); });
}

void Session::TellNotice() {
  strand_.AssertHere();
  if (noticed_ || options_.on_notice == nullptr) return;
  const std::string text = window_->carriers_note();
  if (text.empty()) return;
  noticed_ = true;
  options_.on_notice(text);
}

void Session::CarryOut(const Command& command) {
  std::visit(Overloaded{[this](const BookStep& book) { Book(book); },
                        [this](const OpenStream& open) {
                          strand_.AssertHere();
                          links_.Open(open, reports_.session_id());
                        },
                        [this](const CloseStream& close) {
                          strand_.AssertHere();
                          links_.Close(close);
                        },
                        [this](const AskVerdicts& ask) {
                          strand_.AssertHere();
                          verdicts_.Ask(ask);
                        },
                        [this](const StoreDecision& decision) {
                          strand_.AssertHere();
                          verdicts_.Store(decision);
                        },
                        [this](const auto& send) {
                          strand_.AssertHere();
                          links_.Send(send);
                        }},
             command);
}

void Session::Book(const BookStep& book) {
  auto step = std::make_shared<Window::Step>();
  step->span = book.span;
  step->slice = book.slice;
  step->valid.resize(book.slice.size());
  step->source.resize(book.slice.size(), Window::kOwnRecord);
  step->policy.resize(book.slice.size());
  if (job_->selects) {
    step->number.resize(book.slice.size());
    step->source_number.resize(book.slice.size());
  }
  step->builder = BatchBuilder::Create(job_->format, book.slice.size(), memory_,
                                       {book.span.epoch, book.span.begin + book.slice.begin});
  if (step->builder != nullptr) {
    window_->Book(book.ordinal, std::move(step));
  } else {
    window_->Fail(absl::ResourceExhaustedError(absl::StrCat("cannot allocate a batch of ", book.slice.size(),
                                                            " rows of ", job_->format->memory_bytes,
                                                            " bytes; lower prefetch_bytes or prefetch_steps")));
  }
}

void Session::OnNews(const absl::StatusOr<std::shared_ptr<const plan::View>>& news) {
  if (!news.ok()) {
    window_->JobGone(news.status());
  } else if (*news != nullptr) {
    window_->ViewChanged(*news);
  }
}

absl::StatusOr<Batch> Session::Finish(Window::Taken taken) const {
  if (taken.step == nullptr) return taken.status;
  const plan::StepSpan& span = taken.step->span;
  return taken.step->builder->Finish(span.epoch, steps_.NumberAt({span.epoch, span.begin}), span.begin);
}

void Session::TakeTicket(const std::string& ticket) {
  strand_.AssertHere();
  if (!ticket.empty()) links_.SetTicket(ticket);
}

void Session::TakeTraces(const v1::ReportSessionReply& reply) {
  strand_.AssertHere();
  for (const v1::TraceOrder& order : reply.traces()) {
    // Streams were opened with the first id or, after the coordinator forgot the session, with the current one.
    if (order.job() == job_->name)
      traces_.Take(order, net::SessionLabel(reports_.session_id()), {net::SessionLabel(options_.session_id)});
  }
}

absl::StatusOr<Batch> Session::Next(absl::Duration timeout) {
  trainer_trace_.Asked();
  Window::Taken taken =
      window_->TakeWithin(absl::ToInt64Nanoseconds(std::clamp(timeout, absl::ZeroDuration(), absl::Hours(87600))));
  trainer_trace_.Got(taken.step.get());
  return Finish(std::move(taken));
}

std::optional<absl::StatusOr<Batch>> Session::TryNext() {
  trainer_trace_.Asked();
  std::optional<Window::Taken> taken = window_->Take();
  if (!taken.has_value()) return std::nullopt;
  trainer_trace_.Got(taken->step.get());
  return Finish(*std::move(taken));
}

void Session::Cancel() { window_->Cancel(); }

void Session::Close(std::function<void()> done) {
  window_->Cancel();
  mailbox_->Post([this, done = std::move(done)]() mutable {
    strand_.AssertHere();
    closed_ = std::move(done);
    CloseOnStrand();
  });
}

void Session::CloseOnStrand() {
  strand_.AssertHere();
  closing_ = true;
  next_turn_.Cancel();
  watch_.Stop();
  reports_.Stop();
  verdicts_.Stop();
  traces_.Stop();
  coordinator_->Cancel();
  give_up_.Set(strand_.clock()->Now() + kClosedWithin, [this] {
    strand_.AssertHere();
    if (closed_ != nullptr) std::exchange(closed_, nullptr)();
  });
  reports_.CloseSession(kCloseSessionWithin, [this] {
    strand_.AssertHere();
    session_closed_ = true;
    MaybeClosed();
  });
  // After the last report: the streams that this session closes must not count as failures of their workers.
  links_.CancelAll();
}

void Session::MaybeClosed() {
  strand_.AssertHere();
  if (!closing_ || !session_closed_ || !links_.empty() || closed_ == nullptr) return;
  give_up_.Cancel();
  std::exchange(closed_, nullptr)();
}

}  // namespace penstock::client
