// A loader that makes rows of zeros when a test calls MakeAll(), on the test's thread.
#ifndef PENSTOCK_TESTS_SERVER_WORKER_STREAM_FAKE_LOADER_H_
#define PENSTOCK_TESTS_SERVER_WORKER_STREAM_FAKE_LOADER_H_

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "pipeline/loader/loader.h"

namespace penstock::worker {

// Not thread-safe. For tests whose sessions run on virtual time.
class FakeLoader final : public loader::Loader {
 public:
  absl::StatusOr<std::unique_ptr<Session>> OpenSession(std::shared_ptr<const loader::LoadJob> job,
                                                       const loader::LoaderSessionOptions&,
                                                       loader::RowSink* sink) override {
    if (open_.size() >= most_sessions_) return absl::ResourceExhaustedError("a step takes 9 bytes, 4 are free");
    const uint64_t id = next_++;
    Open open;
    open.sink = sink;
    open.fixed_bytes = job->schema().FixedBytes();
    open_.emplace(id, std::move(open));
    return std::make_unique<FakeSession>(this, id);
  }
  loader::LoaderStats Stats() const override { return {}; }

  // Set the largest number of waiting rows of a session, and the largest reservation that Reserve() grants.
  void SetQueue(size_t rows) { queue_ = rows; }
  void SetRoom(uint64_t bytes) { room_ = static_cast<int64_t>(bytes); }
  // Sets the largest number of open sessions. OpenSession() fails if as many are open.
  void SetMostSessions(size_t most) { most_sessions_ = most; }

  // Delivers the waiting rows of each session, and closes the session if Close() was called. Rows that a session
  // requests during its own deliveries wait for the next call.
  void MakeAll() {
    for (auto it = open_.begin(); it != open_.end();) {
      Open& open = it->second;
      for (const loader::RowRequest& request : std::exchange(open.rows, {})) {
        if (!open.closing) ++made_;
        loader::RowResult row;
        row.request = request;
        row.fixed = std::make_unique<std::byte[]>(open.fixed_bytes);
        std::memset(row.fixed.get(), 0, open.fixed_bytes);
        row.bytes = std::make_unique<loader::BudgetLease>(purse_, 0, open.fixed_bytes);
        open.sink->OnRow(std::move(row));
      }
      if (!open.closing) {
        ++it;
        continue;
      }
      Task quiet = std::move(open.quiet);
      it = open_.erase(it);
      std::move(quiet)();
    }
  }

  // Returns the number of rows that sessions have requested.
  uint64_t requested() const { return requested_; }
  // Returns the number of rows delivered to sessions that were not closing.
  uint64_t made() const { return made_; }
  // Returns the bytes of all leases from Reserve() that still exist.
  uint64_t held() const { return static_cast<uint64_t>(held_->bytes); }
  // Returns the rows that the oldest open session expects.
  const loader::ExpectedRows& expected() const { return open_.begin()->second.expected; }
  // Returns how often sessions called NowRevocable().
  int now_revocable() const { return now_revocable_; }

 private:
  struct Open {
    loader::RowSink* sink = nullptr;
    uint64_t fixed_bytes = 0;
    loader::ExpectedRows expected;
    std::vector<loader::RowRequest> rows;
    bool closing = false;
    Task quiet;
  };
  class FakeSession final : public Session {
   public:
    FakeSession(FakeLoader* loader, uint64_t id) : loader_(loader), id_(id) {}
    // If rows wait, MakeAll() delivers them and then calls `quiet`. Otherwise Close() calls `quiet` at once.
    void Close(Task quiet) override {
      Open& open = loader_->open_.at(id_);
      if (open.rows.empty()) {
        loader_->open_.erase(id_);
        std::move(quiet)();
        return;
      }
      open.closing = true;
      open.quiet = std::move(quiet);
    }
    size_t Request(const std::vector<loader::RowRequest>& rows) override {
      Open& open = loader_->open_.at(id_);
      const size_t taken = std::min(rows.size(), loader_->queue_ - std::min(loader_->queue_, open.rows.size()));
      open.rows.insert(open.rows.end(), rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(taken));
      loader_->requested_ += taken;
      return taken;
    }
    void Expect(loader::ExpectedRows rows) override { loader_->open_.at(id_).expected = std::move(rows); }
    std::unique_ptr<loader::BudgetLease> Reserve(uint64_t bytes) override {
      if (loader_->room_ < static_cast<int64_t>(bytes)) return nullptr;
      loader_->held_->bytes += static_cast<int64_t>(bytes);
      return std::make_unique<loader::BudgetLease>(loader_->held_, 0, bytes);
    }
    void NowRevocable() override { ++loader_->now_revocable_; }
    void SetHead(uint64_t) override {}
    size_t pending() const override { return loader_->open_.at(id_).rows.size(); }

   private:
    FakeLoader* const loader_;
    const uint64_t id_;
  };
  struct Purse final : loader::BudgetLease::Owner {
    void Release(uint64_t, uint64_t released) override { bytes -= static_cast<int64_t>(released); }
    int64_t bytes = 0;
  };

  std::map<uint64_t, Open> open_;
  std::shared_ptr<Purse> purse_ = std::make_shared<Purse>(), held_ = std::make_shared<Purse>();
  int64_t room_ = int64_t{1} << 30;
  size_t queue_ = SIZE_MAX;
  size_t most_sessions_ = SIZE_MAX;
  uint64_t next_ = 1, requested_ = 0, made_ = 0;
  int now_revocable_ = 0;
};

}  // namespace penstock::worker

#endif  // PENSTOCK_TESTS_SERVER_WORKER_STREAM_FAKE_LOADER_H_
