#include "tests/support/cluster/deaf_client.h"

#include <utility>

#include "base/version.h"
#include "net/protocols_proto.h"

namespace penstock::support {

std::shared_ptr<DeafClient> DeafClient::Connect(transport::Transport* transport, const transport::WorkerAddress& worker,
                                                std::vector<v1::ClientMessage> messages) {
  const std::shared_ptr<DeafClient> client(new DeafClient(std::move(messages)));
  std::shared_ptr<transport::MessageStream> stream = transport->Connect(worker, client);
  {
    MutexLock lock(&client->mutex_);
    if (!client->ended_.has_value()) client->stream_ = std::move(stream);
  }
  client->WriteNext();
  return client;
}

void DeafClient::Close() {
  std::shared_ptr<transport::MessageStream> stream;
  {
    MutexLock lock(&mutex_);
    stream = stream_;
  }
  if (stream != nullptr) stream->Close(absl::OkStatus());
}

size_t DeafClient::written() const {
  MutexLock lock(&mutex_);
  return written_;
}

std::optional<absl::Status> DeafClient::ended() const {
  MutexLock lock(&mutex_);
  return ended_;
}

void DeafClient::OnWritten() {
  {
    MutexLock lock(&mutex_);
    ++written_;
  }
  WriteNext();
}

void DeafClient::OnClosed(const absl::Status& status) {
  std::shared_ptr<transport::MessageStream> dropped;  // destroyed after the lock is released
  MutexLock lock(&mutex_);
  ended_ = status;
  dropped.swap(stream_);
}

void DeafClient::WriteNext() {
  std::shared_ptr<transport::MessageStream> stream;
  const v1::ClientMessage* next = nullptr;
  {
    MutexLock lock(&mutex_);
    if (stream_ == nullptr || started_ == messages_.size()) return;
    stream = stream_;
    next = &messages_[started_++];
  }
  stream->StartWrite(transport::SliceList({transport::Slice::Of(next->SerializeAsString())}));
}

v1::ClientMessage OpenMessage(const v1::Job& job, const std::string& session) {
  v1::ClientMessage message;
  v1::Open* const open = message.mutable_open();
  *open->mutable_protocols() = net::ToProto(kProtocols);
  open->set_session_id(session);
  open->set_job(job.name());
  open->set_job_uid(job.uid());
  open->set_order_fingerprint(job.order_fingerprint());
  open->set_pipeline_fingerprint(job.pipeline_fingerprint());
  open->set_world_size(1);
  open->set_step_rows(job.spec().batch().size());
  return message;
}

std::vector<v1::ClientMessage> FetchMessages(uint64_t positions, int count, int rows) {
  std::vector<v1::ClientMessage> messages;
  uint64_t next = 0;
  for (int i = 0; i < count; ++i) {
    v1::Fetch* const fetch = messages.emplace_back().mutable_fetch();
    for (int row = 0; row < rows; ++row) fetch->add_positions(next++ % positions);
  }
  return messages;
}

std::vector<v1::ClientMessage> GrantMessages(const v1::Job& job, uint64_t positions, uint64_t epochs) {
  std::vector<v1::ClientMessage> messages(1);
  *messages.front().mutable_use_view()->mutable_view() = job.view();
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    v1::Grant* const grant = messages.emplace_back().mutable_grant();
    grant->set_view_term(job.view().term());
    grant->set_view_number(job.view().number());
    grant->set_epoch(epoch);
    grant->set_end(positions);
  }
  return messages;
}

}  // namespace penstock::support
