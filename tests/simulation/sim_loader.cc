#include "tests/simulation/sim_loader.h"

#include <cstring>
#include <utility>

namespace penstock::simulation {
namespace {

// Ignores releases: a simulated worker has enough memory.
class Purse final : public loader::BudgetLease::Owner {
 public:
  void Release(uint64_t, uint64_t) override {}
};

std::unique_ptr<loader::BudgetLease> Grab(uint64_t bytes) {
  static const auto purse = std::make_shared<Purse>();
  return std::make_unique<loader::BudgetLease>(purse, 0, bytes);
}

}  // namespace

class SimLoader::RowsOf final : public loader::Loader::Session {
 public:
  RowsOf(SimLoader* loader, uint64_t id) : loader_(loader), id_(id) {}
  ~RowsOf() override { loader_->Close(id_); }
  void Close(Task quiet) override {
    loader_->Close(id_);
    std::move(quiet)();
  }
  size_t Request(const std::vector<loader::RowRequest>& rows) override {
    loader_->Add(id_, rows);
    return rows.size();
  }
  void Expect(loader::ExpectedRows) override {}
  std::unique_ptr<loader::BudgetLease> Reserve(uint64_t bytes) override { return Grab(bytes); }
  void NowRevocable() override {}
  void SetHead(uint64_t step) override { loader_->SetHead(id_, step); }
  size_t pending() const override { return loader_->Pending(id_); }

 private:
  SimLoader* const loader_;
  const uint64_t id_;
};

absl::StatusOr<std::unique_ptr<loader::Loader::Session>> SimLoader::OpenSession(
    std::shared_ptr<const loader::LoadJob> job, const loader::LoaderSessionOptions&, loader::RowSink* sink) {
  const uint64_t id = next_session_++;
  sessions_.emplace(id, Opened{std::move(job), sink, 0});
  return std::make_unique<RowsOf>(this, id);
}

loader::LoaderStats SimLoader::Stats() const {
  loader::LoaderStats stats;
  stats.rows = made_;
  stats.busy_seconds = stats.owing_seconds = stats.cpu_seconds = static_cast<double>(busy_) / kSecond;
  return stats;
}

void SimLoader::Add(uint64_t session, const std::vector<loader::RowRequest>& rows) {
  for (const loader::RowRequest& row : rows) {
    const bool urgent = row.urgent || row.step <= sessions_.at(session).head;
    waiting_.emplace(Place(!urgent, row.step, session, next_arrival_++), row);
  }
  Next();
}

void SimLoader::SetHead(uint64_t session, uint64_t step) {
  sessions_.at(session).head = step;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto [later, row_step, of, arrival] = it->first;
    const auto at = it++;
    if (!later || of != session || row_step > step) continue;
    auto node = waiting_.extract(at);
    node.key() = Place(false, row_step, of, arrival);
    waiting_.insert(std::move(node));
  }
}

void SimLoader::Close(uint64_t session) {
  sessions_.erase(session);
  std::erase_if(waiting_, [session](const auto& row) { return std::get<2>(row.first) == session; });
}

size_t SimLoader::Pending(uint64_t session) const {
  size_t rows = 0;
  for (const auto& [place, row] : waiting_) rows += std::get<2>(place) == session ? 1 : 0;
  return rows;
}

void SimLoader::Next() {
  if (making_ || waiting_.empty()) return;
  making_ = true;
  executor_->PostAt(executor_->clock()->Now() + row_time_, [this] { Make(); });
}

void SimLoader::Make() {
  making_ = false;
  busy_ += row_time_;
  if (!waiting_.empty()) {
    const uint64_t session = std::get<2>(waiting_.begin()->first);
    const loader::RowRequest request = waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    const Opened opened = sessions_.at(session);
    loader::RowResult row;
    row.request = request;
    row.record_id = row.source_record = opened.job->PlanOf(request.epoch).RecordAt(request.position);
    const uint64_t bytes = opened.job->fixed_bytes();
    row.fixed = std::make_unique<std::byte[]>(bytes);
    for (uint64_t at = 0; at + sizeof row.record_id <= bytes; at += sizeof row.record_id) {
      std::memcpy(row.fixed.get() + at, &row.record_id, sizeof row.record_id);
    }
    row.bytes = Grab(bytes);
    ++made_;
    opened.sink->OnRow(std::move(row));
  }
  Next();
}

}  // namespace penstock::simulation
