#include "tests/client/fakes/fake_streams.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/version.h"
#include "penstock/v1/data.pb.h"
#include "transport/frame.h"

namespace penstock::client {

struct FakeStreams::Shared {
  explicit Shared(FakeJob j) : job(std::move(j)) {}
  const FakeJob job;
  Mutex mutex;
  CondVar changed;  // streams or waitings
  Misbehavior how ABSL_GUARDED_BY(mutex);
  std::set<Stream*> streams ABSL_GUARDED_BY(mutex);
  uint64_t rows_sent ABSL_GUARDED_BY(mutex) = 0;
  uint64_t rows_fetched ABSL_GUARDED_BY(mutex) = 0;
  uint64_t waitings ABSL_GUARDED_BY(mutex) = 0;
  uint64_t grants ABSL_GUARDED_BY(mutex) = 0;
};

// Reads one message, queues its answers, reads the next. The worker's lock guards all state of the stream.
class FakeStreams::Stream final : public transport::StreamEvents {
 public:
  Stream(std::string id, std::shared_ptr<Shared> shared, std::shared_ptr<transport::MessageStream> stream)
      : id_(std::move(id)), shared_(std::move(shared)), stream_(std::move(stream)) {
    {
      MutexLock lock(&shared_->mutex);
      shared_->streams.insert(this);
      shared_->changed.NotifyAll();
    }
    stream_->StartRead();
  }

  void OnMessage(transport::SliceList bytes) override {
    v1::ClientMessage message;
    PS_CHECK(message.ParseFromString(bytes.Joined()));
    const absl::Status status = Handle(message);
    if (!status.ok()) return stream_->Close(status);
    stream_->StartRead();
  }

  void OnWritten() override {
    MutexLock lock(&shared_->mutex);
    writing_ = false;
    StartNext();
  }

  void OnClosed(const absl::Status&) override {
    MutexLock lock(&shared_->mutex);
    shared_->streams.erase(this);
    shared_->changed.NotifyAll();
  }

  // Requires the worker's lock, which the analysis cannot see. The lock keeps this object alive, because OnClosed takes
  // it.
  void SayDraining() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    v1::ServerHeader header;
    header.mutable_draining();
    queue_.push_back(transport::MakeFrame(header));
    StartNext();
  }
  void Break() { stream_->Close(absl::UnavailableError("the worker was killed")); }

