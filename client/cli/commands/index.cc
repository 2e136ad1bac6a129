#include <atomic>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/cgroup.h"
#include "base/json.h"
#include "base/runtime/clock.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/local_data.h"
#include "client/cli/output.h"

namespace penstock::cli {
namespace {

class Index final : public Command {
 public:
  explicit Index(storage::Storage* storage) : data_(storage) {}

  std::string name() const override { return "index"; }
  std::string arguments() const override { return "GLOB|FOLDER [flags]"; }
  std::string summary() const override { return "build or check the indexes of TFRecord shards"; }
  std::string description() const override {
    return "Reads every shard once, in parallel, and stores the offsets of its records, so that any record can be "
           "read\n"
           "directly. Keeps an existing index while the size and time of its shard are the same.\n\n"
           "  penstock index '/data/train-*'";
  }
  void AddFlags(config::Flags* flags) override {
    data_.AddFlags(flags);
    flags->AddUint("threads", &threads_, "N", "shards at once (default: the CPUs of this container)");
    flags->AddSwitch("verify", &verify_, "also check the CRC of every record's data; replaces existing indexes");
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    PS_ASSIGN_OR_RETURN(const std::string glob, OneArgument(arguments, "GLOB or FOLDER"));
    PS_ASSIGN_OR_RETURN(const auto files, data_.Expand(glob));
    PS_ASSIGN_OR_RETURN(const sources::IndexStore store, data_.Indexes());
    std::vector<std::string> paths;
    for (const sources::DatasetFile& file : files) paths.push_back(file.path);
    PS_ASSIGN_OR_RETURN(sources::IndexOptions options, data_.IndexOptions());
    options.verify_data = verify_;
    ProgressBar bar("indexing");
    const Nanos start = Clock::Real()->Now();
    const auto indexes = sources::BuildIndexes(
        store, paths, options, threads_ == 0 ? AvailableCpus() : static_cast<int>(threads_),
        [&](const sources::IndexProgress& p) {
          bar.Update(p.bytes_total == 0 ? 1 : static_cast<double>(p.bytes_done) / static_cast<double>(p.bytes_total),
                     absl::StrCat(p.files_done, " of ", p.files_total, " shards"));
        });
    bar.Finish();
    return Report(paths, indexes, static_cast<double>(Clock::Real()->Now() - start) / kSecond);
  }

 private:
  absl::Status Report(const std::vector<std::string>& paths,
                      const std::vector<absl::StatusOr<sources::LoadedIndex>>& indexes, double seconds) const {
    uint64_t records = 0, built = 0, unsaved = 0;
    std::vector<std::string> errors;
    for (size_t i = 0; i < indexes.size(); ++i) {
      if (!indexes[i].ok()) {
        errors.emplace_back(indexes[i].status().message());
        continue;
      }
      records += indexes[i]->index->record_count();
      built += indexes[i]->built ? 1 : 0;
      if (!indexes[i]->save_status.ok()) {
        ++unsaved;
        std::fprintf(stderr, "the index of %s is not kept: %s\n", paths[i].c_str(),
                     std::string(indexes[i]->save_status.message()).c_str());
      }
    }
    if (json_) {
      std::vector<std::string> quoted;
      for (const std::string& error : errors) quoted.push_back(Json::Quote(error));
      std::printf("%s\n", Json()
                              .Field("shards", uint64_t{paths.size()})
                              .Field("records", records)
                              .Field("built", built)
                              .Field("seconds", seconds)
                              .Raw("errors", Json::Array(quoted))
                              .Object()
                              .c_str());
    } else {
      std::printf("%s in %s; %s indexed now, %s known already (%s)\n", Count(records, "record").c_str(),
                  Count(paths.size() - errors.size(), "shard").c_str(), Count(built).c_str(),
                  Count(paths.size() - errors.size() - built).c_str(), HumanSeconds(seconds).c_str());
      for (const std::string& error : errors) std::fprintf(stderr, "%s\n", error.c_str());
    }
    if (!errors.empty()) {
      return absl::DataLossError(absl::StrCat(errors.size(), " of ", paths.size(),
                                              " shards cannot be indexed; `penstock verify` shows the damage"));
    }
    if (unsaved > 0) return absl::UnavailableError(absl::StrCat(unsaved, " indexes could not be kept"));
    return absl::OkStatus();
  }

  LocalData data_;
  uint64_t threads_ = 0;
  bool verify_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewIndex(storage::Storage* storage) { return std::make_unique<Index>(storage); }

}  // namespace penstock::cli
