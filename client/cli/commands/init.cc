#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/job_writer.h"
#include "client/cli/local_data.h"
#include "config/job_file.h"
#include "pipeline/augment/pipeline.h"
#include "pipeline/base/file.h"
#include "pipeline/base/status_macros.h"
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

class Init final : public Command {
 public:
  std::string name() const override { return "init"; }
  std::string arguments() const override { return "GLOB [flags]"; }
  std::string summary() const override { return "write a job file from what the first records hold"; }
  std::string description() const override {
    return "Looks at the first records of the first shards and writes a job that fits them: features with their types\n"
           "and shapes, and, where there is an image, a training recipe. Read it, change it, then submit it. A folder\n"
           "stands for all files in it.\n\n"
           "  penstock init '/data/train-*' --out train.textproto";
  }
  void AddFlags(Flags* flags) override {
    data_.AddFlags(flags);
    flags->AddString("out", &out_, "FILE", "where to write the job (default: standard output)");
    flags->AddSwitch("force", &force_, "replace FILE when it is there");
    flags->AddString("name", &name_, "NAME", "the job's name (default: from the glob)");
    flags->AddUint("records", &records_, "N", "how many records to look at (default: 100)");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    PS_ASSIGN_OR_RETURN(std::string glob, OneArgument(arguments, "GLOB"));
    struct stat st;
    if (stat(data_.Resolve(glob).c_str(), &st) == 0 && S_ISDIR(st.st_mode)) {
      while (glob.size() > 1 && glob.back() == '/') glob.pop_back();
      glob += "/*";
    }
    if (!out_.empty() && !force_ && StatFile(out_).ok()) {
      return absl::AlreadyExistsError(absl::StrCat(out_, " is there already; --force replaces it"));
    }
    PS_ASSIGN_OR_RETURN(const auto files, data_.Expand(glob));
    PS_ASSIGN_OR_RETURN(const IndexStore store, data_.Indexes());
    JobWriter writer;
    for (const DatasetFile& file : files) {
      if (writer.records() >= records_) break;
      PS_RETURN_IF_ERROR(AddRecords(store, file.path, &writer));
    }
    if (writer.records() == 0) return absl::NotFoundError(absl::StrCat("no records in the files of '", glob, "'"));
    const std::string text = writer.Write(name_.empty() ? NameOf(glob) : name_, data_.Resolve(glob));
    v1::JobSpec job;
    PS_RETURN_IF_ERROR(MistakesToStatus("the job that would be written", CheckJobText(text, CheckPipeline, &job)));
    if (out_.empty()) {
      std::fputs(text.c_str(), stdout);
      return absl::OkStatus();
    }
    PS_RETURN_IF_ERROR(WriteFileAtomically(out_, text));
    std::printf("wrote %s: job '%s', %d columns, %zu files\n", out_.c_str(), job.name().c_str(), job.features_size(),
                files.size());
    return absl::OkStatus();
  }

 private:
  absl::Status AddRecords(const IndexStore& store, const std::string& path, JobWriter* writer) const {
    PS_ASSIGN_OR_RETURN(const LoadedIndex loaded, store.LoadOrBuild(path));
    PS_ASSIGN_OR_RETURN(const auto reader, ShardReader::Open(path, loaded.index));
    std::string record;
    for (uint64_t k = 0; k < loaded.index->record_count() && writer->records() < records_; ++k) {
      PS_RETURN_IF_ERROR(reader->ReadRecord(k, &record));
      if (absl::Status added = writer->AddRecord(record); !added.ok()) {
        return absl::Status(added.code(), absl::StrCat(path, ", record ", k, ": ", added.message()));
      }
    }
    return absl::OkStatus();
  }

  LocalData data_;
  std::string out_, name_;
  bool force_ = false;
  uint64_t records_ = 100;
};

}  // namespace

std::unique_ptr<Command> NewInit() { return std::make_unique<Init>(); }

}  // namespace penstock::cli
