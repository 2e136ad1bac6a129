#include "tests/simulation/sim_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"

namespace penstock::simulation {

SimReader::SimReader(SimScheduler* sim, SimNetwork* network, SimCoordinatorHost* coordinator,
                     const support::TestDataset& dataset, const std::string& host, const ReaderOptions& options,
                     Nanos pace)
    : records_(dataset.records),
      shard_records_(dataset.records / dataset.files.size()),
      pace_(pace),
      process_(sim),
      calls_(std::make_shared<SimClientCalls>(network, coordinator, host, &process_)),
      opener_(std::make_unique<client::SessionOpener>(&process_, calls_, options)) {
  opener_->Open(60 * kSecond,
                [this, transport = network->TransportOf(host)](absl::StatusOr<client::OpenedSession> opened) {
                  if (!opened.ok()) return End(opened.status());
                  Start(*std::move(opened), transport);
                });
}

SimReader::~SimReader() { process_.Kill(); }

void SimReader::Start(client::OpenedSession opened, transport::Transport* transport) {
  session_ = std::make_unique<client::Session>(std::move(opened.job), opened.steps, std::move(opened.options), calls_,
                                               client::SessionRuntime{&process_, &process_, transport});
  asked_at_ = now();
  session_->Start(std::move(opened.view), [this] { process_.Post([this] { Poll(); }); });
  process_.Post([this] { Poll(); });
}

void SimReader::Poll() {
  if (pausing_ || ended) return;
  std::optional<absl::StatusOr<Batch>> next = session_->TryNext();
  if (!next.has_value()) return;
  if (!next->ok()) return End(next->status());
  const Batch batch = **std::move(next);
  if (batches++ > 0) longest_wait = std::max(longest_wait, now() - asked_at_);
  Check(batch);
  pausing_ = true;
  process_.PostAt(now() + pace_, [this] {
    pausing_ = false;
    asked_at_ = now();
    Poll();
  });
}

void SimReader::Check(const Batch& batch) {
  const ColumnView& column = batch.column("id");
  std::vector<int>& seen = seen_[batch.epoch()];
  seen.resize(records_);
  for (size_t row = 0; row < batch.ids().size(); ++row) {
    const RowId id = batch.ids()[row];
    const uint64_t record = id.shard * shard_records_ + id.record;
    const auto holds = static_cast<uint64_t>(column.data<int64_t>()[row]);
    if (holds != record || batch.valid()[row] == 0) {
      wrong = absl::StrCat("epoch ", batch.epoch(), ", position ", batch.position(), ", row ", row, ": record ", record,
                           " holds ", holds);
    }
    if (++seen[record] > 1) wrong = absl::StrCat("record ", record, " came again in epoch ", batch.epoch());
    digest = HashWords({digest, batch.epoch(), holds});
  }
}

void SimReader::End(const absl::Status& why) {
  end = why;
  ended = true;
  if (session_ != nullptr) session_->Close([] {});
}

}  // namespace penstock::simulation
