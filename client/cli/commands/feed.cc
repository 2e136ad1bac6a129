#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "client/cli/commands.h"
#include "client/cli/job_argument.h"
#include "client/cli/job_report.h"
#include "client/cli/local_data.h"
#include "client/feed/feeder.h"
#include "config/job_file.h"
#include "pipeline/augment/check_pipeline.h"

namespace penstock::cli {
namespace {

absl::StatusOr<feed::LocalSource> OpenLocal(storage::Storage* storage, const v1::FeedOpen& open) {
  const LocalData data(storage, {open.data_roots().begin(), open.data_roots().end()});
  feed::LocalSource source;
  if (!open.job_file().empty()) {
    // "-" is an ordinary file name here: the feeder does not read its standard input.
    std::vector<std::string> warnings;
    PS_ASSIGN_OR_RETURN(
        source.job, storage->IsLocal(open.job_file())
                        ? config::LoadJobFile(open.job_file(), augment::CheckPipeline, &warnings, NameCheckOf(storage))
                        : LoadJobFileOrInput(storage, open.job_file()));
    PrintWarnings(warnings);
  } else {
    PS_RETURN_IF_ERROR(config::MistakesToStatus(
        "the job",
        config::CheckJobText(open.job_text(), augment::CheckPipeline, &source.job, nullptr, NameCheckOf(storage))));
  }
  data.ResolveJob(&source.job);
  PS_ASSIGN_OR_RETURN(source.roots, data.Roots());
  return source;
}

std::vector<std::string> EpochWarnings(const v1::Batch& batch, uint64_t rows) {
  v1::JobSpec job;
  *job.mutable_batch() = batch;
  return DroppedRowsWarnings(job, rows);
}

class Feed final : public Command {
 public:
  explicit Feed(storage::Storage* storage) : storage_(storage) {}

  std::string name() const override { return "feed"; }
  std::string arguments() const override { return "--fd N --parent PID"; }
  std::string summary() const override {
    return "deliver batches to a trainer in another language, which starts this command";
  }
  std::string description() const override {
    return "The Python package, or that of another language, starts this command as a child process and talks to it\n"
           "over a socket pair. Batches are in memory that both share. docs/feed.md describes the protocol.";
  }
  void AddFlags(config::Flags* flags) override {
    flags->AddUint("fd", &fd_, "N", "this process's end of the main socket");
    flags->AddUint("parent", &parent_, "PID", "the process that it belongs to, and ends with");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    if (!arguments.empty()) return UsageError(absl::StrCat("'", arguments[0], "': feed takes flags alone"));
    if (fd_ < 3 || parent_ == 0) {
      return UsageError("--fd and --parent are missing: a trainer starts this, not a person (docs/feed.md)");
    }
    std::signal(SIGINT, SIG_IGN);  // the terminal's Ctrl-C is for the trainer
    feed::FeederOptions options;
    options.parent = static_cast<int>(parent_);
    options.storage = storage_;
    options.open_local = [this](const v1::FeedOpen& open) { return OpenLocal(storage_, open); };
    options.index_dir = [this] { return LocalData(storage_).IndexDir(); };
    options.epoch_warnings = EpochWarnings;
    options.release = std::string(Version());
    PS_ASSIGN_OR_RETURN(PacketSocket main, PacketSocket::Create(OwnedFd(static_cast<int>(fd_))));
    const absl::Status status = feed::Feed(std::move(main), options);
    // Threads that hang in storage are not joined.
    if (!status.ok()) std::fprintf(stderr, "penstock feed: %s\n", std::string(status.message()).c_str());
    std::fflush(nullptr);
    std::_Exit(status.ok() ? 0 : 1);
  }

 private:
  storage::Storage* const storage_;
  uint64_t fd_ = 0, parent_ = 0;
};

}  // namespace

std::unique_ptr<Command> NewFeed(storage::Storage* storage) { return std::make_unique<Feed>(storage); }

}  // namespace penstock::cli
