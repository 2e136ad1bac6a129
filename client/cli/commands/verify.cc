#include "pipeline/sources/verify.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/cgroup.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/local_data.h"
#include "client/cli/output.h"
#include "pipeline/sources/index_builder.h"

namespace penstock::cli {
namespace {

constexpr size_t kShownPerFile = 20;

// Checks files on several threads. Reports are in the order of the files.
class Checker {
 public:
  Checker(storage::Storage* storage, const std::vector<sources::DatasetFile>& files, sources::IndexOptions kind)
      : storage_(storage), files_(files), kind_(std::move(kind)), bar_("verifying") {
    for (size_t i = 0; i < files.size(); ++i) reports_.push_back(absl::UnknownError("not checked"));
    for (const sources::DatasetFile& file : files) {
      const auto found = storage->StatAndWait(file.path);
      if (found.ok()) total_ += found->info.size;
    }
  }

  std::vector<absl::StatusOr<sources::VerifyReport>> Run(int threads) {
    ForEachOnThreads("ps-verify", files_.size(), threads, [this](size_t n) { reports_[n] = CheckOne(n); });
    bar_.Finish();
    return std::move(reports_);
  }

 private:
  absl::StatusOr<sources::VerifyReport> CheckOne(size_t n) {
    PS_ASSIGN_OR_RETURN(const auto file, storage_->OpenAndWait(files_[n].path));
    sources::VerifyOptions options;
    options.container = kind_.container;
    options.windows = kind_.windows;
    options.row_files = kind_.row_files;
    options.files = kind_.files;
    options.progress = [this](uint64_t bytes) {
      MutexLock lock(&mutex_);
      done_ += bytes;
      bar_.Update(total_ == 0 ? 1 : static_cast<double>(done_) / static_cast<double>(total_),
                  absl::StrCat(HumanBytes(done_), " of ", HumanBytes(total_)));
    };
    return sources::VerifyShard(*file, options);
  }

  storage::Storage* const storage_;
  const std::vector<sources::DatasetFile>& files_;
  const sources::IndexOptions kind_;  // container and windows
  std::vector<absl::StatusOr<sources::VerifyReport>> reports_;
  uint64_t total_ = 0;
  Mutex mutex_;
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  ProgressBar bar_;
};

class Verify final : public Command {
 public:
  explicit Verify(storage::Storage* storage) : data_(storage) {}

  std::string name() const override { return "verify"; }
  std::string arguments() const override { return "GLOB|FOLDER [flags]"; }
  std::string summary() const override { return "check every CRC of every record; list the damage"; }
  std::string description() const override {
    return "Reads every shard whole. For each damaged record it prints the offset, the damage, and the records after\n"
           "it that are readable. Exits with 1 if it finds damage.\n\n"
           "  penstock verify '/data/train-*'";
  }
  void AddFlags(config::Flags* flags) override {
    data_.AddFlags(flags);
    flags->AddUint("threads", &threads_, "N", "shards at once (default: the CPUs of this container)");
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    PS_ASSIGN_OR_RETURN(const std::string glob, OneArgument(arguments, "GLOB or FOLDER"));
    PS_ASSIGN_OR_RETURN(const auto files, data_.Expand(glob));
    PS_ASSIGN_OR_RETURN(const sources::IndexOptions options, data_.IndexOptions());
    const auto reports =
        Checker(data_.storage(), files, options).Run(threads_ == 0 ? AvailableCpus() : static_cast<int>(threads_));
    uint64_t readable = 0, bad_files = 0;
    std::vector<std::string> shards;
    for (size_t i = 0; i < reports.size(); ++i) {
      const auto& report = reports[i];
      const bool bad = !report.ok() || !report->ok();
      bad_files += bad ? 1 : 0;
      if (report.ok()) readable += report->readable_records;
      if (json_) {
        shards.push_back(ToJson(files[i].path, report));
      } else if (bad) {
        Print(files[i].path, report);
      }
    }
    if (json_) {
      std::printf("%s\n", Json()
                              .Field("files", uint64_t{files.size()})
                              .Field("broken_files", bad_files)
                              .Field("readable_records", readable)
                              .Raw("shards", Json::Array(shards))
                              .Object()
                              .c_str());
    } else {
      std::printf("%s, %s, %s\n", Count(files.size(), "file").c_str(), Count(readable, "readable record").c_str(),
                  Count(bad_files, "broken file").c_str());
    }
    if (bad_files > 0) return absl::DataLossError(absl::StrCat(bad_files, " of ", files.size(), " files are broken"));
    return absl::OkStatus();
  }

 private:
  static void Print(const std::string& path, const absl::StatusOr<sources::VerifyReport>& report) {
    if (!report.ok()) {
      std::printf("%s: %s\n", path.c_str(), std::string(report.status().message()).c_str());
      return;
    }
    std::printf("%s\n", report->Summary().c_str());
    if (report->other_kind()) return;
    const size_t shown = std::min(report->broken.size(), kShownPerFile);
    for (size_t i = 0; i < shown; ++i) std::printf("  %s\n", report->Describe(i).c_str());
    if (shown < report->broken.size()) {
      std::printf("  and %s more (--json lists all)\n", Count(report->broken.size() - shown).c_str());
    }
  }

  static std::string ToJson(const std::string& path, const absl::StatusOr<sources::VerifyReport>& report) {
    Json json;
    json.Field("path", path);
    if (!report.ok()) return json.Field("error", std::string(report.status().message())).Object();
    std::vector<std::string> broken;
    for (size_t i = 0; i < report->broken.size(); ++i) {
      broken.push_back(Json()
                           .Field("record", report->broken[i].record)
                           .Field("offset", report->broken[i].offset)
                           .Field("what", report->Describe(i))
                           .Object());
    }
    return json.Field("readable_records", report->readable_records)
        .Field("bytes", report->file_size)
        .Raw("broken", Json::Array(broken))
        .Object();
  }

  LocalData data_;
  uint64_t threads_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewVerify(storage::Storage* storage) { return std::make_unique<Verify>(storage); }

}  // namespace penstock::cli
