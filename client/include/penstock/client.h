// clang-format off
// Penstock's client library: delivers batches to a trainer.
//
//   penstock::ConnectOptions connect{.coordinator = "localhost:7070"};
//   auto reader = penstock::Reader::Open(connect, {.job = "imagenet-train", .rank = 0, .world_size = 8});
//   if (!reader.ok()) ...
//   for (;;) {
//     absl::StatusOr<penstock::Batch> batch = (*reader)->Next(absl::Seconds(60));
//     if (absl::IsOutOfRange(batch.status())) break;   // the requested epochs are over
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
  // host:port, or host for port 7070, of the coordinator. Default: the environment's PENSTOCK_COORDINATOR, otherwise
  // localhost.
  std::string coordinator;
  // Time limit of Open, which retries until it reaches the coordinator, and waits until the job is ready and a worker
  // serves it. Open may exceed the limit by 1.5 s.
  absl::Duration open_timeout = absl::Minutes(10);
  // TLS to the coordinator and the workers: paths of PEM files, which are read again when they change. Defaults: the
  // environment's PENSTOCK_TLS_CA, PENSTOCK_TLS_CERT and PENSTOCK_TLS_KEY; without a CA, plaintext. With a CA there is
  // no fallback to plaintext. Rows of workers on this host still go through shared memory.
  std::string tls_ca = {};    // authorities that sign the servers' certificates; "system": those that this host trusts
  std::string tls_cert = {};  // certificate of this client, with its intermediates, where servers require one
  std::string tls_key = {};   // private key of tls_cert, without a password
  // File with the token that proves this client's name, where servers ask for one. It is read again when it changes.
  // Default: the environment's PENSTOCK_TOKEN_FILE, otherwise none. The token is sent only by TLS or within this host:
  // Open returns FailedPrecondition for another connection to the coordinator. Workers never receive it.
  std::string token_file = {};
};

// A later size of the global batch.
struct BatchChange {
  uint64_t at_rows = 0;  // rows of the run before the first row of such a batch: epoch * rows_per_epoch + position
  uint64_t size = 0;     // rows over all ranks
};

struct ReaderOptions {
  // The job's name, as submitted.
  std::string job;

  // This trainer's rank among world_size trainers that share each step. world_size must divide the batch size. If the
  // job mixes rows (mixup, cutmix), the batch size must be a multiple of mix.group times world_size.
  uint32_t rank = 0;
  uint32_t world_size = 1;
  // All ranks of one training run use the same group. Two concurrent runs of the same world size on one job must use
  // two groups, unless the world size is 1.
  std::string group;

  // Start position: a saved state (see Reader::SaveState) or, if it is empty, the start of `epoch`.
  std::string state;
  uint64_t epoch = 0;
  // True if the reader replaces a reader of this rank that ended during the run. `state` is then the position of that
  // reader, and Open does not compare it with those of other ranks.
  bool continues = false;
  // Continue even if the job's features or ops differ from those of the saved state.
  bool accept_new_pipeline = false;

  // Number of epochs to read, including the first, partial one. 0: unlimited.
  uint64_t epochs = 1;

  // Rows of the global step, which is the batch of all ranks together. 0: the job's batch. May change on resume:
  // the rows and their order stay the same.
  uint32_t batch_size = 0;

  // Limits of the steps that the reader requests ahead of the trainer. prefetch_bytes counts this rank's rows. The
  // reader requests two steps ahead even if they exceed a limit. Over a long link to the workers the reader exceeds
  // prefetch_steps: it requests the steps of a few round trips, up to prefetch_bytes.
  uint32_t prefetch_steps = 16;
  uint64_t prefetch_bytes = uint64_t{256} << 20;

  // Allocator of the batches' memory. Null: plain memory, aligned to 64 bytes. The reader keeps free blocks in a pool
  // for later batches. The allocator must outlive the reader and its batches.
  Allocator* allocator = nullptr;

  // Threads that copy rows into batches. 0: one for every four CPUs, at least one.
  int copy_threads = 0;

  // Receives the cause of a wait of Next, in a line of at most 160 bytes: "waiting 3 s: worker w1 at 10.0.0.2:7071 is
  // silent". The reader calls it after 3 s, 30 s, 1, 2 and 4 minutes, and then every 4 minutes. After the first report,
  // it also calls it as soon as the coordinator names a file that a worker cannot read, and when rows arrive again.
  // Open reports its own wait at the same times: for the coordinator, for the job or for this rank. The call is on a
  // thread of the reader and must not block. No call follows after the reader's destructor has returned, or after Open
  // has returned an error. May be empty.
  std::function<void(const std::string&)> on_wait;
  // Receives the reason why rows of a worker on this host do not arrive through shared memory. The reader calls it at
  // most once, on the thread of on_wait. It must not block. May be empty.
  std::function<void(const std::string&)> on_notice;
};

