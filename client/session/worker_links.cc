#include "client/session/worker_links.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "net/view_proto.h"

namespace penstock::client {

WorkerLinks::WorkerLinks(Strand* strand, transport::Transport* transport, v1::Open first,
                         std::shared_ptr<Window> window, std::shared_ptr<LinkEvents> events)
    : strand_(strand),
      transport_(transport),
      first_(std::move(first)),
      window_(std::move(window)),
      events_(std::move(events)) {}

// The strand no longer runs.
WorkerLinks::~WorkerLinks() {
  for (auto& [number, link] : links_) {
    link.link->Detach();
    link.link->Cancel();
  }
}

void WorkerLinks::SetTicket(std::string ticket) {
  MutexLock lock(&ticket_->mutex);
  ticket_->bytes = std::move(ticket);
}

void WorkerLinks::Open(const OpenStream& open, const std::string& session_id) {
  strand_->AssertHere();
  v1::ClientMessage message;
  *message.mutable_open() = first_;
  message.mutable_open()->set_session_id(session_id);
  Link& link = links_[open.stream];
  transport::WorkerAddress worker(open.address, open.local, open.tls_name);
  worker.ticket = [ticket = ticket_] {
    MutexLock lock(&ticket->mutex);
    return ticket->bytes;
  };
  link.link = WorkerLink::Open(open.stream, worker, transport_, events_);
  link.worker = open.worker;
  const auto patience = patience_.find(open.worker);
  link.answer_by = strand_->clock()->Now() + (patience == patience_.end() ? kAnswerWithin : patience->second);
  link.link->Send(message);
}

void WorkerLinks::Close(const CloseStream& close) {
  strand_->AssertHere();
  const auto it = links_.find(close.stream);
  if (it != links_.end()) it->second.link->Cancel();
}

void WorkerLinks::SendTo(uint64_t link, const v1::ClientMessage& message) {
  strand_->AssertHere();
  const auto it = links_.find(link);
  if (it != links_.end()) it->second.link->Send(message);
}

void WorkerLinks::Send(const SendView& send) {
  v1::ClientMessage message;
  *message.mutable_use_view()->mutable_view() = net::ToProto(*send.view);
  SendTo(send.stream, message);
}

void WorkerLinks::Send(const SendGrant& send) {
  v1::ClientMessage message;
  v1::Grant* grant = message.mutable_grant();
  grant->set_view_term(send.view_term);
  grant->set_view_number(send.view_number);
  grant->set_epoch(send.epoch);
  grant->set_begin(send.begin);
  grant->set_end(send.end);
  SendTo(send.stream, message);
}

void WorkerLinks::Send(const SendFetch& send) {
  v1::ClientMessage message;
  v1::Fetch* fetch = message.mutable_fetch();
  fetch->set_epoch(send.epoch);
  fetch->mutable_positions()->Add(send.rows.begin(), send.rows.end());
  fetch->mutable_decided()->Add(send.decided.begin(), send.decided.end());
  SendTo(send.stream, message);
}

void WorkerLinks::Send(const SendWaiting& send) {
  v1::ClientMessage message;
  message.mutable_waiting()->set_epoch(send.epoch);
  message.mutable_waiting()->set_begin(send.begin);
  SendTo(send.stream, message);
}

void WorkerLinks::Closed(uint64_t link) {
  strand_->AssertHere();
  links_.erase(link);
}

void WorkerLinks::CancelAll() {
  strand_->AssertHere();
  for (auto& [number, link] : links_) link.link->Cancel();
}

bool WorkerLinks::empty() const {
  strand_->AssertHere();
  return links_.empty();
}

void WorkerLinks::Stopped(Nanos length) {
  strand_->AssertHere();
  for (auto& [number, link] : links_) {
    if (link.answer_by != INT64_MAX) link.answer_by += length;
  }
}

Nanos WorkerLinks::BreakSilent(Nanos now) {
  strand_->AssertHere();
  Nanos next = INT64_MAX;
  for (auto& [number, link] : links_) {
    if (link.answer_by == INT64_MAX) continue;
    if (link.link->heard()) {
      link.answer_by = INT64_MAX;
      patience_.erase(link.worker);
    } else if (now < link.answer_by) {
      next = std::min(next, link.answer_by);
    } else {
      link.answer_by = INT64_MAX;
      Nanos& patience = patience_.try_emplace(link.worker, kAnswerWithin).first->second;
      patience = std::min(2 * patience, kLongestAnswer);
      link.link->Cancel();
      window_->StreamBroken(
          number,
          absl::DeadlineExceededError("it does not answer: it cannot be reached, hangs, or is no worker; tried again"));
    }
  }
  return next;
}

}  // namespace penstock::client
