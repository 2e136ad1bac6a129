#include "tests/simulation/sim_worker.h"

#include <utility>

#include "base/version.h"
#include "pipeline/augment/conformance.h"
#include "pipeline/storage/posix_storage.h"
#include "server/worker/jobs/tasks.h"

namespace penstock::simulation {
namespace {

v1::TracePart TracePartOf(const std::string& host) {
  v1::TracePart part;
  part.set_worker(true);
  part.set_host(host);
  part.set_version(std::string(Version()));
  return part;
}

worker::AgentOptions AgentOptionsOf(const SimWorker::Options& worker) {
  worker::AgentOptions options;
  options.registration.set_id(worker.host);
  options.registration.set_incarnation(worker.incarnation);
  options.registration.set_address(worker.host);
  options.registration.set_host(worker.host);
  options.registration.set_threads(1);
  options.registration.set_conformance_digest(augment::ConformanceDigest());
  options.registration.set_version(std::string(Version()));
  for (const sources::DataRoot& root : worker.roots) options.registration.add_roots(root.name);
  return options;
}

}  // namespace

SimWorker::SimWorker(SimScheduler* sim, SimNetwork* network, SimCoordinatorHost* coordinator, const Options& options)
    : network_(network),
      process_(sim),
      link_(network, coordinator, options.host, &process_),
      indexes_(sources::IndexStore::InStateDir(storage::LocalFiles(), options.state_dir), &link_, options.host,
               process_.clock()),
      jobs_(storage::LocalFiles(), options.roots, &indexes_),
      loader_(&process_, options.row_time),
      traces_(&process_, trace_, TracePartOf(options.host),
              [this](const v1::PutTraceRequest& request, net::TraceTaker::Done done) {
                link_.PutTrace(request, std::move(done));
              }),
      acceptor_(&shared_) {
  shared_.worker_id = options.host;
  shared_.loader = &loader_;
  shared_.jobs = &jobs_;
  shared_.executor = &process_;
  shared_.trace = trace_.get();
  worker::AgentHooks hooks;
  hooks.load = [this] {
    return meter_.Measure(loader_.Stats(), shared_.bytes_sent.load(), shared_.open_sessions.load(),
                          process_.clock()->Now());
  };
  hooks.jobs_changed = [this](const net::JobChanges& changes) { jobs_.Update(changes); };
  hooks.run_task = [this, host = options.host, roots = options.roots](const v1::Task& task) {
    return worker::RunTask(task, host, {storage::LocalFiles(), roots, &indexes_, &link_});
  };
  hooks.drain = [this] { Drain(); };
  hooks.trace = [this](const v1::TraceOrder& order) { traces_.Take(order, host()); };
  hooks.ready = [] {};
  agent_ = std::make_shared<worker::Agent>(AgentOptionsOf(options), std::move(hooks), &link_, &process_, &process_);
  agent_->Start();
  network_->Listen(options.host, &acceptor_);
}

SimWorker::~SimWorker() {
  process_.Kill();
  indexes_.Stop();
}

void SimWorker::Kill() {
  dead_ = true;
  process_.Kill();
  network_->Kill(host());
}

void SimWorker::Drain() {
  agent_->SetDraining();
  acceptor_.SendDraining();
  acceptor_.WhenIdle([this] { agent_->SayLeaving([this] { left_ = true; }); });
}

}  // namespace penstock::simulation
