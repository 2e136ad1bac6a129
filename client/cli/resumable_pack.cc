#include "client/cli/resumable_pack.h"

#include <cstdio>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "client/cli/command.h"
#include "pipeline/import/job_text.h"
#include "pipeline/pack/record_stream.h"

namespace penstock::cli {
namespace {

constexpr char kJobFile[] = "job.textproto";

absl::Status WriteRecords(const ResumablePack& run, pack::PackInput* input, pack::RecordStream* stream) {
  for (;;) {
    PS_ASSIGN_OR_RETURN(const pack::PackFrame frame, input->Next());
    if (frame.type == pack::PackFrame::Type::kEnd) break;
    PS_RETURN_IF_ERROR(stream->Take(frame));
  }
  const std::string glob = absl::StrCat(run.folder, "/", run.prefix, "-*.tfrecord");
  return stream->Finish(imports::JobName(run.folder.substr(run.folder.rfind('/') + 1)), glob, kJobFile);
}

}  // namespace

absl::Status RunResumablePack(storage::Storage* storage, const ResumablePack& run, pack::PackInput* input) {
  pack::RecordStreamOptions options;
  options.folder = run.folder;
  options.prefix = run.prefix;
  options.shard_bytes = run.shard_bytes;
  options.replay = run.replay;
  for (const auto& line : absl::StrSplit(run.arguments, '\n', absl::SkipEmpty())) {
    std::pair<std::string, std::string> argument = absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (argument.first.empty() || argument.first.find(' ') != std::string::npos) {
      return UsageError("--resume: lines of NAME=VALUE are expected");
    }
    options.arguments.push_back(std::move(argument));
  }
  PS_ASSIGN_OR_RETURN(const auto stream, pack::RecordStream::Open(storage, std::move(options)));
  const uint64_t resumed = stream->state().shards.size();
  std::printf("%s\n", Json()
                          .Field("records", stream->state().Records())
                          .Field("shards", resumed)
                          .Field("complete", stream->state().complete)
                          .Object()
                          .c_str());
  std::fflush(stdout);
  if (!stream->state().complete || run.replay) {
    if (absl::Status written = WriteRecords(run, input, stream.get()); !written.ok()) {
      return stream->Abandon(std::move(written));
    }
  }
  std::printf("%s\n", Json()
                          .Field("files", absl::StrCat(run.folder, "/", run.prefix, "-*.tfrecord"))
                          .Field("job", absl::StrCat(run.folder, "/", kJobFile))
                          .Field("shards", uint64_t{stream->state().shards.size()})
                          .Field("records", stream->state().Records())
                          .Field("bytes", stream->state().Bytes())
                          .Field("resumed_shards", resumed)
                          .Object()
                          .c_str());
  return absl::OkStatus();
}

}  // namespace penstock::cli
