#include "client/cli/job_argument.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/foreign_data.h"
#include "base/near_name.h"
#include "base/status_macros.h"
#include "client/cli/command.h"
#include "client/cli/first_records.h"
#include "client/cli/job_report.h"
#include "client/cli/job_writer.h"
#include "config/job_file.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/augment/contact_sheet.h"
#include "pipeline/plan/fitting_batch.h"
#include "pipeline/sources/file_kind.h"
#include "pipeline/sources/shard_reader.h"

namespace penstock::cli {
namespace {

constexpr uint64_t kMaxFileBytes = 1 << 20;

// Returns a shard's name without its number and format: "train-00000-of-00128.tfrecord.gz" -> "train".
std::string Stem(std::string name) {
  constexpr size_t kLeastDigits = 4;  // keeps cifar-10
  for (bool cut = true; cut;) {
    cut = false;
    for (const char* suffix : {".gz", ".zlib", ".tfrecord", ".tfrecords", ".tfrec", ".record", ".jsonl", ".txt", ".csv",
                               ".tsv", ".npy", "-of"}) {
      if (!absl::EndsWith(name, suffix)) continue;
      name.resize(name.size() - std::strlen(suffix));
      cut = true;
    }
    const size_t dash = name.rfind('-');
    if (dash != std::string::npos && name.size() - dash > kLeastDigits &&
        name.find_first_not_of("0123456789", dash + 1) == std::string::npos) {
      name.resize(dash);
      cut = true;
    }
  }
  return name;
}

// Returns a job's name for a glob: "/data/imagenet/train-*" -> "train"; "/data/cifar/*.tfrecord" -> "cifar".
std::string NameOf(const std::string& glob) {
  const auto clean = [](std::string text) {
    text = Stem(text.substr(0, text.find_first_of("*?[")));
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

// Records and files that were skipped: the first few in words, and the number of the others.
class PassedBy {
 public:
  void Add(absl::Status status) {
    if (count_++ < kShown) notes_.emplace_back(status.message());
    if (first_.ok()) first_ = std::move(status);
  }
  const absl::Status& first() const { return first_; }
  std::vector<std::string> Notes() const {
    std::vector<std::string> notes = notes_;
    if (count_ > kShown) notes.push_back(absl::StrCat("and ", count_ - kShown, " more like these"));
    return notes;
  }

 private:
  static constexpr size_t kShown = 5;
  size_t count_ = 0;
  std::vector<std::string> notes_;
  absl::Status first_;
};

// Passes the shard's first records to the writer until it has `records` in total. Skips unreadable ones.
void AddRecords(const sources::IndexStore& store, const std::string& path, const sources::IndexOptions& options,
                uint64_t records, JobWriter* writer, PassedBy* passed) {
  const absl::StatusOr<sources::LoadedIndex> loaded = store.LoadOrBuild(path, options);
  if (!loaded.ok()) return passed->Add(loaded.status());
  absl::StatusOr<std::unique_ptr<storage::StoredFile>> file = store.storage()->OpenAndWait(path);
  if (!file.ok()) return passed->Add(file.status());
  const auto reader = sources::ShardReader::Open(*std::move(file), loaded->index, {.files = options.files});
  if (!reader.ok()) return passed->Add(reader.status());
  ReadFirstRecords(
      **reader, records - writer->records(),
      [writer](sources::ContainerKind container, std::string_view record) { return writer->Add(container, record); },
      [passed](absl::Status error) { passed->Add(std::move(error)); });
}

// Counts the records of files that can be indexed, up to the number from which the batch size does not depend on it.
uint64_t CountRecords(const sources::IndexStore& store, const std::vector<sources::DatasetFile>& files,
                      const sources::IndexOptions& options) {
  uint64_t records = 0;
  for (const sources::DatasetFile& file : files) {
    if (records >= plan::kManyRecords) break;
    const absl::StatusOr<sources::LoadedIndex> loaded = store.LoadOrBuild(file.path, options);
    if (loaded.ok()) records += loaded->index->record_count();
  }
  return records;
}

}  // namespace

absl::Status NoJobFile(const std::string& path) {
  if (IsConvertibleUrl(path)) {
    return absl::NotFoundError(absl::StrCat("a job file is expected, not ", path, "; ", ConvertHint(path)));
  }
  if (path.find_first_of("*?[") != std::string::npos) {
    return absl::NotFoundError(absl::StrCat("a job file is expected, not the glob '", path, "'; `penstock init '", path,
                                            "' --out job.textproto` writes one"));
  }
  const std::filesystem::path file(path);
  std::vector<std::string> there;
  std::error_code error;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (absl::EndsWith(name, ".textproto")) there.push_back(file.has_parent_path() ? (folder / name).string() : name);
  }
  std::sort(there.begin(), there.end());
  return absl::NotFoundError(absl::StrCat("there is no file ", path, DidYouMean(path, there),
                                          "; `penstock init GLOB --out ", path, "` writes a job file for shards"));
}

absl::StatusOr<MadeJob> MakeJob(const LocalData& data, const std::string& argument, const std::string& name,
                                uint64_t records, Recipe recipe) {
  PS_ASSIGN_OR_RETURN(const std::string glob, data.FilesOf(argument));
  PS_ASSIGN_OR_RETURN(const auto files, data.Expand(glob));
  PS_ASSIGN_OR_RETURN(const sources::IndexStore store, data.Indexes());
  PS_ASSIGN_OR_RETURN(const v1::Source::Kind source, data.Source());
  PS_ASSIGN_OR_RETURN(const v1::Window window, data.Window());
  PS_ASSIGN_OR_RETURN(const sources::IndexOptions options, data.IndexOptions());
  PS_ASSIGN_OR_RETURN(const v1::Manifest manifest, data.Manifest());
  JobWriter writer(source, window, manifest);
  PassedBy passed;
  for (const sources::DatasetFile& file : files) {
    if (writer.records() >= records) break;
    AddRecords(store, file.path, options, records, &writer, &passed);
  }
  if (writer.records() == 0) {
    if (absl::IsDataLoss(passed.first()) && !sources::IsOtherKindOfFile(passed.first())) {
      return absl::Status(
          passed.first().code(),
          absl::StrCat(passed.first().message(),
                       "; write the shard again, or leave it out (`penstock verify` lists the readable records)"));
    }
    if (!passed.first().ok()) return passed.first();
    return absl::NotFoundError(absl::StrCat("no records in the files of '", glob, "'"));
  }
  if (!writer.has_features()) {
    if (!passed.first().ok()) return passed.first();
    return absl::InvalidArgumentError(
        absl::StrCat("the first records of '", glob, "' (", writer.records(),
                     ") are Examples without a feature: there is nothing to read in them"));
  }
  MadeJob made;
  made.name = name.empty() ? absl::StrCat(NameOf(glob), recipe == Recipe::kEvaluation ? "-eval" : "") : name;
  made.records = writer.records();
  made.text = writer.Write(made.name, data.Resolve(glob), CountRecords(store, files, options), recipe);
  made.label_range = writer.LabelRange();
  for (std::string& note : passed.Notes()) made.notes.push_back(absl::StrCat("left out: ", note));
  for (std::string& note : writer.Notes()) made.notes.push_back(std::move(note));
  v1::JobSpec job;
  PS_RETURN_IF_ERROR(config::MistakesToStatus("the job that would be written",
                                              config::CheckJobText(made.text, augment::CheckPipeline, &job)));
  made.has_pictures = augment::HasPictures(job);
  return made;
}

absl::StatusOr<std::string> ReadFileOrInput(storage::Storage* storage, const std::string& path) {
  if (!storage->IsLocal(path)) return storage::ReadContent(storage, path, kMaxFileBytes);
  if (path != "-") {
    if (std::error_code error; std::filesystem::is_directory(path, error)) {
      if (const std::string_view kind = ConvertibleFolder(path); !kind.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(path, ": a job or configuration file is expected; this is ",
                                                       std::string(kind), "; ", ConvertHint(path)));
      }
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": a job or configuration file is expected; this is a folder (`penstock init ", path,
                       " --out job.textproto` writes a job for the shards or images in it)"));
    }
    if (const auto file = StatFile(path); file.ok() && file->size > kMaxFileBytes) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": a job or configuration file is expected; this has ",
                                                     file->size, " bytes, more than any of them (`penstock init ", path,
                                                     "` writes a job for data)"));
    }
    return ReadWholeFile(path, kMaxFileBytes);
  }
  std::string text(kMaxFileBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), stdin));
  if (std::ferror(stdin) != 0) return ErrnoStatus(errno, "reading standard input");
  if (text.size() > kMaxFileBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("standard input has more than ", kMaxFileBytes, " bytes"));
  }
  return text;
}

