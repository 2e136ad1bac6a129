#include <cstdio>
#include <ctime>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/near_name.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/output.h"
#include "pipeline/cache/disk/cache_folder.h"

namespace penstock::cli {
namespace {

std::string SpaceId(uint64_t space) { return absl::StrCat(absl::Hex(space, absl::kZeroPad16)); }

// Returns "2026-01-31 23:59" in local time.
std::string Minute(int64_t ns) {
  const std::time_t seconds = ns / 1'000'000'000;
  struct tm parts;
  char text[32];
  if (localtime_r(&seconds, &parts) == nullptr || strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &parts) == 0)
    return "-";
  return text;
}

class Cache final : public Command {
 public:
  std::string name() const override { return "cache"; }
  std::string arguments() const override { return "list|clear FOLDER [flags]"; }
  std::string summary() const override { return "list or clear the disk cache of a worker (--disk-cache)"; }
  std::string description() const override {
    return "FOLDER is the --disk-cache of a penstockd on this machine. The daemon may be running: it notices missing\n"
           "records within seconds and stores them again. The command removes only files of the cache.\n\n"
           "  penstock cache list /var/cache/penstock/worker\n"
           "  penstock cache clear /var/cache/penstock/worker\n"
           "  penstock cache clear /var/cache/penstock/worker --dataset 00f3a2c45b7d9e01";
  }
  void AddFlags(config::Flags* flags) override {
    flags->AddString("dataset", &dataset_, "ID", "clear: only this data set; `list` prints the IDs");
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    if (arguments.empty()) return UsageError("the first argument must be list or clear");
    if (arguments[0] != "list" && arguments[0] != "clear") {
      return UsageError(
          absl::StrCat("'", arguments[0], "' is not list or clear", DidYouMean(arguments[0], {"list", "clear"})));
    }
    if (arguments.size() != 2) return UsageError(absl::StrCat("cache ", arguments[0], " takes one FOLDER"));
    return arguments[0] == "list" ? List(arguments[1]) : Clear(arguments[1]);
  }

 private:
  absl::Status List(const std::string& folder) const {
    if (!dataset_.empty()) return UsageError("--dataset goes with clear");
    PS_ASSIGN_OR_RETURN(const std::vector<cache::DiskCacheEntry> entries, cache::ListDiskCache(folder));
    if (json_) {
      std::vector<std::string> items;
      for (const cache::DiskCacheEntry& entry : entries) {
        items.push_back(Json()
                            .Field("dataset", SpaceId(entry.space))
                            .Field("shards", entry.about)
                            .Field("records", entry.records)
                            .Field("bytes", entry.bytes)
                            .Field("used", static_cast<uint64_t>(entry.used_ns / 1'000'000'000))
                            .Object());
      }
      std::printf("%s\n", Json().Field("folder", folder).Raw("datasets", Json::Array(items)).Object().c_str());
      return absl::OkStatus();
    }
    if (entries.empty()) {
      std::printf("%s is empty\n", folder.c_str());
      return absl::OkStatus();
    }
    Table table({"DATASET", "RECORDS", "BYTES", "LAST USED", "SHARDS"}, {1, 2});
    uint64_t bytes = 0;
    for (const cache::DiskCacheEntry& entry : entries) {
      table.Add(
          {SpaceId(entry.space), Count(entry.records), HumanBytes(entry.bytes), Minute(entry.used_ns), entry.about});
      bytes += entry.bytes;
    }
    std::printf("%s%s in all\n", table.Text().c_str(), HumanBytes(bytes).c_str());
    return absl::OkStatus();
  }

  absl::Status Clear(const std::string& folder) const {
    std::optional<uint64_t> space;
    if (!dataset_.empty()) {
      uint64_t number = 0;
      if (dataset_.size() != 16 || !absl::SimpleHexAtoi(dataset_, &number)) {
        return UsageError(
            absl::StrCat("--dataset ", dataset_, ": 16 hex digits, as `penstock cache list ", folder, "` names it"));
      }
      space = number;
    }
    PS_ASSIGN_OR_RETURN(const uint64_t freed, cache::ClearDiskCache(folder, space));
    if (json_) {
      std::printf("%s\n", Json().Field("folder", folder).Field("freed_bytes", freed).Object().c_str());
    } else {
      std::printf("%s cleared: %s freed\n", folder.c_str(), HumanBytes(freed).c_str());
    }
    return absl::OkStatus();
  }

  std::string dataset_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewCache() { return std::make_unique<Cache>(); }

}  // namespace penstock::cli
