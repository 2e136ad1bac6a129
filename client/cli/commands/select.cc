#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/cgroup.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/first_records.h"
#include "client/cli/job_argument.h"
#include "client/cli/local_data.h"
#include "client/cli/output.h"
#include "client/cli/select/feature_types.h"
#include "client/cli/select/record_scan.h"
#include "client/cli/select/used_features.h"
#include "pipeline/loader/data_format.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/sources/container.h"
#include "pipeline/sources/index_job.h"

namespace penstock::cli {
namespace {

constexpr uint64_t kMostExamples = 1000;
constexpr uint64_t kShownBad = 20;
// The records that show the types of features: the same numbers as for `penstock submit` (check_keys.h).
constexpr size_t kFirstShards = 8;
constexpr uint64_t kFirstRecords = 32;

bool IsJobFile(const std::string& argument) { return argument == "-" || absl::EndsWith(argument, ".textproto"); }

// Returns an error of --filter, with a message that may have several lines.
absl::Status FilterError(const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("--filter: ", status.message()));
}

// The shards that could be indexed, and the errors of the others.
struct Shards {
  std::vector<ShardToScan> good;
  std::vector<absl::Status> failed;
};

// The result over all shards.
struct Total {
  uint64_t records = 0, matches = 0, bad = 0;
  double share() const { return records == 0 ? 0 : static_cast<double>(matches) / static_cast<double>(records); }
};

class Select final : public Command {
 public:
  explicit Select(storage::Storage* storage) : data_(storage) {}

  std::string name() const override { return "select"; }
  std::string arguments() const override { return "JOB.textproto|GLOB|FOLDER... --filter EXPR [flags]"; }
  std::string summary() const override { return "count the records that match an expression, and show some"; }
  std::string description() const override {
    return "Reads all records of the shards, or of a job's data set, and evaluates the expression for each. Prints "
           "the\n"
           "number of records that match, and the first of them. The expression has features of the records, numbers\n"
           "and strings, with comparisons, and, or, not, in, + - * / // % and the functions len, bytes, has, hash,\n"
           "startswith and matches. Exits with 1 if a record is bad.\n\n"
           "  penstock select '/data/train-*' --filter \"width >= 256 and lang in ('en', 'de')\"\n"
           "  penstock select '/data/train-*' --filter \"len(col('image/object/bbox/xmin')) > 0\"";
  }
  void AddFlags(config::Flags* flags) override {
    data_.AddFlags(flags);
    flags->AddString("filter", &filter_, "EXPR", "the expression, for example \"label < 10\"");
    flags->AddUint("examples", &examples_, "N", "matching records to show, at most 1000 (default: 5)");
    flags->AddUint("threads", &threads_, "N", "shards at once (default: the CPUs of this container)");
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    if (filter_.empty()) return UsageError("--filter EXPR is missing, for example --filter \"label < 10\"");
    if (examples_ > kMostExamples) return UsageError(absl::StrCat("--examples must be at most ", kMostExamples));
    PS_ASSIGN_OR_RETURN(const v1::JobSpec job, JobOf(arguments));
    PS_ASSIGN_OR_RETURN(const Shards shards, IndexAll(job));
    PS_ASSIGN_OR_RETURN(const FeatureTypes types, FindTypes(job, shards));
    const absl::StatusOr<select::Expression> expression = select::Expression::Parse(filter_, types.Columns());
    if (!expression.ok()) return FilterError(expression.status());
    if (const absl::Status same = types.CheckSameTypes(*expression); !same.ok()) return FilterError(same);
    const absl::StatusOr<UsedFeatures> used = UsedFeatures::Create(*expression, types);
    if (!used.ok()) return FilterError(used.status());
    const std::vector<ScannedShard> scanned = ScanAll(shards, *used);
    return Report(shards, *used, scanned);
  }

 private:
  // Returns the job of the arguments. A job for files has only its data set.
  absl::StatusOr<v1::JobSpec> JobOf(const std::vector<std::string>& arguments) const {
    if (arguments.empty()) return UsageError("JOB.textproto, GLOB or FOLDER is missing");
    v1::JobSpec job;
    if (std::any_of(arguments.begin(), arguments.end(), IsJobFile)) {
      if (arguments.size() > 1) return UsageError("one job file, or any number of globs and folders, is expected");
      PS_ASSIGN_OR_RETURN(job, LoadJobFileOrInput(data_.storage(), arguments[0]));
      if (plan::DatasetOf(job).format() == v1::RAW) {
        return absl::InvalidArgumentError(
            absl::StrCat(arguments[0], ": dataset.format: records of RAW have no features to select by"));
      }
    } else {
      v1::Dataset* const dataset = job.add_dataset();
      for (const std::string& argument : arguments) {
        PS_ASSIGN_OR_RETURN(*dataset->add_files(), data_.FilesOf(argument));
      }
    }
    data_.ResolveJob(&job);
    return job;
  }

