#include "server/worker/stream/send_trace.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::worker {

void SendTrace::Opened(std::string job, std::string session) {
  job_ = std::move(job);
  session_ = std::move(session);
}

void SendTrace::Begin(const std::vector<loader::RowResult>& rows, Nanos now) {
  track_ = nullptr;
  if (rows.empty() || !trace_->Wants(job_)) return;
  track_ = trace_->Track(absl::StrCat("send to ", session_), session_);
  if (track_ == nullptr) return;
  send_ = TraceEvent();
  send_.name = trace_->Name("send");
  send_.begin = now;
  send_.epoch = rows.front().request.epoch;
  send_.position = rows.front().request.position;
  send_.rows = static_cast<uint32_t>(rows.size());
  for (const loader::RowResult& row : rows) {
    TraceEvent sent;
    sent.kind = TraceEvent::Kind::kRowSent;
    sent.begin = sent.end = now;
    sent.epoch = row.request.epoch;
    sent.position = row.request.position;
    track_->Add(sent);
  }
}

void SendTrace::Made(uint64_t bytes, Nanos now) {
  if (track_ == nullptr) return;
  send_.bytes = bytes;
  TraceEvent made;
  made.name = trace_->Name("make message");
  made.begin = send_.begin;
  made.end = now;
  track_->Add(made);
}

void SendTrace::Written(Nanos now) {
  if (track_ == nullptr) return;
  send_.end = now;
  track_->Add(send_);
  track_ = nullptr;
}

}  // namespace penstock::worker
