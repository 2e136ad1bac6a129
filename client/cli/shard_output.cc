#include "client/cli/shard_output.h"

#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cgroup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/runtime/clock.h"
#include "base/status_macros.h"
#include "base/url.h"
#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/stop_signals.h"
#include "pipeline/import/shard_folder.h"

namespace penstock::cli {
namespace {

// Describes what the same command continues with; "" if there is nothing.
std::string LeftIn(storage::Storage* storage, const std::string& folder) {
  const auto text = storage::ReadContent(storage, absl::StrCat(folder, "/", std::string(imports::kShardStateName)),
                                         uint64_t{1} << 30);
  const auto state = text.ok() ? imports::ParseShardState(*text) : absl::StatusOr<imports::ShardState>(text.status());
  if (!state.ok()) return "";
  if (state->shards.empty()) {
    return absl::StrCat(folder, " has files of an unfinished shard, the same command writes them again");
  }
  const bool one = state->shards.size() == 1;
  return absl::StrCat(Count(state->shards.size(), "finished shard"), one ? " is in " : " are in ", folder,
                      ", the same command continues after ", one ? "it" : "them");
}

}  // namespace

std::string RemainsOf(const storage::Storage& storage, const std::string& folder) {
  if (storage.IsLocal(folder)) return absl::StrCat("stopped; ", folder, " does not answer");
  return absl::StrCat("stopped; the storage took too long, so parts of a shard may remain in ", folder,
                      "; the same command removes them, and so does the bucket's rule for incomplete uploads");
}

absl::Status Stopped(storage::Storage* storage, const std::string& folder) {
  const std::string left = LeftIn(storage, folder);
  std::string said = absl::StrCat("stopped by ", SignalName(StopSignals::Came()), "; ",
                                  left.empty() ? absl::StrCat("the run left no files in ", folder) : left);
  if (!storage->IsLocal(folder)) {
    const absl::Status aborted = storage->RemoveUnfinished(folder);
    if (!aborted.ok()) absl::StrAppend(&said, "; parts of a shard may remain there: ", aborted.message());
  }
  return absl::CancelledError(said);
}

absl::StatusOr<std::string> OutputFolder(const storage::Storage& storage, const std::string& out) {
  std::string folder;
  const bool is_local = storage.IsLocal(out);
  if (const absl::Status valid = storage.CheckName(out); !valid.ok()) {
    return UsageError(absl::StrCat(is_local ? "--out " : "--out: ", valid.message()));
  }
  if (const absl::Status taken = storage.CheckOutput(out); !taken.ok()) {
    return UsageError(absl::StrCat("--out ", taken.message()));
  }
  if (!is_local) {
    folder = out;
  } else {
    folder = std::filesystem::absolute(WithoutFileScheme(out)).lexically_normal().string();
  }
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (folder.find_first_of("*?[\\") != std::string::npos) {
    return UsageError(absl::StrCat("--out ", out, ": a glob could not name this folder; avoid *, ?, [ and \\"));
  }
  return folder;
}

void ShardOutput::AddFlags(config::Flags* flags) {
  flags->AddString("out", &out_, "DIR",
                   "the folder of the new shards: not there yet, empty, or this command's own; or a bucket's, such as "
                   "s3://BUCKET/shards");
  flags->AddString("prefix", &prefix_, "NAME", "shards are called NAME-00000.tfrecord ... (default: data)");
  flags->AddBytes("shard-size", &shard_bytes_, "BYTES", "a shard ends before it would grow larger (default: 128MiB)");
  flags->AddString("order", &order_, "shuffled|sorted", "the records in a random order, or in that of the source");
  flags->AddUint("seed", &seed_, "N", "seed of the shuffled order (default: 17)");
  flags->AddUint("threads", &threads_, "N",
                 "records made at once (default: the CPUs of this container); the shards are the same");
  flags->AddSwitch("skip-bad", &skip_bad_, "leave bad items out and list them in skipped.txt (default: stop)");
  flags->AddSwitch("json", &json_, "print one JSON object instead of text");
}

absl::Status ShardOutput::Check(bool shuffle) {
  if (out_.empty()) return UsageError("--out DIR is missing");
  if (!order_.empty() && order_ != "shuffled" && order_ != "sorted") {
    return UsageError(absl::StrCat("--order ", order_, ": shuffled or sorted"));
  }
  if (threads_ > 4096) return UsageError(absl::StrCat("--threads ", threads_, ": at most 4096"));
  shuffle_ = order_.empty() ? shuffle : order_ == "shuffled";
  PS_ASSIGN_OR_RETURN(folder_, OutputFolder(*storage_, out_));
  return absl::OkStatus();
}

std::string ShardOutput::Glob() const { return absl::StrCat(folder_, "/", prefix_, "-*.tfrecord"); }

int ShardOutput::threads() const { return threads_ == 0 ? AvailableCpus() : static_cast<int>(threads_); }

absl::Status ShardOutput::Write(const imports::RecordSource& source, const std::string& verb,
                                std::vector<std::pair<std::string, std::string>> arguments,
                                std::vector<Companion> companions, const std::string& next_step) const {
  imports::ShardSetOptions options;
  options.folder = folder_;
  options.prefix = prefix_;
  options.shard_bytes = shard_bytes_;
  options.threads = threads();
  options.shuffle = shuffle_;
  options.seed = seed_;
  options.skip_bad = skip_bad_;
  options.arguments = std::move(arguments);
  ProgressBar bar(verb);
  options.progress = [&](const imports::ShardSetProgress& p) {
    bar.Update(static_cast<double>(p.items_done) / static_cast<double>(p.items_total),
               absl::StrCat(Count(p.records, "record"), ", ", HumanBytes(p.bytes)));
  };
  const Nanos start = Clock::Real()->Now();
  const StopSignals signals(RemainsOf(*storage_, folder_));
  options.stop = signals.token();
  const auto result = imports::WriteShards(storage_, source, options);
  bar.Finish();
  if (absl::IsCancelled(result.status()) && StopSignals::Came() != 0) return Stopped(storage_, folder_);
  if (!result.ok()) {
    if (absl::IsFailedPrecondition(result.status())) return result.status();
    if (result.status() == imports::ShardFolder::AnotherRun(folder_)) return result.status();
    const std::string left = LeftIn(storage_, folder_);
    if (left.empty()) return result.status();
    return absl::Status(result.status().code(), absl::StrCat(result.status().message(), "; ", left));
  }
  const std::vector<std::string>& skipped = result->state.skipped;
  if (!skipped.empty()) companions.push_back({"skipped.txt", absl::StrJoin(skipped, "\n") + "\n"});
  for (const Companion& companion : companions) {
    PS_RETURN_IF_ERROR(storage_->Put(absl::StrCat(folder_, "/", companion.name), companion.content).status());
  }
  Print(*result, static_cast<double>(Clock::Real()->Now() - start) / kSecond, next_step);
  return absl::OkStatus();
}

void ShardOutput::Print(const imports::ShardSetResult& result, double seconds, const std::string& next_step) const {
  const imports::ShardState& state = result.state;
  std::array<uint64_t, imports::kImageTreatments> treated = {};
  for (const imports::FinishedShard& shard : state.shards) {
    for (size_t i = 0; i < treated.size(); ++i) treated[i] += shard.treated[i];
  }
  if (json_) {
    std::printf("%s\n", Json()
                            .Field("files", Glob())
                            .Field("shards", uint64_t{state.shards.size()})
                            .Field("resumed_shards", result.resumed_shards)
                            .Field("records", state.Records())
                            .Field("bytes", state.Bytes())
                            .Field("skipped", uint64_t{state.skipped.size()})
                            .Field("kept", treated[0])
                            .Field("restart_indexed", treated[1])
                            .Field("reencoded", treated[2])
                            .Field("seconds", seconds)
                            .Object()
                            .c_str());
    return;
  }
  std::printf("%s in %s, %s: %s (%s)\n", Count(state.Records(), "record").c_str(),
              Count(state.shards.size(), "shard").c_str(), HumanBytes(state.Bytes()).c_str(), Glob().c_str(),
              HumanSeconds(seconds).c_str());
  if (result.resumed_shards > 0) {
    std::printf("%s of them %s there already, from an earlier run\n", Count(result.resumed_shards, "shard").c_str(),
                result.resumed_shards == 1 ? "was" : "were");
  }
  if (treated[1] + treated[2] > 0) {
    std::vector<std::string> parts;
    if (treated[1] > 0) parts.push_back(absl::StrCat(Count(treated[1]), " restart-indexed"));
    if (treated[2] > 0) parts.push_back(absl::StrCat(Count(treated[2]), " encoded again"));
    if (treated[0] > 0) parts.push_back(absl::StrCat(Count(treated[0]), " with unchanged bytes"));
    std::printf("images: %s\n", absl::StrJoin(parts, ", ").c_str());
  }
  if (!state.skipped.empty()) {
    std::printf("%s left out; %s/skipped.txt lists %s\n", Count(state.skipped.size(), "bad item").c_str(),
                folder_.c_str(), state.skipped.size() == 1 ? "it" : "them");
  }
  std::printf("%s\n", next_step.c_str());
}

}  // namespace penstock::cli