  absl::StatusOr<Shards> IndexAll(const v1::JobSpec& job) const {
    const v1::Dataset& dataset = plan::DatasetOf(job);
    PS_ASSIGN_OR_RETURN(const auto roots, data_.Roots());
    PS_ASSIGN_OR_RETURN(
        const auto files,
        sources::ExpandGlobs(data_.storage(), std::vector<std::string>(dataset.files().begin(), dataset.files().end()),
                             roots));
    PS_ASSIGN_OR_RETURN(const sources::IndexStore store, data_.Indexes());
    std::vector<std::string> paths;
    for (const sources::DatasetFile& file : files) paths.push_back(file.path);
    ProgressBar bar("indexing");
    auto indexes = sources::BuildIndexes(
        store, paths, sources::IndexOptionsOf(job), Threads(), [&](const sources::IndexProgress& p) {
          bar.Update(p.bytes_total == 0 ? 1 : static_cast<double>(p.bytes_done) / static_cast<double>(p.bytes_total),
                     absl::StrCat(p.files_done, " of ", p.files_total, " shards"));
        });
    bar.Finish();
    if (const std::string unsaved = sources::UnsavedText(indexes); !unsaved.empty()) PrintWarning(unsaved);
    Shards shards;
    for (size_t i = 0; i < paths.size(); ++i) {
      if (indexes[i].ok()) {
        shards.good.push_back({paths[i], indexes[i]->index});
      } else {
        shards.failed.push_back(indexes[i].status());
      }
    }
    if (shards.good.empty()) return shards.failed.front();
    const ShardToScan& first = shards.good.front();
    for (const ShardToScan& shard : shards.good) {
      const auto container = shard.index->kind().container, expected = first.index->kind().container;
      if (container == expected) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          shard.path, " is ", std::string(sources::Container::Of(container).FileNoun()), ", but ", first.path, " is ",
          std::string(sources::Container::Of(expected).FileNoun()), "; select from files of one kind"));
    }
    return shards;
  }

  // Finds the features in the first records of a few shards that are spread evenly.
  absl::StatusOr<FeatureTypes> FindTypes(const v1::JobSpec& job, const Shards& shards) const {
    FeatureTypes types;
    if (plan::DatasetOf(job).format() == v1::SEQUENCE_EXAMPLE) {
      types.SetFormat(records::RecordFormat::kSequenceExample);
    }
    uint64_t records = 0;
    absl::Status first_error;
    const size_t count = std::min(kFirstShards, shards.good.size());
    for (size_t i = 0; i < count; ++i) {
      const ShardToScan& shard = shards.good[count == 1 ? 0 : i * (shards.good.size() - 1) / (count - 1)];
      PS_ASSIGN_OR_RETURN(std::unique_ptr<storage::StoredFile> file, data_.storage()->OpenAndWait(shard.path));
      PS_ASSIGN_OR_RETURN(const auto reader, sources::ShardReader::Open(std::move(file), shard.index));
      ReadFirstRecords(
          *reader, kFirstRecords,
          [&](sources::ContainerKind container, std::string_view record) {
            PS_RETURN_IF_ERROR(types.AddRecord(shard.path, container, record));
            ++records;
            return absl::OkStatus();
          },
          [&](absl::Status error) {
            if (first_error.ok()) first_error = std::move(error);
          });
    }
    if (records == 0 && !first_error.ok()) return first_error;
    types.AddJob(job);
    return types;
  }

  std::vector<ScannedShard> ScanAll(const Shards& shards, const UsedFeatures& used) const {
    v1::JobSpec reads;  // a job that reads only the used features
    for (const std::string& name : used.names()) reads.add_features()->set_key(name);
    const auto features = loader::RequestedFeaturesOf(shards.good.front().index->kind().container, reads);
    uint64_t records = 0;
    for (const ShardToScan& shard : shards.good) records += shard.index->record_count();
    ProgressBar bar("selecting");
    ScanOptions options{.threads = Threads(), .examples = examples_, .bad_examples = kShownBad};
    options.progress = [&bar, records](uint64_t done) {
      bar.Update(records == 0 ? 1 : static_cast<double>(done) / static_cast<double>(records),
                 absl::StrCat(Count(done), " of ", Count(records, "record")));
    };
    std::vector<ScannedShard> scanned = ScanRecords(data_.storage(), shards.good, used, features.get(), options);
    bar.Finish();
    return scanned;
  }

  absl::Status Report(const Shards& shards, const UsedFeatures& used, const std::vector<ScannedShard>& scanned) const {
    Total total;
    std::vector<absl::Status> failed = shards.failed;
    for (const ScannedShard& shard : scanned) {
      total.records += shard.records;
      total.matches += shard.matches;
      total.bad += shard.bad;
      if (!shard.failed.ok()) failed.push_back(shard.failed);
    }
    if (json_) {
      PrintJson(shards, used, scanned, total, failed);
    } else {
      PrintText(shards, used, scanned, total, failed);
    }
    std::string wrong;
    if (total.bad > 0) {
      wrong = absl::StrCat(Count(total.bad), " of ", Count(total.records, "record"), total.bad == 1 ? " is" : " are",
                           " bad, and counted as no match");
    }
    if (!failed.empty()) {
      absl::StrAppend(&wrong, wrong.empty() ? "" : "; ", Count(failed.size()), " of ",
                      Count(shards.good.size() + shards.failed.size(), "file"), " cannot be read");
    }
    return wrong.empty() ? absl::OkStatus() : absl::DataLossError(wrong);
  }

  void PrintText(const Shards& shards, const UsedFeatures& used, const std::vector<ScannedShard>& scanned,
                 const Total& total, const std::vector<absl::Status>& failed) const {
    std::printf("%s of %s in %s match (%.1f %%)\n", Count(total.matches).c_str(),
                Count(total.records, "record").c_str(), Count(shards.good.size(), "file").c_str(), 100 * total.share());
    uint64_t shown = 0;
    for (size_t i = 0; i < scanned.size(); ++i) {
      for (const MatchedRecord& example : scanned[i].examples) {
        if (shown++ == examples_) break;
        std::string line = absl::StrCat("  ", shards.good[i].path, ", record ", example.record, ":");
        for (size_t n = 0; n < used.names().size(); ++n) {
          absl::StrAppend(&line, n == 0 ? " " : ", ", used.names()[n], " = ", example.values[n]);
        }
        std::printf("%s\n", line.c_str());
      }
      if (shown > examples_) break;
    }
    uint64_t listed = 0;
    for (const ScannedShard& shard : scanned) {
      for (const BadRecord& bad : shard.first_bad) {
        if (listed == kShownBad) break;
        ++listed;
        std::fprintf(stderr, "%s\n", std::string(bad.error.message()).c_str());
      }
    }
    if (total.bad > listed) std::fprintf(stderr, "and %s more\n", Count(total.bad - listed, "bad record").c_str());
    for (const absl::Status& error : failed) std::fprintf(stderr, "%s\n", std::string(error.message()).c_str());
  }

  void PrintJson(const Shards& shards, const UsedFeatures& used, const std::vector<ScannedShard>& scanned,
                 const Total& total, const std::vector<absl::Status>& failed) const {
    std::vector<std::string> examples, bad, errors;
    for (size_t i = 0; i < scanned.size(); ++i) {
      for (const MatchedRecord& example : scanned[i].examples) {
        if (examples.size() >= examples_) break;
        Json values;
        for (size_t n = 0; n < used.names().size(); ++n) values.Field(used.names()[n], example.values[n]);
        examples.push_back(Json()
                               .Field("file", shards.good[i].path)
                               .Field("record", example.record)
                               .Raw("values", values.Object())
                               .Object());
      }
      for (const BadRecord& each : scanned[i].first_bad) {
        if (bad.size() >= kShownBad) break;
        bad.push_back(Json()
                          .Field("file", shards.good[i].path)
                          .Field("record", each.record)
                          .Field("error", std::string(each.error.message()))
                          .Object());
      }
    }
    for (const absl::Status& error : failed) errors.emplace_back(error.message());
    std::printf("%s\n", Json()
                            .Field("files", uint64_t{shards.good.size()})
                            .Field("records", total.records)
                            .Field("matches", total.matches)
                            .Field("share", total.share())
                            .Field("bad_records", total.bad)
                            .Raw("examples", Json::Array(examples))
                            .Raw("first_bad_records", Json::Array(bad))
                            .Raw("unreadable_files", Json::QuotedArray(errors))
                            .Object()
                            .c_str());
  }

  int Threads() const { return threads_ == 0 ? AvailableCpus() : static_cast<int>(threads_); }

  LocalData data_;
  std::string filter_;
  uint64_t examples_ = 5, threads_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewSelect(storage::Storage* storage) { return std::make_unique<Select>(storage); }

}  // namespace penstock::cli
