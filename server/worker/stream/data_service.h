// The data plane's gRPC service: a thin reactor for each stream around a StreamSession.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_DATA_SERVICE_H_
#define PENSTOCK_SERVER_WORKER_STREAM_DATA_SERVICE_H_

#include <memory>
#include <set>

#include "base/mutex.h"
#include "penstock/v1/data.grpc.pb.h"
#include "server/worker/stream/stream_session.h"

namespace penstock {

class DataService final : public v1::Worker::WithRawCallbackMethod_Stream<v1::Worker::Service> {
 public:
  // `shared` outlives the service; the gRPC server is shut down before the service goes.
  explicit DataService(SessionShared* shared) : shared_(shared) {}
  ~DataService() override;

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Stream(grpc::CallbackServerContext* context) override;

  // Tells every stream, and all that come, that this worker will leave.
  void SendDraining();

  // Streams that are open.
  size_t streams() const;
  // Waits until no stream is open, at most until `deadline` of the real clock. Returns whether there is none.
  bool WaitUntilIdle(Nanos deadline);

 private:
  class StreamReactor;
  void Remove(StreamReactor* reactor);

  SessionShared* const shared_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::set<StreamReactor*> streams_ ABSL_GUARDED_BY(mutex_);
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_STREAM_DATA_SERVICE_H_