config::FileNameCheck NameCheckOf(const storage::Storage* storage) {
  return [storage](const std::string& name) { return storage->CheckName(name); };
}

absl::StatusOr<v1::JobSpec> LoadJobFileOrInput(storage::Storage* storage, const std::string& path) {
  const absl::StatusOr<std::string> read = ReadFileOrInput(storage, path);
  if (absl::IsNotFound(read.status())) return NoJobFile(path);
  if (!read.ok()) return read.status();
  const std::string& text = *read;
  v1::JobSpec job;
  const std::string name = path == "-" ? "standard input" : path;
  std::vector<config::Mistake> renamed;
  PS_RETURN_IF_ERROR(config::MistakesToStatus(
      name, config::CheckJobText(text, augment::CheckPipeline, &job, &renamed, NameCheckOf(storage))));
  PrintWarnings(config::MistakeLines(name, renamed));
  return job;
}

absl::StatusOr<v1::JobSpec> LoadJobArgument(const LocalData& data, const std::string& argument) {
  constexpr uint64_t kRecords = 100;
  v1::JobSpec job;
  if (argument == "-" || absl::EndsWith(argument, ".textproto")) {
    PS_RETURN_IF_ERROR(data.CheckNoSource(argument));
    PS_ASSIGN_OR_RETURN(job, LoadJobFileOrInput(data.storage(), argument));
  } else {
    PS_ASSIGN_OR_RETURN(const MadeJob made, MakeJob(data, argument, "", kRecords));
    PS_RETURN_IF_ERROR(
        config::MistakesToStatus(argument, config::CheckJobText(made.text, augment::CheckPipeline, &job)));
  }
  data.ResolveJob(&job);
  return job;
}

absl::StatusOr<int> DataSetOf(const v1::JobSpec& job, const std::string& name, const std::string& set) {
  if (set.empty() && job.dataset_size() == 1) return 0;
  std::string names;
  for (int i = 0; i < job.dataset_size(); ++i) {
    if (!set.empty() && job.dataset(i).name() == set) return i;
    absl::StrAppend(&names, i == 0 ? "" : ", ", job.dataset(i).name());
  }
  return UsageError(absl::StrCat(name, ": ",
                                 set.empty() ? "it has several data sets: choose one by --dataset"
                                             : absl::StrCat("it has no data set with the name '", set, "'"),
                                 " (there are: ", names, ")"));
}

}  // namespace penstock::cli