 private:
  void StartNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mutex) {
    if (writing_) return;
    if (!queue_.empty()) {
      writing_ = true;
      transport::SliceList next = std::move(queue_.front());
      queue_.pop_front();
      stream_->StartWrite(std::move(next));
    } else if (ending_.has_value()) {
      stream_->Close(*ending_);
    }
  }

  absl::Status Handle(const v1::ClientMessage& message) {
    {
      MutexLock lock(&shared_->mutex);
      if (!shared_->how.refuse.ok()) return shared_->how.refuse;
      switch (message.message_case()) {
        case v1::ClientMessage::kOpen: {
          open_ = message.open();
          v1::ServerHeader header;
          header.mutable_accepted()->set_worker_id(id_);
          if (!shared_->how.old_release) header.mutable_accepted()->set_protocol(kProtocols.newest);
          if (!shared_->how.silent) queue_.push_back(transport::MakeFrame(header));
          break;
        }
        case v1::ClientMessage::kUseView:
          views_[message.use_view().view().number()] = message.use_view().view();
          break;
        case v1::ClientMessage::kGrant: {
          ++shared_->grants;
          const v1::Grant& grant = message.grant();
          if (views_.count(grant.view_number()) == 0) return absl::InvalidArgumentError("a grant without its view");
          std::vector<uint64_t> rows;
          const v1::View& view = views_[grant.view_number()];
          const uint64_t slice = open_.step_rows() / open_.world_size();
          for (uint64_t row = grant.begin(); row < grant.end(); ++row) {
            const uint64_t slot = (row - grant.begin()) % open_.step_rows();
            if (slot / slice != open_.rank()) continue;
            const uint64_t record = shared_->job.RecordOf(grant.epoch(), row);
            for (const v1::View::Range& range : view.ranges()) {
              if (record >= range.begin() && record < range.end() && view.workers(range.owner()).id() == id_) {
                rows.push_back(row);
              }
            }
          }
          // Steps are in order, the rows of each step in any order.
          for (size_t i = 0; i + 1 < rows.size(); i += 2) std::swap(rows[i], rows[i + 1]);
          QueueRows(grant.epoch(), rows);
          break;
        }
        case v1::ClientMessage::kFetch: {
          shared_->rows_fetched += message.fetch().positions_size();
          decided_.insert(message.fetch().decided().begin(), message.fetch().decided().end());
          QueueRows(message.fetch().epoch(), {message.fetch().positions().begin(), message.fetch().positions().end()});
          break;
        }
        case v1::ClientMessage::kWaiting:
          ++shared_->waitings;
          shared_->changed.NotifyAll();
          break;
        default:
          return absl::InvalidArgumentError("an empty message");
      }
    }
    MutexLock lock(&shared_->mutex);
    StartNext();
    return absl::OkStatus();
  }

  void QueueRows(uint64_t epoch, const std::vector<uint64_t>& rows) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mutex) {
    const Misbehavior how = shared_->how;
    if (how.silent || how.accepts_only || ending_.has_value()) return;
    for (size_t at = 0; at < rows.size(); at += how.rows_per_message) {
      const size_t end = std::min(rows.size(), at + how.rows_per_message);
      if (how.break_after_rows >= 0 && sent_ + static_cast<int64_t>(end - at) > how.break_after_rows) {
        ending_ = absl::UnavailableError("the worker broke");
        return;
      }
      const transport::SliceList frame = MakeRows(epoch, {rows.begin() + at, rows.begin() + end});
      queue_.push_back(frame);
      if (how.twice) queue_.push_back(frame);
      sent_ += static_cast<int64_t>(end - at);
      shared_->rows_sent += end - at;
    }
  }

  transport::SliceList MakeRows(uint64_t epoch, std::vector<uint64_t> numbers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mutex) {
    Misbehavior how = shared_->how;
    how.decided.insert(decided_.begin(), decided_.end());
    std::map<uint64_t, uint64_t> damaged;  // record by row
    for (const uint64_t number : numbers) {
      if (how.decided.empty() && how.damaged.empty()) break;
      const uint64_t record = shared_->job.RecordOf(epoch, number);
      const absl::Status bad = absl::DataLossError(absl::StrCat("/data/a: record ", record, ": wrong CRC"));
      if (how.decided.count(record) > 0) {
        how.fails_bad ? (void)how.failing.emplace(number, bad) : (void)how.masked.insert(number);
      } else if (how.damaged.count(record) > 0) {
        how.failing[number] = bad;
        damaged[number] = record;
      }
    }
    v1::ServerHeader header;
    v1::Rows* rows = header.mutable_rows();
    rows->set_epoch(how.unrequested ? epoch + 1000 : epoch);
    std::string payload;
    bool flagged = false;
    for (const uint64_t number : numbers) {
      flagged = flagged || how.masked.count(number) > 0 || how.substituted.count(number) > 0;
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
      rows->add_positions(numbers[i]);
      const auto source = how.substituted.find(numbers[i]);
      if (flagged) {
        rows->add_flags((how.masked.count(numbers[i]) > 0 ? v1::ROW_MASKED : 0) |
                        (source != how.substituted.end() ? v1::ROW_SUBSTITUTED : 0));
      }
      if (source != how.substituted.end()) {
        v1::Rows::Substitution* substitution = rows->add_substitutions();
        substitution->set_row(static_cast<uint32_t>(i));
        substitution->set_source_record(source->second);
      }
      const auto failing = how.failing.find(numbers[i]);
      if (failing != how.failing.end()) {
        v1::Rows::Failure* failure = rows->add_failures();
        failure->set_row(static_cast<uint32_t>(i));
        failure->set_code(static_cast<int>(failing->second.code()));
        failure->set_message(std::string(failing->second.message()));
        if (damaged.count(numbers[i]) > 0)
          failure->set_damaged_record(how.damaged_out_of_range ? UINT32_MAX : damaged[numbers[i]]);
      }
      std::string row;
      if (failing == how.failing.end() && how.masked.count(numbers[i]) == 0) {
        row = shared_->job.Payload(epoch, numbers[i]);
        if (how.huge_count) row.replace(4 * 5 * 3 + 8, 4, "\xff\xff\xff\xff");
      }
      rows->add_payload_bytes(static_cast<uint32_t>(row.size()));
      payload += row;
    }
    if (how.lying_lengths && numbers.size() >= 2) {
      rows->set_payload_bytes(0, rows->payload_bytes(0) + 1);
      rows->set_payload_bytes(1, rows->payload_bytes(1) - 1);
    }
    if (how.truncated) payload.pop_back();
    if (how.garbage) {
      return transport::SliceList(
          {transport::Slice::Of(std::string("\x05\x00\x00\x00\xff\xff\xff\xff\xff no protobuf", 21))});
    }
    // Slices of odd sizes, as if the rows were computed one by one.
    std::vector<transport::Slice> slices;
    for (size_t at = 0; at < payload.size(); at += 37) slices.push_back(transport::Slice::Of(payload.substr(at, 37)));
    return transport::MakeFrame(header, std::move(slices));
  }

  const std::string id_;
  const std::shared_ptr<Shared> shared_;
  const std::shared_ptr<transport::MessageStream> stream_;
  v1::Open open_ ABSL_GUARDED_BY(shared_->mutex);
  std::set<uint64_t> decided_ ABSL_GUARDED_BY(shared_->mutex);  // from fetches
  std::map<uint64_t, v1::View> views_ ABSL_GUARDED_BY(shared_->mutex);
  std::deque<transport::SliceList> queue_ ABSL_GUARDED_BY(shared_->mutex);
  int64_t sent_ ABSL_GUARDED_BY(shared_->mutex) = 0;
  std::optional<absl::Status> ending_ ABSL_GUARDED_BY(shared_->mutex);  // closes the stream once the queue is empty
  bool writing_ ABSL_GUARDED_BY(shared_->mutex) = false;
};

