#include "tests/simulation/sim_coordinator_host.h"

#include <utility>

#include "base/check.h"
#include "tests/simulation/sim_process.h"
#include "tests/support/commit_facts.h"

namespace penstock::simulation {

struct SimCoordinatorHost::Process {
  explicit Process(SimScheduler* sim) : executor(sim) {}
  SimProcess executor;
  std::unique_ptr<coordinator::ControlLoop> loop;
};

SimCoordinatorHost::SimCoordinatorHost(SimScheduler* sim, SimNetwork* network, uint64_t seed)
    : sim_(sim), network_(network), random_(seed) {}
SimCoordinatorHost::~SimCoordinatorHost() = default;

void SimCoordinatorHost::Start() {
  PS_CHECK(process_ == nullptr);
  const v1::StoredState stored = *store_.Load();
  std::vector<v1::StoreEvent> begin(1);
  begin[0].set_begin_term(stored.term() + 1);
  PS_CHECK(support::CommitFacts(&store_, begin, stored.revision()).kind == coordinator::CommitOutcome::kStored);
  auto state = coordinator::CoordinatorState::Restore(coordinator::StateOptions(), sim_->clock()->Now(),
                                                      stored.term() + 1, stored);
  PS_CHECK(state.ok());
  process_ = std::make_unique<Process>(sim_);
  coordinator::ControlLoop::Options options;
  options.random = &random_;
  options.on_superseded = [this, of = process_.get()](const absl::Status& why) {
    exits_.push_back(why);
    // The process ends after its calls are answered.
    sim_->PostAt(sim_->clock()->Now() + 100 * kMillisecond, [this, of] {
      if (process_.get() == of) Kill();
    });
  };
  process_->loop = std::make_unique<coordinator::ControlLoop>(*std::move(state), &store_, stored.revision() + 1,
                                                              &process_->executor, options);
}

void SimCoordinatorHost::Kill() {
  PS_CHECK(process_ != nullptr);
  process_->executor.Kill();
  network_->Kill(kName);
  End();
}

void SimCoordinatorHost::End() { process_.reset(); }

coordinator::ControlLoop* SimCoordinatorHost::loop() const {
  return process_ == nullptr ? nullptr : process_->loop.get();
}

}  // namespace penstock::simulation
