// clang-format off
// Penstock's client library: a trainer's way to its batches.
//
//   penstock::ConnectOptions connect{.coordinator = "localhost:7070"};
//   auto reader = penstock::Reader::Open(connect, {.job = "imagenet-train", .rank = 0, .world_size = 8});
//   if (!reader.ok()) ...
//   for (;;) {
//     absl::StatusOr<penstock::Batch> batch = (*reader)->Next(absl::Seconds(60));
//     if (absl::IsOutOfRange(batch.status())) break;   // the epochs asked for are over
//     if (!batch.ok()) ...
//     Train(batch->column("image").data<uint8_t>(), batch->column("label").data<int64_t>());
//   }
//
// Or, for a loop that ends with the data:
//
//   for (penstock::Batch& batch : (*reader)->Batches()) { ... }
//   if (!(*reader)->status().ok()) ...
// clang-format on
#ifndef PENSTOCK_CLIENT_H_
#define PENSTOCK_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "penstock/allocator.h"
#include "penstock/batch.h"
#include "penstock/stats.h"

namespace penstock {

struct ConnectOptions {
  // host:port of the coordinator. Empty: the environment's PENSTOCK_COORDINATOR, else
  // localhost:7070.
  std::string coordinator;
  // How long Open may take in all: to reach the coordinator, and for a job in preparation to become
  // ready.
  absl::Duration open_timeout = absl::Minutes(10);
};

struct ReaderOptions {
  // The job's name, as submitted.
  std::string job;

  // This trainer's place among world_size trainers that share each step. world_size must divide the
  // batch size; where the job mixes rows (mixup, cutmix), the batch size must be a multiple of
  // mix.group times world_size.
  uint32_t rank = 0;
  uint32_t world_size = 1;
  // Ranks of one training run give the same group; two runs at once on one job give two.
  std::string group;

  // Where to begin: a state saved earlier (see Reader::SaveState), or else this epoch from its
  // start.
  std::string state;
  uint64_t epoch = 0;
  // Go on although the job's features or ops are not those that the state was saved under.
  bool accept_new_pipeline = false;

  // How many epochs to read (the one begun in counts as one); 0 means without end.
  uint64_t epochs = 1;

  // Rows of the global step; 0: the job's batch.size. May change on resume: the rows and their
  // order stay.
  uint32_t batch_size = 0;

  // Steps that are asked for ahead of the trainer: as many as fit both limits, at least two. Where
  // workers are a long link away, more than prefetch_steps: what a few round trips carry, as far as
  // prefetch_bytes allow.
  uint32_t prefetch_steps = 16;
  uint64_t prefetch_bytes = uint64_t{256} << 20;

  // Where the batches' memory comes from; null: pooled, 64-byte aligned. Must outlive the reader
  // and its batches.
  Allocator* allocator = nullptr;

  // Threads that copy rows into batches; 0: one for each four CPUs, at least one.
  int copy_threads = 0;

  // Told what Next waits for, in a sentence, once it has waited for 3 seconds and every 5 seconds
  // after that: which rows of which workers are missing, and why as far as is known ("waiting 3 s:
  // ..."). Told the same way what Open waits for: a job in preparation. Called on a thread of the reader's own, which
  // it must not hold up; not once the reader's destructor has returned. Empty: nobody is told.
  std::function<void(const std::string&)> on_wait;
};

// A stream of batches of one job, in the job's order: every row of the plan exactly once, in its
// place, whichever worker sent it. Thread-safe; Next is for one thread at a time.
class Reader {
 public:
  // clang-format off
  // Connects, opens the job as this rank and begins to fetch. Errors:
  //   NotFound             no such job; the message lists those that there are
  //   InvalidArgument      the world size does not divide the batch or cuts groups of rows that the job mixes; PARTIAL
  //                        last batches with several ranks; a state that cannot be read
  //   FailedPrecondition   the state is of another plan or pipeline (both values are named); the job failed in
  //                        preparation (with its error); ranks open at unlike positions
  //   AlreadyExists        another process reads as this rank of this group and is alive, which is known within 3 s;
  //                        Next says so too when that one came while this was silent. One that has ended keeps
  //                        nobody out
  //   Unavailable, DeadlineExceeded
  //                        the coordinator cannot be reached, or no worker is there; the address is named
  // clang-format on
  static absl::StatusOr<std::unique_ptr<Reader>> Open(const ConnectOptions& connect, const ReaderOptions& options);

  // Closes the session. Never blocks for longer than a second. Batches that are still held stay
  // valid.
  virtual ~Reader() = default;

  // clang-format off
  // The next batch; the cursor is then behind it. Errors, after which the reader stays at this step:
  //   OutOfRange           the epochs asked for are over
  //   DeadlineExceeded     not complete in time; nothing is lost, call again. The message says which rows of which
  //                        workers are missing. Time in which this process was stopped does not count
  //   Cancelled            Cancel was called
  //   ResourceExhausted    a worker cannot hold this session in its memory budget: the numbers are named
  //   DataLoss, InvalidArgument and others
  //                        a row of this step failed and the job's policy is FAIL: the message names file, record and
  //                        offset
  // clang-format on
  virtual absl::StatusOr<Batch> Next(absl::Duration timeout) = 0;

  // For range-for: ends at the end of the data or at an error, which status() then tells.
  class BatchRange;
  BatchRange Batches(absl::Duration timeout_each = absl::Minutes(10));
  // OK while there was no error in Batches(); the end of the data is no error.
  virtual absl::Status status() const = 0;

  // The state after the last batch that Next returned: a few integers as text. Restored through
  // ReaderOptions::state, also with another world size or batch size; all ranks restore the same
  // state.
  virtual std::string SaveState() const = 0;

  // Steps of a whole epoch at this batch size, and from the cursor to the epoch's end.
  virtual uint64_t steps_per_epoch() const = 0;
  virtual uint64_t steps_left_in_epoch() const = 0;
  // Rows in the data set (times repeats), before the last batch is dropped or padded.
  virtual uint64_t rows_per_epoch() const = 0;

  // The job's name, rows of the global step, and what becomes of an epoch's last rows: "DROP", "PAD" or "PARTIAL".
  virtual const std::string& job() const = 0;
  virtual uint64_t batch_size() const = 0;
  virtual std::string_view last_batch() const = 0;

  // Names, dtypes and shapes of the columns that every batch has. Where the job mixes rows, an
  // integer label is float32 [classes] here and in batches.
  virtual const std::vector<ColumnInfo>& columns() const = 0;

  // What happened so far; cheap. Any thread.
  virtual ReaderStats Stats() const = 0;

  // Ends a waiting Next and all later ones with Cancelled. Any thread, any number of times.
  virtual void Cancel() = 0;
};

// An input range of batches; see Reader::Batches.
class Reader::BatchRange {
 public:
  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(BatchRange* range) : range_(range) {}
    Batch& operator*() const { return *range_->current_; }
    Iterator& operator++() {
      range_->Advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    // Equal when both are at the end.
    bool operator==(const Iterator& other) const { return at_end() == other.at_end(); }

   private:
    bool at_end() const { return range_ == nullptr || !range_->current_.has_value(); }
    BatchRange* range_ = nullptr;
  };

  Iterator begin() {
    Advance();
    return Iterator(this);
  }
  Iterator end() { return Iterator(); }

 private:
  friend class Reader;
  BatchRange(Reader* reader, absl::Duration timeout) : reader_(reader), timeout_(timeout) {}
  void Advance();

  Reader* reader_;
  absl::Duration timeout_;
  std::optional<Batch> current_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_H_
