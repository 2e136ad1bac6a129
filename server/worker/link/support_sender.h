// Sends the worker's files for a support file, on an order of the coordinator.
#ifndef PENSTOCK_SERVER_WORKER_LINK_SUPPORT_SENDER_H_
#define PENSTOCK_SERVER_WORKER_LINK_SUPPORT_SENDER_H_

#include <cstdint>
#include <functional>
#include <thread>

#include "base/mutex.h"
#include "penstock/v1/control.pb.h"
#include "server/common/support_files.h"
#include "server/worker/link/coordinator_link.h"

namespace penstock::worker {

// Thread-safe. Collects the files on a thread of its own, which makes no rows and waits for no storage. So it answers
// while the worker's other threads hang.
class SupportSender {
 public:
  // `collect` must not block. `link` must outlive this object.
  SupportSender(const v1::RegisterWorkerRequest& registration, std::function<void(server::SupportFiles*)> collect,
                CoordinatorLink* link);
  ~SupportSender() { Stop(); }

  // Collects and sends the files. Ignores the last order if it is repeated, and any order while it collects.
  void Take(const v1::SupportOrder& order);
  // Waits for the thread. Ignores later orders. A call in flight may end later.
  void Stop();

 private:
  void Send(uint64_t id);

  const v1::PutSupportRequest like_;  // without id and files
  const std::function<void(server::SupportFiles*)> collect_;
  CoordinatorLink* const link_;
  Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool collecting_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;  // id of the last order
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_LINK_SUPPORT_SENDER_H_
