#include "client/cli/job_argument.h"

#include <sys/stat.h>

#include <cctype>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "client/cli/job_writer.h"
#include "config/job_file.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/import/shard_state.h"
#include "pipeline/records/shard_reader.h"

namespace penstock::cli {
namespace {

// "/data/imagenet/train-*" -> "train"; "/data/cifar/*.tfrecord" -> "cifar".
std::string NameOf(const std::string& glob) {
  const auto clean = [](std::string text) {
    text = text.substr(0, text.find_first_of("*?["));
    std::string out;
    for (const char c : text) out += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ? c : '-';
    while (!out.empty() && (out.back() == '-' || out.back() == '.' || out.back() == '_')) out.pop_back();
    while (!out.empty() && (out.front() == '-' || out.front() == '.')) out.erase(0, 1);
    return out;
  };
  const size_t slash = glob.rfind('/');
  std::string name = clean(slash == std::string::npos ? glob : glob.substr(slash + 1));
  if (name.empty() && slash != std::string::npos && slash > 0) {
    const std::string folder = glob.substr(0, slash);
    name = clean(folder.substr(folder.rfind('/') + 1));
  }
  return name.empty() ? "my-job" : name;
}

// Shows the writer the shard's first records, until it has seen `records` in all.
absl::Status AddRecords(const IndexStore& store, const std::string& path, uint64_t records, JobWriter* writer) {
  PS_ASSIGN_OR_RETURN(const LoadedIndex loaded, store.LoadOrBuild(path));
  PS_ASSIGN_OR_RETURN(const auto reader, ShardReader::Open(path, loaded.index));
  std::string record;
  for (uint64_t k = 0; k < loaded.index->record_count() && writer->records() < records; ++k) {
    PS_RETURN_IF_ERROR(reader->ReadRecord(k, &record));
    if (absl::Status added = writer->AddRecord(record); !added.ok()) {
      return absl::Status(added.code(), absl::StrCat(path, ", record ", k, ": ", added.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> MakeJobText(const LocalData& data, std::string glob, const std::string& name,
                                        uint64_t records) {
  struct stat st;
  if (stat(data.Resolve(glob).c_str(), &st) == 0 && S_ISDIR(st.st_mode)) {
    while (glob.size() > 1 && glob.back() == '/') glob.pop_back();
    // A folder that import or bake filled holds labels and jobs beside its shards.
    const bool ours = StatFile(data.Resolve(glob) + "/" + std::string(kShardStateName)).ok();
    glob += ours ? "/*.tfrecord" : "/*";
  }
  PS_ASSIGN_OR_RETURN(const auto files, data.Expand(glob));
  PS_ASSIGN_OR_RETURN(const IndexStore store, data.Indexes());
  JobWriter writer;
  for (const DatasetFile& file : files) {
    if (writer.records() >= records) break;
    PS_RETURN_IF_ERROR(AddRecords(store, file.path, records, &writer));
  }
  if (writer.records() == 0) return absl::NotFoundError(absl::StrCat("no records in the files of '", glob, "'"));
  const std::string text = writer.Write(name.empty() ? NameOf(glob) : name, data.Resolve(glob));
  v1::JobSpec job;
  PS_RETURN_IF_ERROR(MistakesToStatus("the job that would be written", CheckJobText(text, CheckPipeline, &job)));
  return text;
}

absl::StatusOr<v1::JobSpec> LoadJobArgument(const LocalData& data, const std::string& argument) {
  constexpr uint64_t kRecords = 100;
  v1::JobSpec job;
  if (absl::EndsWith(argument, ".textproto")) {
    PS_ASSIGN_OR_RETURN(job, LoadJobFile(argument, CheckPipeline));
  } else {
    PS_ASSIGN_OR_RETURN(const std::string text, MakeJobText(data, argument, "", kRecords));
    PS_RETURN_IF_ERROR(MistakesToStatus(argument, CheckJobText(text, CheckPipeline, &job)));
  }
  data.ResolveJob(&job);
  return job;
}

}  // namespace penstock::cli
