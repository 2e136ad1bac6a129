// A parked row: it waits for its shard, for its record, or for another session's thread.
#ifndef PENSTOCK_PIPELINE_LOADER_PARKED_ROW_H_
#define PENSTOCK_PIPELINE_LOADER_PARKED_ROW_H_

#include <memory>
#include <utility>

#include "pipeline/loader/loader_core.h"

namespace penstock {

class LoaderCore::ParkedRow final : public ReadyWaiter {
 public:
  ParkedRow(std::weak_ptr<LoaderCore> core, RowScheduler::Picked picked, std::shared_ptr<const LoadJob> job)
      : picked_(std::move(picked)),
        core_(std::move(core)),
        session_(picked_.session),
        job_(std::move(job)),
        request_(picked_.row.request) {}
  void OnReady(std::shared_ptr<const void> hold) override {
    if (const std::shared_ptr<LoaderCore> core = core_.lock()) core->Unpark(*this, std::move(hold));
  }
  uint64_t session() const { return session_; }
  bool urgent() const { return request_.urgent; }
  const LoadJob& job() const { return *job_; }
  const RowRequest& request() const { return request_; }

  RowScheduler::Picked picked_;  // guarded by the core's lock

 private:
  const std::weak_ptr<LoaderCore> core_;
  const uint64_t session_;
  const std::shared_ptr<const LoadJob> job_;
  const RowRequest request_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_PARKED_ROW_H_
