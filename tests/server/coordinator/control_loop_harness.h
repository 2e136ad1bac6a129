// The control loop on virtual time, in one thread, with a store in memory.
#ifndef PENSTOCK_TESTS_SERVER_COORDINATOR_CONTROL_LOOP_HARNESS_H_
#define PENSTOCK_TESTS_SERVER_COORDINATOR_CONTROL_LOOP_HARNESS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime/sim_scheduler.h"
#include "server/coordinator/service/control_loop.h"
#include "tests/server/coordinator/job_specs.h"
#include "tests/support/fake_store.h"

namespace penstock::coordinator {

using WatchResult = absl::StatusOr<std::shared_ptr<const WatchAnswer>>;

class ControlLoopTest : public ::testing::Test {
 protected:
  ~ControlLoopTest() override { loop_.reset(); }

  void Start(const ControlLoop::Options& options = {}) {
    loop_.reset();
    const v1::StoredState stored = *store_.Load();
    auto state = CoordinatorState::Restore({}, sim_.clock()->Now(), ++term_, stored);
    ASSERT_TRUE(state.ok());
    loop_ = std::make_unique<ControlLoop>(*std::move(state), &store_, stored.revision(), &sim_, options);
  }

  // Starts a request. The result has a value after the answer.
  std::shared_ptr<std::optional<absl::Status>> Begin(Request request, Nanos deadline = ControlLoop::kNoDeadline) {
    auto done = std::make_shared<std::optional<absl::Status>>();
    loop_->Apply(std::move(request), deadline, [this, done](absl::Status result, Reply* reply) {
      EXPECT_FALSE(done->has_value());
      *done = std::move(result);
      reply_ = std::move(*reply);
    });
    return done;
  }
  // Runs a request and everything that is due now.
  absl::Status Apply(Request request, Nanos deadline = ControlLoop::kNoDeadline) {
    const auto done = Begin(std::move(request), deadline);
    sim_.RunFor(0);
    return done->has_value() ? **done : absl::InternalError("no answer");
  }

  std::shared_ptr<std::optional<WatchResult>> Watch(uint64_t id, uint64_t known, uint32_t wait_ms,
                                                    const std::string& job = "") {
    v1::WatchRequest request;
    request.set_job(job);
    request.set_known_revision(known);
    request.set_base_revision(known);
    request.set_wait_ms(wait_ms);
    auto reply = std::make_shared<std::optional<WatchResult>>();
    loop_->Watch(id, request, [reply](WatchResult result) {
      EXPECT_FALSE(reply->has_value());
      *reply = std::move(result);
    });
    return reply;
  }
  static absl::StatusCode CodeOf(const std::shared_ptr<std::optional<WatchResult>>& reply) {
    return reply->has_value() ? (*reply)->status().code() : absl::StatusCode::kInternal;
  }

  uint64_t Revision() {
    const auto reply = Watch(next_id_++, 0, 0);
    sim_.RunFor(0);
    return (**reply)->get()->reply.revision();
  }

  // The serialized job from the state, or "" if there is none.
  std::string Job(const std::string& name) {
    std::string job;
    loop_->Read([&](const CoordinatorState& state, Nanos) {
      if (const auto found = state.FindJob(name)) job = found->SerializeAsString();
    });
    sim_.RunFor(0);
    return job;
  }

  // The reason why the loop does not serve, or "".
  std::string Serving() {
    std::string reason = "no answer";
    loop_->CheckServing([&](const absl::Status& status) { reason = std::string(status.message()); });
    sim_.RunFor(0);
    return reason;
  }

  // The number of bad records of all jobs, as the status has it.
  uint64_t BadRecords() {
    uint64_t bad = 0;
    loop_->Read([&](const CoordinatorState& state, Nanos now) {
      const v1::StatusReply status = state.Status(now);
      for (const v1::StatusReply::JobStatus& job : status.jobs()) bad += job.bad_records();
    });
    sim_.RunFor(0);
    return bad;
  }

  // Starts `count` watchers that already know everything about the job.
  std::vector<std::shared_ptr<std::optional<WatchResult>>> Follow(const std::string& job, int count) {
    const uint64_t known = Revision();
    std::vector<std::shared_ptr<std::optional<WatchResult>>> held;
    for (int i = 0; i < count; ++i) {
      held.push_back(Watch(next_id_++, known, 30'000, job));
      if (i % 1000 == 0) sim_.RunFor(0);
    }
    sim_.RunFor(0);
    return held;
  }
  static int Answered(const std::vector<std::shared_ptr<std::optional<WatchResult>>>& held) {
    int answered = 0;
    for (const auto& reply : held) answered += reply->has_value();
    return answered;
  }

  SimScheduler sim_{1};
  support::FakeStore store_;
  std::unique_ptr<ControlLoop> loop_;
  Reply reply_;  // reply to the last request
  uint64_t next_id_ = 1000;
  uint64_t term_ = 0;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_TESTS_SERVER_COORDINATOR_CONTROL_LOOP_HARNESS_H_
