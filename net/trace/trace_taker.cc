#include "net/trace/trace_taker.h"

#include <algorithm>
#include <utility>

#include "net/trace/trace_parts.h"

namespace penstock::net {
namespace {

// Maximum number of attempts to send a part. If all fail, the process drops the rest of its recording.
constexpr int kTries = 5;
constexpr Nanos kPause = 200 * kMillisecond;
// Limits for orders, which are untrusted input.
constexpr uint32_t kMostMs = 120'000;
constexpr size_t kMostEvents = size_t{1} << 20;

}  // namespace

void TraceTaker::Take(const v1::TraceOrder& order, const std::string& process, std::vector<std::string> sessions) {
  mailbox_->Post([this, order, process, sessions = std::move(sessions)] {
    strand_.AssertHere();
    if (stopped_ || taking_ || order.trace() == trace_) return;
    part_ = like_;
    part_.set_process(process);
    for (const std::string& session : sessions) part_.add_sessions(session);
    Begin(order);
  });
}

void TraceTaker::Stop() {
  mailbox_->Post([this] {
    strand_.AssertHere();
    stopped_ = true;
    timer_.Cancel();
    parts_.clear();
    recorder_->End(strand_.clock()->Now());
  });
}

void TraceTaker::SetTimer(Nanos when, void (TraceTaker::*step)()) {
  timer_.Set(when, [this, step] {
    strand_.AssertHere();
    if (!stopped_) (this->*step)();
  });
}

void TraceTaker::Begin(const v1::TraceOrder& order) {
  taking_ = true;
  trace_ = order.trace();
  order_ = order;
  const Nanos now = strand_.clock()->Now();
  begin_ = now + std::min(order.begin_in_ms(), kMostMs) * kMillisecond;
  end_ = begin_ + std::min(order.length_ms(), kMostMs) * kMillisecond;
  clock_ = ClockExchange();
  CompareClocks(kExchanges, &TraceTaker::WaitForBegin);
}

void TraceTaker::CompareClocks(int left, void (TraceTaker::*then)()) {
  if (left == 0) {
    (this->*then)();
    return;
  }
  v1::PutTraceRequest request;
  request.set_trace(trace_);
  request.set_process(part_.process());
  const Clock* const clock = strand_.clock();
  const Nanos asked = clock->Now();
  put_(request, [this, mailbox = mailbox_, clock, left, then, asked](const absl::StatusOr<v1::PutTraceReply>& reply) {
    const Nanos answered = clock->Now();
    mailbox->Post([this, left, then, asked, answered, reply] {
      strand_.AssertHere();
      if (stopped_) return;
      if (reply.ok()) clock_.Add(asked, reply->received(), reply->sent(), answered);
      // If the coordinator does not answer, do not try again here: the upload of the parts retries.
      CompareClocks(reply.ok() ? left - 1 : 0, then);
    });
  });
}

void TraceTaker::WaitForBegin() { SetTimer(begin_, &TraceTaker::Record); }

void TraceTaker::Record() {
  recorder_->Begin(order_.job(), std::min<size_t>(order_.most_events(), kMostEvents), strand_.clock()->Now());
  SetTimer(end_, &TraceTaker::EndRecording);
}

void TraceTaker::EndRecording() {
  recording_ = recorder_->End(strand_.clock()->Now());
  CompareClocks(kExchanges, &TraceTaker::HandIn);
}

void TraceTaker::HandIn() {
  part_.set_least_offset(clock_.least());
  part_.set_most_offset(clock_.most());
  part_.set_round_trip(static_cast<uint64_t>(clock_.round_trip()));
  part_.set_exchanges(clock_.exchanges());
  for (v1::TracePart& part : MakeTraceParts(std::exchange(recording_, {}), part_, kPartEvents)) {
    v1::PutTraceRequest& request = parts_.emplace_back();
    request.set_trace(trace_);
    request.set_process(part_.process());
    *request.mutable_part() = std::move(part);
  }
  parts_.back().set_last(true);
  failed_ = 0;
  PutNext();
}

void TraceTaker::PutNext() {
  if (parts_.empty() || failed_ == kTries) {
    parts_.clear();
    taking_ = false;
    return;
  }
  put_(parts_.front(), [this, mailbox = mailbox_](const absl::StatusOr<v1::PutTraceReply>& reply) {
    mailbox->Post([this, ok = reply.ok()] {
      strand_.AssertHere();
      if (stopped_) return;
      if (ok) {
        parts_.pop_front();
        failed_ = 0;
        PutNext();
      } else {
        ++failed_;
        SetTimer(strand_.clock()->Now() + kPause, &TraceTaker::PutNext);
      }
    });
  });
}

}  // namespace penstock::net
