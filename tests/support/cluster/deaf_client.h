// A client of a worker that sends requests and never reads: for tests with hostile or stopped trainers.
#ifndef PENSTOCK_TESTS_SUPPORT_CLUSTER_DEAF_CLIENT_H_
#define PENSTOCK_TESTS_SUPPORT_CLUSTER_DEAF_CLIENT_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "penstock/v1/control.pb.h"
#include "penstock/v1/data.pb.h"
#include "transport/message_stream.h"

namespace penstock::support {

// Thread-safe.
class DeafClient final : public transport::StreamEvents {
 public:
  // Opens a stream to `worker` and writes the messages. Each waits until the worker has accepted its predecessor.
  static std::shared_ptr<DeafClient> Connect(transport::Transport* transport, const transport::WorkerAddress& worker,
                                             std::vector<v1::ClientMessage> messages);

  void Close();
  // The number of messages that the worker has accepted.
  size_t written() const;
  // The stream's final status, or nullopt while it is open.
  std::optional<absl::Status> ended() const;

  void OnMessage(transport::SliceList) override {}
  void OnWritten() override;
  void OnClosed(const absl::Status& status) override;

 private:
  explicit DeafClient(std::vector<v1::ClientMessage> messages) : messages_(std::move(messages)) {}
  void WriteNext();

  const std::vector<v1::ClientMessage> messages_;
  mutable Mutex mutex_;
  std::shared_ptr<transport::MessageStream> stream_ ABSL_GUARDED_BY(mutex_);
  size_t started_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<absl::Status> ended_ ABSL_GUARDED_BY(mutex_);
};

// The first message to a worker, as rank 0 of 1 with the job's own batch.
v1::ClientMessage OpenMessage(const v1::Job& job, const std::string& session);
// Fetches `count` times `rows` rows of epoch 0, in order, starting again after its end.
std::vector<v1::ClientMessage> FetchMessages(uint64_t positions, int count, int rows);
// Returns a message with the job's view, and then a grant for each of `epochs` whole epochs.
std::vector<v1::ClientMessage> GrantMessages(const v1::Job& job, uint64_t positions, uint64_t epochs);

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_CLUSTER_DEAF_CLIENT_H_