// A stream of batches of one job, in the job's order. The trainer gets each row of this rank exactly once, in its
// place, whichever worker sent it. Thread-safe, except that only one thread at a time may call Next or advance a
// BatchRange. No call may run during the destructor: to end a blocked Next, call Cancel and wait until Next has
// returned.
class Reader {
 public:
  // clang-format off
  // Connects, opens the job as this rank and starts fetching. Errors:
  //   NotFound             no such job, or it was cancelled before; the message lists the existing jobs
  //   InvalidArgument      the world size does not divide the batch, or splits groups of rows that the job mixes;
  //                        PARTIAL last batches with several ranks; under DROP, an epoch shorter than one step; an
  //                        invalid state; no job name; a rank that is not below the world size; an invalid address
  //   FailedPrecondition   the state is of another plan or pipeline (the message names both), or its position is inside
  //                        a group of rows that the job mixes; the job failed in preparation (with its error), or was
  //                        cancelled during Open; ranks open at different positions; the coordinator's release
  //                        does not fit this library's
  //   AlreadyExists        another live process reads as this rank of this group, with a world size above 1; Open
  //                        returns this within 3 s. A process that has ended does not block the rank
  //   Unauthenticated, PermissionDenied
  //                        the coordinator requires a valid token or certificate, or does not let its name read
  //                        the job
  //   Unavailable          the coordinator cannot be reached; the message names its address
  //   DeadlineExceeded     the job is still in preparation, or no worker serves it; the message names the job. Or the
  //                        coordinator still makes this rank wait; the message has its reason
  //   ResourceExhausted    the system refuses the reader's threads; the job or the coordinator has too many readers
  // Also returns the errors of the files that `connect` names, with the path.
  // clang-format on
  static absl::StatusOr<std::unique_ptr<Reader>> Open(const ConnectOptions& connect, const ReaderOptions& options);

  // Closes the session. Blocks for at most a second, unless a callback or the allocator blocks. Batches that the
  // trainer still holds stay valid.
  virtual ~Reader() = default;

  // clang-format off
  // Returns the next batch and moves the cursor after it. Errors, after which the reader stays at this step:
  //   OutOfRange           the requested epochs are over
  //   DeadlineExceeded     the step is not complete in time. No row is lost: call again. The message names the missing
  //                        rows and their workers. Time in which this process was stopped does not count
  //   Cancelled            Cancel was called
  //   ResourceExhausted    this session does not fit into the memory budgets of the workers, with the numbers; or the
  //                        allocator has no memory
  //   FailedPrecondition   the job was replaced, has failed or was cancelled; or every worker refuses this session
  //   Unauthenticated, PermissionDenied
  //                        every worker refuses this session's ticket
  //   AlreadyExists        another process opened this rank while this reader was silent
  //   DataLoss, InvalidArgument and others
  //                        a row of this step failed and the job's policy is FAIL; the message names file, record and
  //                        offset
  // clang-format on
  virtual absl::StatusOr<Batch> Next(absl::Duration timeout) = 0;

  // Returns a range for range-for. It ends at the end of the requested epochs or at an error of Next, which status()
  // then returns. `timeout_each` is the timeout of each Next.
  class BatchRange;
  BatchRange Batches(absl::Duration timeout_each = absl::Minutes(10));
  // Returns the error of the last Next, which Batches() calls too. Returns OK after a batch, at the end of the
  // requested epochs, and before the first Next.
  virtual absl::Status status() const = 0;

  // Returns the state after the last batch that Next returned, or the start position before the first batch: a few
  // integers as text. Restore it through ReaderOptions::state, also with another world size or batch size. All ranks
  // must restore the same state.
  virtual std::string SaveState() const = 0;

  // Return the number of steps of the cursor's epoch: of the whole epoch, from the cursor to its end, and before the
  // cursor. After the last step of an epoch, the cursor is at the start of the next epoch.
  virtual uint64_t steps_per_epoch() const = 0;
  virtual uint64_t steps_left_in_epoch() const = 0;
  virtual uint64_t step_in_epoch() const = 0;
  // Returns the number of records in the data set, times order.repeats, or the rows of an epoch of a blend. Rows that
  // DROP drops count; padding does not.
  virtual uint64_t rows_per_epoch() const = 0;

  // Return the job's name, the rows of the global step before any change of it, and the treatment of the rows at the
  // end of an epoch that do not fill a step: "DROP", "PAD" or "PARTIAL".
  virtual const std::string& job() const = 0;
  virtual uint64_t batch_size() const = 0;
  virtual std::string_view last_batch() const = 0;
  // Returns the job's changes of the batch size. Empty with ReaderOptions::batch_size.
  virtual std::vector<BatchChange> batch_changes() const = 0;
  // Returns 0, or a number of which all batches have a multiple of rows, except for the last one of an epoch, if their
  // sizes depend on the values of records (select.bucket with a budget or sizes). batch_size() is then their limit.
  virtual uint64_t batch_multiple() const = 0;

  // Returns names, dtypes and shapes of the columns of every batch. If the job mixes rows, an integer label is float32
  // [classes] here and in batches.
  virtual const std::vector<ColumnInfo>& columns() const = 0;
  // Returns the names of the job's data sets, which Batch::datasets() numbers. Empty if they have none.
  virtual const std::vector<std::string>& datasets() const = 0;

  // Returns statistics since Open. Cheap. Any thread may call it.
  virtual ReaderStats Stats() const = 0;

  // Makes a blocked Next, and all later ones, return Cancelled. Any thread may call it, more than once.
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
    // Compares only whether each is at the end.
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
