// Calls of simulated processes to the coordinator, over the virtual network.
#ifndef PENSTOCK_TESTS_SIMULATION_SIM_CALLS_H_
#define PENSTOCK_TESTS_SIMULATION_SIM_CALLS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/transport/coordinator_client.h"
#include "penstock/v1/control.pb.h"
#include "server/coordinator/service/control_loop.h"
#include "server/worker/link/coordinator_link.h"
#include "tests/simulation/sim_coordinator_host.h"
#include "tests/simulation/sim_network.h"
#include "tests/simulation/sim_process.h"
#include "transport/peer.h"

namespace penstock::simulation {

// Calls to the coordinator from one process. Each call runs `done` once: with the reply or the error of the
// coordinator, or with DeadlineExceeded, Unavailable or Cancelled. It runs no `done` after its process has died.
class SimCalls {
 public:
  SimCalls(SimNetwork* network, SimCoordinatorHost* coordinator, std::string host, SimProcess* process)
      : network_(network), coordinator_(coordinator), host_(std::move(host)), process_(process) {}

  // Runs `ask(loop, deadline, answer)` at the coordinator. `answer` sends the reply. If no coordinator runs, the call
  // ends with Unavailable.
  template <typename Rep, typename Done, typename Ask>
  void Call(Nanos timeout, Done done, Ask ask) {
    auto call = std::make_shared<Open<Rep, Done>>(std::move(done));
    std::erase_if(open_, [](const auto& weak) { return weak.expired(); });
    open_.push_back(call);
    const Nanos deadline = process_->clock()->Now() + timeout;
    process_->PostAt(deadline, [call] { call->Fail(absl::DeadlineExceededError("the coordinator does not answer")); });
    const auto answer = [network = network_, host = host_, alive = process_->alive(), call](absl::StatusOr<Rep> reply) {
      network->Deliver(SimCoordinatorHost::kName, host, [alive, call, reply = std::move(reply)]() mutable {
        if (*alive) call->Answer(std::move(reply));
      });
    };
    network_->Deliver(host_, SimCoordinatorHost::kName,
                      [coordinator = coordinator_, answer, ask = std::move(ask), deadline]() mutable {
                        if (coordinator->loop() == nullptr) {
                          answer(absl::UnavailableError("coordinator: connection refused"));
                        } else {
                          ask(coordinator->loop(), deadline, answer);
                        }
                      });
  }

  // Sends a request that the coordinator's state answers.
  template <typename Rep, typename Req, typename Done>
  void Apply(const Req& request, Nanos timeout, Done done) {
    Call<Rep>(timeout, std::move(done),
              [request, host = host_](coordinator::ControlLoop* loop, Nanos deadline, auto answer) {
                const auto applied = [answer](absl::Status status, coordinator::Reply* made) {
                  if (status.ok()) {
                    answer(std::get<Rep>(*made));
                  } else {
                    answer(std::move(status));
                  }
                };
                loop->Apply(request, deadline, applied, transport::Peer::Simulated(host));
              });
  }

  template <typename Done>
  void Watch(const v1::WatchRequest& request, Done done) {
    Call<v1::WatchReply>(
        request.wait_ms() * kMillisecond + 5 * kSecond, std::move(done),
        [request, id = coordinator_->NextWatch()](coordinator::ControlLoop* loop, Nanos, auto answer) {
          loop->Watch(id, request,
                      [answer](const absl::StatusOr<std::shared_ptr<const coordinator::WatchAnswer>>& answered) {
                        if (answered.ok()) {
                          answer((*answered)->reply);
                        } else {
                          answer(answered.status());
                        }
                      });
        });
  }

  // Ends all calls with Cancelled.
  void Cancel() {
    for (const auto& weak : std::exchange(open_, {})) {
      if (const auto call = weak.lock()) call->Fail(absl::CancelledError("cancelled"));
    }
  }

