#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file.h"
#include "base/runtime/clock.h"
#include "base/status_macros.h"
#include "client/cli/batch_digest_adapter.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/job_argument.h"
#include "client/cli/job_report.h"
#include "client/cli/npy_writer.h"
#include "client/cli/output.h"
#include "client/cli/read_report.h"
#include "client/cli/state_file.h"
#include "client/cli/stop_signals.h"
#include "penstock/client.h"
#include "pipeline/plan/state.h"

namespace penstock::cli {
namespace {

double Seconds(Nanos from, Nanos to) { return static_cast<double>(to - from) / kSecond; }

// Uses `time` of the thread's CPU time.
void UseCpu(Nanos time) {
  const auto used = [] {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * kSecond + now.tv_nsec;
  };
  volatile uint64_t sum = 0;
  for (const Nanos end = used() + time; used() < end;) {
    for (uint64_t i = 0; i < 10000; ++i) sum = sum + i * i;
  }
}

constexpr Nanos kTellAfter = 3 * kSecond, kTellEvery = 5 * kSecond;  // during a wait for the coordinator
constexpr Nanos kSubmitEvery = 200 * kMillisecond;

// Measurements of a run of `read`.
struct Measured {
  Nanos start = 0, first_done = 0, last_done = 0;
  uint64_t steps = 0, rows = 0, first_rows = 0;
  double first_batch_seconds = 0, longest_wait_seconds = 0, waited_seconds = 0;
};

class Read final : public Command {
 public:
  explicit Read(storage::Storage* storage) : storage_(storage) {}

  std::string name() const override { return "read"; }
  std::string arguments() const override { return "JOB [flags]"; }
  std::string summary() const override { return "read a job as a trainer does; measure, digest, keep the batches"; }
  std::string description() const override {
    return "Reads one epoch, or as many steps or epochs as asked. JOB is a job's name, or a job file (- is standard "
           "input), which is then\n"
           "submitted first. The digest is a SHA-256 over every row's columns, ids and flags in delivery order: two\n"
           "runs with the same digest delivered the same bytes.\n\n"
           "  penstock read train --epochs 2 --json\n"
           "  penstock read train --steps 3 --out /tmp/batches      000000.image.npy, 000000.id.npy, ...";
  }
  void AddFlags(config::Flags* flags) override {
    flags_ = flags;
    coordinator_.AddTo(flags);
    flags->AddUint("steps", &steps_, "N", "number of steps to read");
    flags->AddUint(
        "epochs", &epochs_, "N",
        "number of epochs to read; the rest of the epoch of --state counts as one (default: 1, or as many as --steps "
        "needs)");
    flags->AddUint("until-epoch", &until_epoch_, "N", "read up to the beginning of epoch N, from --state or --epoch");
    flags->AddUint("epoch", &epoch_, "E", "begin with this epoch (default: 0)");
    flags->AddUint("rank", &rank_, "R", "this reader's rank (default: 0)");
    flags->AddUint("world-size", &world_size_, "W", "how many readers share each step (default: 1)");
    flags->AddString("group", &group_, "NAME", "ranks of one run share it");
    flags->AddUint("batch-size", &batch_size_, "G", "rows of a global step (default: the job's)");
    flags->AddString("state", &state_, "FILE", "resume from this state if it exists; save it after each step");
    flags->AddSwitch("accept-new-pipeline", &accept_new_pipeline_, "resume although features or ops have changed");
    flags->AddUint("pace", &pace_ms_, "MS", "pause between steps, like a trainer that computes");
    flags->AddUint("compute", &compute_ms_, "MS",
                   "CPU time to use between steps, like a trainer that computes on this host");
    flags->AddString("out", &out_, "DIR", "write one NumPy file per step and column");
    flags->AddUint("prefetch-steps", &prefetch_steps_, "N", "maximum number of steps requested ahead (default: 16)");
    flags->AddBytes("prefetch-bytes", &prefetch_bytes_, "BYTES", "maximum size of these steps (default: 256MiB)");
    flags->AddUint("timeout", &timeout_, "SECONDS", "deadline of opening and of each step (default: 600)");
    flags->AddSwitch("allow-missing", &allow_missing_,
                     "with a job file: keys that none of the first records has are meant");
    flags->AddSwitch("digest", &digest_, "compute the digest (default; --no-digest measures without it)");
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    PS_ASSIGN_OR_RETURN(std::string job, OneArgument(arguments, "JOB"));
    PS_ASSIGN_OR_RETURN(ReaderOptions options, Options());
    PS_RETURN_IF_ERROR(TakeFolder());
    PS_ASSIGN_OR_RETURN(job, SubmitIfFile(job));
    options.job = job;
    Measured measured;
    measured.start = Clock::Real()->Now();
    auto opened = Reader::Open(ConnectTo(), options);
    if (!opened.ok()) return OpenError(opened.status());
    const std::unique_ptr<Reader> reader = *std::move(opened);
    DigestOfBatches digest;
    absl::Status ended;
    {
      const StopSignals signals("the session is not closed: its rank is free in a minute");
      const std::stop_callback cancel(signals.token(), [&reader] { reader->Cancel(); });
      ended = ReadAll(*reader, options.epochs, &measured, &digest);
    }
    if (absl::IsCancelled(ended) && StopSignals::Came() != 0) {
      return absl::CancelledError(
          absl::StrCat("stopped by ", SignalName(StopSignals::Came()), " after ", Count(measured.steps, "step")));
    }
    if (!ended.ok()) return ended;
    Report(job, *reader, measured, digest_ ? digest.Hex() : "");
    return absl::OkStatus();
  }

