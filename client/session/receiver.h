// Part of a session: receives the workers' messages. Each message becomes a task of the copying executor. The task
// claims the slots of the message's rows, copies the rows into them, and seals completed steps.
#ifndef PENSTOCK_CLIENT_SESSION_RECEIVER_H_
#define PENSTOCK_CLIENT_SESSION_RECEIVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "base/runtime/executor.h"
#include "base/trace/trace_recorder.h"
#include "client/session/job_info.h"
#include "client/session/window.h"
#include "client/session/worker_link.h"
#include "pipeline/batch/row_coding.h"
#include "transport/slice.h"

namespace penstock::client {

// Held by shared_ptr. Its tasks keep it and the window alive. Thread-safe.
class Receiver final : public LinkEvents, public std::enable_shared_from_this<Receiver> {
 public:
  // `copying` must outlive the links. Calls `closed` on `copying` for each link that has ended, after the task of its
  // last message has started.
  Receiver(std::shared_ptr<const JobInfo> job, const plan::Steps& steps, std::shared_ptr<Window> window,
           std::shared_ptr<TraceRecorder> trace, Executor* copying, std::function<void(uint64_t link)> closed)
      : job_(std::move(job)),
        steps_(steps),
        window_(std::move(window)),
        trace_(std::move(trace)),
        copying_(copying),
        closed_(std::move(closed)),
        decoder_(job_->format->schema) {}

  void OnLinkMessage(const std::shared_ptr<WorkerLink>& link, transport::SliceList message) override;
  void OnLinkClosed(const std::shared_ptr<WorkerLink>& link, const absl::Status& status) override;

 private:
  void Receive(WorkerLink* link, transport::SliceList message);
  // Decompresses the payload. Returns InvalidArgument if the worker sent invalid data.
  absl::Status Expand(const v1::Rows& rows, transport::SliceCursor* payload) const;
  absl::Status ReceiveRows(uint64_t link, const v1::Rows& rows, transport::SliceCursor payload);
  // Writes each claimed row into its slot.
  absl::Status Copy(const v1::Rows& rows, transport::SliceCursor payload, std::vector<Window::Claimed>* claimed) const;
  void Seal(const Window::Complete& complete);
  absl::Status SealRows(Window::Step* step) const;

  const std::shared_ptr<const JobInfo> job_;
  const plan::Steps steps_;
  const std::shared_ptr<Window> window_;
  const std::shared_ptr<TraceRecorder> trace_;
  Executor* const copying_;
  const std::function<void(uint64_t)> closed_;
  const batch::RowDecoder decoder_;
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_RECEIVER_H_
