#include "server/worker/link/support_sender.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "base/runtime/threads.h"

namespace penstock::worker {
namespace {

v1::PutSupportRequest RequestOf(const v1::RegisterWorkerRequest& registration) {
  v1::PutSupportRequest request;
  request.set_worker_id(registration.id());
  request.set_incarnation(registration.incarnation());
  return request;
}

}  // namespace

SupportSender::SupportSender(const v1::RegisterWorkerRequest& registration,
                             std::function<void(server::SupportFiles*)> collect, CoordinatorLink* link)
    : like_(RequestOf(registration)), collect_(std::move(collect)), link_(link) {}

void SupportSender::Take(const v1::SupportOrder& order) {
  MutexLock lock(&mutex_);
  if (stopped_ || collecting_ || order.id() == last_) return;
  if (thread_.joinable()) thread_.join();  // it has collected
  auto started = StartThread("ps-support", [this, id = order.id()] { Send(id); });
  if (!started.ok()) return spdlog::warn("no support files: {}", std::string(started.status().message()));
  thread_ = *std::move(started);
  collecting_ = true;
  last_ = order.id();
}

void SupportSender::Send(uint64_t id) {
  v1::PutSupportRequest request = like_;
  request.set_id(id);
  collect_(request.mutable_files());
  link_->PutSupport(request, [](const absl::StatusOr<v1::PutSupportReply>& reply) {
    if (!reply.ok()) spdlog::warn("the support files were not sent: {}", std::string(reply.status().message()));
  });
  MutexLock lock(&mutex_);
  collecting_ = false;
}

void SupportSender::Stop() {
  std::thread thread;
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

}  // namespace penstock::worker