 private:
  ConnectOptions ConnectTo() const {
    ConnectOptions connect;
    connect.coordinator = coordinator_.address();
    connect.open_timeout = Timeout();
    connect.tls_ca = coordinator_.tls().ca;
    connect.token_file = coordinator_.token_file();
    connect.tls_cert = coordinator_.tls().cert;
    connect.tls_key = coordinator_.tls().key;
    return connect;
  }
  absl::Duration Timeout() const { return absl::Seconds(static_cast<double>(timeout_)); }

  absl::StatusOr<std::string> SubmitIfFile(const std::string& job) const {
    if (job != "-" && !absl::EndsWith(job, ".textproto")) return job;
    v1::SubmitRequest request;
    PS_ASSIGN_OR_RETURN(*request.mutable_spec(), LoadJobFileOrInput(storage_, job));
    request.set_allow_missing(allow_missing_);
    PS_ASSIGN_OR_RETURN(const v1::Job submitted, Submit(request));
    if (const std::string note = FilesNote(submitted); !note.empty()) PrintWarnings({note});
    return request.spec().name();
  }

  // Submits the job. Retries while the coordinator does not answer, for as long as opening a reader does.
  absl::StatusOr<v1::Job> Submit(const v1::SubmitRequest& request) const {
    // A stopped coordinator is reported when the first call times out. A repeated submit has no effect.
    ControlClient client(coordinator_, absl::Nanoseconds(kTellAfter));
    const Nanos began = Clock::Real()->Now();
    const Nanos deadline = began + static_cast<Nanos>(std::min<uint64_t>(timeout_, 1'000'000'000)) * kSecond;
    for (Nanos tell = began + kTellAfter;;) {
      absl::StatusOr<v1::Job> submitted = SubmitAndWait(client, request, json_);
      const absl::Status& status = submitted.status();
      const Nanos now = Clock::Real()->Now();
      const bool away = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
      if (!away || now + kSubmitEvery >= deadline) return submitted;
      if (now >= tell) {
        Tell(absl::StrCat("waiting to submit: ", status.message()));
        tell = now + kTellEvery;
      }
      Clock::Real()->Pause(kSubmitEvery);
    }
  }

  // Prints a line that is not a result.
  static void Tell(const std::string& text) {
    std::fprintf(stderr, "%s%s\n", IsTerminal(STDERR_FILENO) ? "\r\033[K" : "", text.c_str());
  }

  // If the error is about the state, names the state file.
  absl::Status OpenError(const absl::Status& status) const {
    if (state_.empty() || !plan::IsResumeError(status)) return status;
    return absl::Status(status.code(), absl::StrCat("--state ", state_, ": ", status.message()));
  }

  // Requires an empty folder for batches: files of another run would look like steps of this one.
  absl::Status TakeFolder() const {
    if (out_.empty()) return absl::OkStatus();
    if (mkdir(out_.c_str(), 0755) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, absl::StrCat("--out ", out_, ": creating the folder"));
    }
    std::error_code error;
    if (!std::filesystem::is_directory(out_, error)) {
      return absl::FailedPreconditionError(absl::StrCat("--out ", out_, ": this is a file; name a folder"));
    }
    const std::filesystem::directory_iterator first(out_, error);
    if (error) return ErrnoStatus(error.value(), absl::StrCat("--out ", out_, ": listing the folder"));
    if (first == std::filesystem::directory_iterator()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("--out ", out_, ": the folder is not empty ('",
                                                      first->path().filename().string(),
                                                      "' is in it); take another one, or remove what is in it"));
  }

  absl::StatusOr<ReaderOptions> Options() const {
    if (world_size_ == 0) return UsageError("--world-size must be at least 1");
    if (rank_ >= world_size_) {
      return UsageError(absl::StrCat("--rank ", rank_, " is not one of ", world_size_, " ranks, which count from 0"));
    }
    if (flags_->Given("epochs") && epochs_ == 0) return UsageError("--epochs must be at least 1");
    if (flags_->Given("steps") && steps_ == 0) return UsageError("--steps must be at least 1");
    ReaderOptions options;
    options.rank = static_cast<uint32_t>(rank_);
    options.world_size = static_cast<uint32_t>(world_size_);
    options.group = group_;
    options.epoch = epoch_;
    options.epochs = epochs_ > 0 ? epochs_ : steps_ > 0 ? 0 : 1;
    options.batch_size = static_cast<uint32_t>(batch_size_);
    options.prefetch_steps = static_cast<uint32_t>(prefetch_steps_);
    options.prefetch_bytes = prefetch_bytes_;
    options.accept_new_pipeline = accept_new_pipeline_;
    options.on_wait = Tell;
    options.on_notice = Tell;
    uint64_t begins_in = epoch_;
    std::string begins = absl::StrCat("--epoch ", epoch_);
    if (!state_.empty()) {
      PS_ASSIGN_OR_RETURN(std::optional<SavedState> saved, LoadStateFile(state_));
      if (saved.has_value()) {
        begins_in = saved->epoch;
        begins = absl::StrCat("--state ", state_, " is in epoch ", begins_in);
        options.state = std::move(saved->text);
      }
    }
    if (until_epoch_ == 0) return options;
    if (epochs_ > 0) return UsageError("--until-epoch and --epochs: give one of the two");
    if (begins_in >= until_epoch_) {
      return absl::OutOfRangeError(
          absl::StrCat("--until-epoch ", until_epoch_, ": ", begins, "; there is nothing left to read"));
    }
    options.epochs = until_epoch_ - begins_in;
    return options;
  }

  absl::Status ReadAll(Reader& reader, uint64_t epochs, Measured* measured, DigestOfBatches* digest) {
    ProgressBar bar("reading");
    const uint64_t goal = steps_ > 0 ? steps_ : std::max<uint64_t>(1, epochs) * reader.steps_per_epoch();
    while (steps_ == 0 || measured->steps < steps_) {
      const Nanos before = Clock::Real()->Now();
      absl::StatusOr<Batch> batch = reader.Next(Timeout());
      const Nanos after = Clock::Real()->Now();
      if (absl::IsOutOfRange(batch.status())) break;
      if (!batch.ok()) {
        return absl::Status(batch.status().code(),
                            absl::StrCat("after ", Count(measured->steps, "step"), ": ", batch.status().message()));
      }
      if (measured->steps == 0) {
        measured->first_batch_seconds = Seconds(measured->start, after);
        measured->first_done = after;
        measured->first_rows = batch->rows();
      } else {
        measured->longest_wait_seconds = std::max(measured->longest_wait_seconds, Seconds(before, after));
        measured->waited_seconds += Seconds(before, after);
      }
      measured->last_done = after;
      measured->rows += batch->rows();
      if (digest_) digest->Add(*batch);
      if (!out_.empty()) {
        PS_RETURN_IF_ERROR(WriteBatchAsNpy(*batch, absl::StrFormat("%s/%06d", out_, measured->steps)));
      }
      ++measured->steps;
      if (!state_.empty()) PS_RETURN_IF_ERROR(WriteFileAtomically(state_, reader.SaveState() + "\n"));
      bar.Update(goal == 0 ? 0 : static_cast<double>(measured->steps) / static_cast<double>(goal),
                 absl::StrCat("step ", Count(measured->steps), " of ", Count(goal)));
      if (compute_ms_ > 0) UseCpu(static_cast<Nanos>(compute_ms_) * kMillisecond);
      if (pace_ms_ > 0) Clock::Real()->Pause(static_cast<Nanos>(pace_ms_) * kMillisecond);
    }
    return absl::OkStatus();
  }

  void Report(const std::string& job, const Reader& reader, const Measured& m, const std::string& digest) const {
    const double steady = Seconds(m.first_done, m.last_done);
    ReadReport report;
    report.job = job;
    report.steps = m.steps;
    report.rows = m.rows;
    report.seconds = Seconds(m.start, m.last_done == 0 ? m.start : m.last_done);
    report.rows_per_second = m.rows > m.first_rows && steady > 0 ? static_cast<double>(m.rows - m.first_rows) / steady
                             : report.seconds > 0                ? static_cast<double>(m.rows) / report.seconds
                                                                 : 0;
    report.first_batch_seconds = m.first_batch_seconds;
    report.longest_wait_seconds = m.longest_wait_seconds;
    report.waited_seconds = m.waited_seconds;
    report.stats = reader.Stats();
    report.digest = digest;
    std::fputs(json_ ? (ReadReportJson(report) + "\n").c_str() : ReadReportText(report).c_str(), stdout);
  }

  storage::Storage* const storage_;
  const config::Flags* flags_ = nullptr;
  CoordinatorFlags coordinator_;
  uint64_t steps_ = 0, epochs_ = 0, until_epoch_ = 0, epoch_ = 0, rank_ = 0, world_size_ = 1, batch_size_ = 0,
           pace_ms_ = 0, compute_ms_ = 0;
  uint64_t prefetch_steps_ = 16, prefetch_bytes_ = uint64_t{256} << 20, timeout_ = 600;
  std::string group_, state_, out_;
  bool accept_new_pipeline_ = false, allow_missing_ = false, digest_ = true, json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewRead(storage::Storage* storage) { return std::make_unique<Read>(storage); }

}  // namespace penstock::cli