FakeStreams::FakeStreams(std::string id, FakeJob job)
    : id_(std::move(id)), shared_(std::make_shared<Shared>(std::move(job))) {}

FakeStreams::~FakeStreams() = default;

std::shared_ptr<transport::StreamEvents> FakeStreams::Accept(std::shared_ptr<transport::MessageStream> stream) {
  return std::make_shared<Stream>(id_, shared_, std::move(stream));
}

void FakeStreams::Behave(Misbehavior how) {
  MutexLock lock(&shared_->mutex);
  shared_->how = std::move(how);
}

void FakeStreams::Drain() {
  MutexLock lock(&shared_->mutex);
  for (Stream* stream : shared_->streams) stream->SayDraining();
}

void FakeStreams::BreakAll() {
  MutexLock lock(&shared_->mutex);
  for (Stream* stream : shared_->streams) stream->Break();
}

void FakeStreams::WaitForStreams(int open) const {
  MutexLock lock(&shared_->mutex);
  while (static_cast<int>(shared_->streams.size()) != open) shared_->changed.Wait(&shared_->mutex);
}

void FakeStreams::WaitForWaiting() const {
  MutexLock lock(&shared_->mutex);
  while (shared_->waitings == 0) shared_->changed.Wait(&shared_->mutex);
}

int FakeStreams::open_streams() const {
  MutexLock lock(&shared_->mutex);
  return static_cast<int>(shared_->streams.size());
}

uint64_t FakeStreams::rows_sent() const {
  MutexLock lock(&shared_->mutex);
  return shared_->rows_sent;
}

uint64_t FakeStreams::rows_fetched() const {
  MutexLock lock(&shared_->mutex);
  return shared_->rows_fetched;
}

uint64_t FakeStreams::grants() const {
  MutexLock lock(&shared_->mutex);
  return shared_->grants;
}

}  // namespace penstock::client