 private:
  struct AnyOpen {
    virtual ~AnyOpen() = default;
    virtual void Fail(absl::Status why) = 0;
  };
  template <typename Rep, typename Done>
  struct Open final : AnyOpen {
    explicit Open(Done to_call) : done(std::move(to_call)) {}
    void Answer(absl::StatusOr<Rep> reply) {
      if (std::exchange(over, true)) return;
      Done once = std::move(done);
      std::move(once)(std::move(reply));
    }
    void Fail(absl::Status why) override { Answer(std::move(why)); }
    Done done;
    bool over = false;
  };

  SimNetwork* const network_;
  SimCoordinatorHost* const coordinator_;
  const std::string host_;
  SimProcess* const process_;
  std::vector<std::weak_ptr<AnyOpen>> open_;
};

// Calls of a worker.
class SimWorkerCalls final : public worker::CoordinatorLink {
 public:
  SimWorkerCalls(SimNetwork* network, SimCoordinatorHost* coordinator, const std::string& host, SimProcess* process)
      : calls_(network, coordinator, host, process) {}
  void Register(const v1::RegisterWorkerRequest& request, Done<v1::RegisterWorkerReply> done) override {
    calls_.Apply<v1::RegisterWorkerReply>(request, kTimeout, std::move(done));
  }
  void Heartbeat(const v1::HeartbeatRequest& request, Done<v1::HeartbeatReply> done) override {
    calls_.Apply<v1::HeartbeatReply>(request, kTimeout, std::move(done));
  }
  void Watch(const v1::WatchRequest& request, Done<v1::WatchReply> done) override {
    calls_.Watch(request, std::move(done));
  }
  void ReportTask(const v1::ReportTaskRequest& request, Done<v1::ReportTaskReply> done) override {
    calls_.Apply<v1::ReportTaskReply>(request, kTimeout, std::move(done));
  }
  void PutTrace(const v1::PutTraceRequest& request, Done<v1::PutTraceReply> done) override {
    calls_.Apply<v1::PutTraceReply>(request, kTimeout, std::move(done));
  }
  // Simulated rows need no index.
  absl::Status PutIndex(uint64_t, std::string) override { return absl::OkStatus(); }
  absl::StatusOr<v1::GetIndexReply> GetIndex(const v1::GetIndexRequest&) override {
    return absl::NotFoundError("none here");
  }
  void Cancel() override { calls_.Cancel(); }

 private:
  static constexpr Nanos kTimeout = 2 * kSecond;

  SimCalls calls_;
};

// Calls of a reader.
class SimClientCalls final : public client::CoordinatorClient {
 public:
  SimClientCalls(SimNetwork* network, SimCoordinatorHost* coordinator, const std::string& host, SimProcess* process)
      : calls_(network, coordinator, host, process) {}
  std::string name() const override { return "the coordinator of a simulation"; }
  void OpenSession(const v1::OpenSessionRequest& request, Nanos timeout, Done<v1::OpenSessionReply> done) override {
    calls_.Apply<v1::OpenSessionReply>(request, timeout, std::move(done));
  }
  void Watch(const v1::WatchRequest& request, Nanos, Done<v1::WatchReply> done) override {
    calls_.Watch(request, std::move(done));
  }
  void ReportSession(const v1::ReportSessionRequest& request, Nanos timeout,
                     Done<v1::ReportSessionReply> done) override {
    calls_.Apply<v1::ReportSessionReply>(request, timeout, std::move(done));
  }
  void CloseSession(const v1::CloseSessionRequest& request, Nanos timeout, Done<v1::CloseSessionReply> done) override {
    calls_.Apply<v1::CloseSessionReply>(request, timeout, std::move(done));
  }
  void JudgeRecords(const v1::JudgeRecordsRequest& request, Nanos timeout, Done<v1::JudgeRecordsReply> done) override {
    calls_.Apply<v1::JudgeRecordsReply>(request, timeout, std::move(done));
  }
  void PutTrace(const v1::PutTraceRequest& request, Nanos timeout, Done<v1::PutTraceReply> done) override {
    calls_.Apply<v1::PutTraceReply>(request, timeout, std::move(done));
  }
  void Cancel() override { calls_.Cancel(); }

 private:
  SimCalls calls_;
};

}  // namespace penstock::simulation

#endif  // PENSTOCK_TESTS_SIMULATION_SIM_CALLS_H_
