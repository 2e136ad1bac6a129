// Tracks damaged copies of records, and the records that are decided to be bad. A copy is damaged if its framing, its
// checksum or its compressed stream is wrong each time the worker reads it.
//
// The coordinator decides whether a record is bad. If the coordinator has been away for kWaitForCoordinator, the
// tracker decides from the answers of the view's workers. Pure.
#ifndef PENSTOCK_CLIENT_DELIVERY_RECORD_COPIES_H_
#define PENSTOCK_CLIENT_DELIVERY_RECORD_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/runtime/clock.h"
#include "client/delivery/worker_table.h"

namespace penstock::client {

// Keeps a record's answers while rows wait for the record. Keeps decisions permanently.
class RecordCopies {
 public:
  // Number of damaged copies that suffices for a decision, whatever the number of workers.
  static constexpr size_t kEnoughCopies = 16;
  // Time to wait for the coordinator before the tracker decides: the coordinator also knows workers outside the view.
  static constexpr Nanos kWaitForCoordinator = 30 * kSecond;
  // Maximum time that a worker delays the tracker's decision while it is lost, silent, or has a failing storage.
  static constexpr Nanos kWaitForWorker = 30 * kSecond;
  // Time after which the core repeats a request to a worker whose storage failed.
  static constexpr Nanos kAskAgainAfter = kSecond;

  enum class Copy : uint8_t {
    kDamaged,
    kNone,        // the worker has no file of the snapshot
    kUnreadable,  // the worker's storage failed, or it had no memory
  };
  // A worker that may still have an intact copy.
  struct Wait {
    enum class Why : uint8_t { kLost, kStorage, kAnswer };
    uint32_t worker = 0;
    Why why = Why::kAnswer;
  };

  // ---- Decisions.
  bool any_decided() const { return !decided_.empty(); }
  bool decided(uint64_t record) const { return decided_.count(record) > 0; }
  // Marks the record as bad and drops its answers. Returns true if rows wait for the record.
  bool Decide(uint64_t record);

  // ---- Rows that wait for an undecided record.
  bool empty() const { return records_.empty(); }
  void AddRow(uint64_t record, Nanos now);
  void RemoveRow(uint64_t record);

  // ---- Answers about a record that rows wait for.
  // Records a worker's answer. `message` is the defect of a damaged copy. kDamaged is final for a worker.
  void Answered(uint64_t record, uint32_t worker, Copy copy, std::string message, Nanos now);
  // Drops the answers, because some worker has an intact copy. Returns true if rows wait for the record.
  bool Forget(uint64_t record);
  // Returns true if the core should now ask the worker for a row that needs the record.
  bool MayAsk(uint64_t record, uint32_t worker, Nanos now) const;
  // Returns true if a worker on the host found its copy damaged.
  bool FoundDamagedOn(uint64_t record, std::string_view host, const WorkerTable& workers) const;
  // Returns the message of the first worker that found its copy damaged.
  std::string MessageOf(uint64_t record) const;

  // Marks the record as needing a decision. Returns false if it is already marked, or if no copy is known to be
  // damaged.
  bool MarkForDecision(uint64_t record);
  bool needs_decision(uint64_t record) const;
  // Returns the records that need a decision and are bad according to the workers of the view. No worker must delay the
  // decision (WaitsFor), and a worker that found its copy damaged must be reachable.
  std::vector<uint64_t> FindBad(const WorkerTable& workers, Nanos now) const;
  // Returns the workers of the view that delay the decision for the record.
  std::vector<Wait> WaitsFor(uint64_t record, const WorkerTable& workers, Nanos now) const;

 private:
  struct Answer {
    Copy copy = Copy::kDamaged;
    Nanos at = 0;
  };
  struct Record {
    uint64_t rows = 0;  // rows that wait for the record
    Nanos since = 0;
    std::map<uint32_t, Answer> answers;  // by worker
    size_t damaged = 0;                  // damaged copies among the answers
    std::string message;
    bool needs_decision = false;
  };
  static std::vector<Wait> WaitsFor(const Record& record, const WorkerTable& workers, Nanos now);

  std::unordered_set<uint64_t> decided_;
  std::map<uint64_t, Record> records_;
};

// Returns the host of "host:port".
std::string_view HostOf(std::string_view address);

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_DELIVERY_RECORD_COPIES_H_
