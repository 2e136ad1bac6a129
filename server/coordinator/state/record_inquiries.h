// Inquiries about damaged records of one submission: whether every copy of a record is damaged.
//
// An inquiry asks all workers that are able to serve the job. If there are more than 16, it asks 16, on as many hosts
// as possible. The record is bad if at least one of these workers counts and every one that counts reports a damaged
// copy:
//   reports DAMAGED            counts
//   reports INTACT             ends the inquiry: the record is intact
//   reports NO_FILE            does not count; if there are more than 16 workers, the inquiry asks another one
//   reports UNREADABLE         gets the question again; counts for 30 s after the first question
//   does not answer            counts until its unanswered batch is 30 s old
//   is lost                    counts for 30 s after its loss, and gets the question when it rejoins
//   left, or died in a drain   does not count
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_RECORD_INQUIRIES_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_RECORD_INQUIRIES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/runtime/clock.h"
#include "penstock/v1/control.pb.h"

namespace penstock::coordinator {

// Pure state; the caller passes the time.
class RecordInquiries {
 public:
  static constexpr size_t kMostOpen = 65536;
  static constexpr size_t kMostWorkers = 16;
  static constexpr size_t kMostInBatch = 32;  // small enough for slow storage to answer within kPatience
  static constexpr Nanos kPatience = 30 * kSecond;

  // A worker that is able to serve the job: it sends heartbeats, or it is lost. The loss may be long ago.
  struct Worker {
    std::string id;
    std::string host;  // "": counts as a host of its own
    std::optional<Nanos> lost_since = {};
  };
  // Sets the complete list of such workers. Call it when they change, periodically, and when the first inquiry is
  // opened.
  void SetWorkers(Nanos now, const std::vector<Worker>& workers);

  enum class Verdict { kOpen, kIntact };
  // Opens an inquiry unless one exists or the limit is reached. Returns the known state of the record. The inquiry ends
  // if no reader has asked for its record for a minute, unless Confirm was called for the record.
  Verdict Ask(Nanos now, uint64_t record);
  // Opens an inquiry to confirm a reader's decision about a record. It ends with the first damaged copy, or when every
  // worker that counts has answered. Opens none while at least kMostOpen / 2 inquiries are open.
  void Confirm(Nanos now, uint64_t record);

  struct Progress {
    std::vector<v1::BadRecord> damaged;  // records of ended inquiries that are bad or confirmed as bad
    std::vector<std::string> asked;      // workers that have a new batch
  };
  // Ends inquiries and creates batches for workers that have none. `all`: considers every inquiry, because time has
  // passed or SetWorkers was called. Otherwise considers only questions and answers since the last call.
  Progress Advance(Nanos now, bool all, absl::FunctionRef<uint64_t()> new_batch_id);

  // A question to a worker: the records whose copies it checks.
  struct Batch {
    uint64_t id = 0;
    std::vector<uint64_t> records;
    Nanos since = 0;
    bool fetched = false;
  };
  // Returns the worker's unanswered batch and marks it as fetched. Returns null if there is none.
  const Batch* Fetch(const std::string& worker);
  bool HasUnfetched() const { return unfetched_ > 0; }
  // Applies the answer to a batch. A record of the batch without a check counts as UNREADABLE. Returns false if the
  // worker has no such batch.
  bool Answer(Nanos now, const std::string& worker, uint64_t batch_id,
              const google::protobuf::RepeatedPtrField<v1::RecordCheck>& checks);

  bool empty() const { return inquiries_.empty(); }
  size_t size() const { return inquiries_.size(); }

 private:
  struct Copy {
    uint32_t worker = 0;                                              // index into workers_
    uint32_t round = 0;                                               // the worker's round at the time of the question
    v1::RecordCheck::Copy state = v1::RecordCheck::COPY_UNSPECIFIED;  // COPY_UNSPECIFIED before an answer
    Nanos asked = 0;  // start of the first batch that contains it; before that, when it joined the queue
    bool answered() const {
      return state == v1::RecordCheck::INTACT || state == v1::RecordCheck::DAMAGED || state == v1::RecordCheck::NO_FILE;
    }
  };
  struct Inquiry {
    std::vector<Copy> copies;
    std::string reason, message;             // error of the first damaged copy
    std::optional<uint64_t> offset, number;  // the record's place in its file
    bool confirm = false;
    Nanos wanted = 0;  // time of the last question of a reader
    std::optional<Nanos> intact_since;
  };
  struct Asked {
    std::string id;
    bool present = false;      // sends heartbeats
    uint32_t round = 0;        // grows with each loss, which drops its batch, queue and retries
    std::set<uint64_t> queue;  // records that wait for a batch
    // Unreadable records, and the times at which they join the queue again.
    std::deque<std::pair<Nanos, uint64_t>> retries;
    std::optional<Batch> batch;
  };

  Inquiry* OpenInquiry(Nanos now, uint64_t record);
  static Copy* FindCopy(Inquiry* inquiry, uint32_t worker);
  // Returns whether the worker missed its time to answer, so that it does not count.
  bool IsOverdue(Nanos now, const Copy& copy) const;
  // Asks the worker about its copy unless it has answered or has the question already. Returns the copy, or null if the
  // worker never had the question.
  Copy* Question(Nanos now, uint64_t record, Inquiry* inquiry, uint32_t worker);
  // Returns whether the inquiry has ended. Adds its result to `progress`.
  bool Judge(Nanos now, uint64_t record, Inquiry* inquiry, Progress* progress);
  bool GiveBatch(Nanos now, uint32_t worker, absl::FunctionRef<uint64_t()> new_batch_id);
  void DropBatch(Asked* worker);

  static constexpr Nanos kRetryAfter = 2 * kSecond;
  static constexpr Nanos kIntactFor = 5 * kSecond;  // so that every reader that asked receives the result
  static constexpr Nanos kWantedFor = 60 * kSecond;

  std::map<uint64_t, Inquiry> inquiries_;  // by record
  std::vector<uint64_t> touched_;
  std::vector<Asked> workers_;
  std::map<std::string, uint32_t> by_id_;
  std::vector<uint32_t> order_;  // order of questions: workers that send heartbeats, or were lost recently
  size_t unfetched_ = 0;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_RECORD_INQUIRIES_H_
