#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/cgroup.h"
#include "base/json.h"
#include "base/ordered_key.h"
#include "base/status_macros.h"
#include "client/cli/bin_lines.h"
#include "client/cli/commands.h"
#include "client/cli/job_argument.h"
#include "client/cli/local_data.h"
#include "client/cli/output.h"
#include "client/cli/select/record_scan.h"
#include "client/cli/select/row_totals.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/plan/job_slices.h"
#include "pipeline/plan/record_groups.h"
#include "pipeline/selection/feature_types.h"
#include "pipeline/selection/job_selection.h"
#include "pipeline/selection/record_filter.h"
#include "pipeline/selection/step.h"
#include "pipeline/sources/container.h"
#include "pipeline/sources/file_access.h"
#include "pipeline/sources/index_job.h"

namespace penstock::cli {
namespace {

constexpr uint64_t kMostExamples = 1000;
constexpr uint64_t kShownBad = 20;
constexpr size_t kShownGroups = 8;

bool IsJobFile(const std::string& argument) { return argument == "-" || absl::EndsWith(argument, ".textproto"); }

// Returns an error of --filter, with a message that may have several lines.
absl::Status FilterError(const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("--filter: ", status.message()));
}

// The shards that could be indexed, and the errors of the others.
struct Shards {
  std::vector<ShardToScan> good = {};
  std::vector<absl::Status> failed = {};
  std::shared_ptr<const sources::FileAccess> files;  // that records name
};

// The result over all shards.
struct Total {
  uint64_t records = 0, bad = 0;
  std::vector<uint64_t> by_step;                // records that each step and those before it keep
  uint64_t matches = 0;                         // records that all keep
  RowTotals rows = {};                          // if a step makes rows
  std::map<std::string, uint64_t> groups = {};  // if the last step makes groups: the records of each
  double share() const { return records == 0 ? 0 : static_cast<double>(matches) / static_cast<double>(records); }
};

class Select final : public Command {
 public:
  explicit Select(storage::Storage* storage) : data_(storage) {}

  std::string name() const override { return "select"; }
  std::string arguments() const override { return "JOB.textproto|GLOB|FOLDER... [--filter EXPR] [flags]"; }
  std::string summary() const override { return "count the records that match an expression, and show some"; }
  std::string description() const override {
    return "Reads all records of the shards, or of a job's data set, and evaluates the expression for each. Prints "
           "the\n"
           "number of records that match, and the first of them. The expression has features of the records, numbers\n"
           "and strings, with comparisons, and, or, not, in, + - * / // % and the functions len, bytes, has, hash,\n"
           "startswith and matches. If the job has dataset.select, a record also has to match its steps, and the "
           "number that\n"
           "each step keeps is printed. Exits with 1 if a record is bad.\n\n"
           "  penstock select '/data/train-*' --filter \"width >= 256 and lang in ('en', 'de')\"\n"
           "  penstock select '/data/train-*' --filter \"len(col('image/object/bbox/xmin')) > 0\"";
  }
  void AddFlags(config::Flags* flags) override {
    data_.AddFlags(flags);
    flags->AddString("filter", &filter_, "EXPR", "the expression, for example \"label < 10\"");
    flags->AddString("dataset", &set_, "NAME", "the data set of the job, if it has several");
    flags->AddUint("examples", &examples_, "N", "matching records to show, at most 1000 (default: 5)");
    flags->AddSwitch("explain", &explain_, "show for each step of the job, and for --filter, records that it drops");
    flags->AddUint("threads", &threads_, "N", "shards at once (default: the CPUs of this container)");
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    if (examples_ > kMostExamples) return UsageError(absl::StrCat("--examples must be at most ", kMostExamples));
    PS_ASSIGN_OR_RETURN(const v1::JobSpec whole, JobOf(arguments));
    PS_ASSIGN_OR_RETURN(const int set, DataSetOf(whole, arguments[0], set_));
    const v1::JobSpec job = plan::JobOfSet(whole, set);
    if (filter_.empty() && plan::DatasetOf(job).select().empty()) {
      return UsageError("--filter EXPR is missing, for example --filter \"label < 10\"");
    }
    PS_ASSIGN_OR_RETURN(const Shards shards, IndexAll(job));
    std::vector<std::string> paths;
    for (const ShardToScan& shard : shards.good) paths.push_back(shard.path);
    PS_ASSIGN_OR_RETURN(const auto types, selection::FeatureTypes::Find(data_.storage(), job, paths));
    PS_ASSIGN_OR_RETURN(std::vector<selection::Step> steps, StepsOf(job, set, types));
    PS_ASSIGN_OR_RETURN(const auto filter, selection::RecordFilter::Create(std::move(steps), types));
    const v1::Dataset& dataset = plan::DatasetOf(job);
    if (!filter_.empty() && plan::MakesRows(dataset)) {
      const char* const step = plan::PackOf(dataset) != nullptr ? "pack" : "window";
      return UsageError(
          absl::StrCat("--filter cannot follow the job's ", step, "; add the filter to the job, before the ", step));
    }
    if (!plan::CountsRecords(dataset)) return Report(job, shards, filter, ScanAll(shards, filter, examples_));
    if (!filter_.empty()) {
      return UsageError("--filter cannot follow the job's steps that count records (take, skip, range, every)");
    }
    return Report(job, shards, filter, ScanCounted(dataset, shards, filter));
  }

 private:
  // Returns the job of the arguments. A job for files has only its data set.
  absl::StatusOr<v1::JobSpec> JobOf(const std::vector<std::string>& arguments) const {
    if (arguments.empty()) return UsageError("JOB.textproto, GLOB or FOLDER is missing");
    v1::JobSpec job;
    if (std::any_of(arguments.begin(), arguments.end(), IsJobFile)) {
      if (arguments.size() > 1) return UsageError("one job file, or any number of globs and folders, is expected");
      PS_RETURN_IF_ERROR(data_.CheckNoSource(arguments[0]));
      PS_ASSIGN_OR_RETURN(job, LoadJobFileOrInput(data_.storage(), arguments[0]));
      if (plan::DatasetOf(job).format() == v1::RAW && !filter_.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat(arguments[0], ": dataset.format: records of RAW have no features to select by"));
      }
    } else {
      v1::Dataset* const dataset = job.add_dataset();
      PS_ASSIGN_OR_RETURN(const v1::Source::Kind source, data_.Source());
      dataset->set_source(source);
      PS_RETURN_IF_ERROR(data_.IndexOptions().status());
      PS_ASSIGN_OR_RETURN(const v1::Window window, data_.Window());
      if (window.size() > 0 || window.has_end()) *dataset->mutable_window() = window;
      if (source == v1::Source::MANIFEST) {
        PS_ASSIGN_OR_RETURN(*dataset->mutable_manifest(), data_.Manifest());
      }
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
    sources::IndexOptions options = sources::IndexOptionsOf(job);
    options.files = sources::AccessTo(data_.storage(), roots);
    auto indexes = sources::BuildIndexes(store, paths, options, Threads(), [&](const sources::IndexProgress& p) {
      bar.Update(p.bytes_total == 0 ? 1 : static_cast<double>(p.bytes_done) / static_cast<double>(p.bytes_total),
                 absl::StrCat(p.files_done, " of ", p.files_total, " shards"));
    });
    bar.Finish();
    if (const std::string unsaved = sources::UnsavedText(indexes); !unsaved.empty()) PrintWarning(unsaved);
    Shards shards{.files = options.files};
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

  // Returns the steps of the job of data set `set` alone, and that of --filter. A record matches if all keep it.
  absl::StatusOr<std::vector<selection::Step>> StepsOf(const v1::JobSpec& job, int set,
                                                       const selection::FeatureTypes& types) const {
    PS_ASSIGN_OR_RETURN(std::vector<selection::Step> steps,
                        selection::ParseSteps(plan::DatasetOf(job).select(), selection::PlaceOf(set), types));
    if (!filter_.empty()) {
      absl::StatusOr<select::Expression> expression = select::Expression::Parse(filter_, types.Columns());
      if (!expression.ok()) return FilterError(expression.status());
      steps.emplace_back(*std::move(expression));
    }
    for (size_t n = 0; n < steps.size(); ++n) {
      const absl::Status same = types.CheckSameTypes(steps[n].operands());
      const bool of_filter = !filter_.empty() && n + 1 == steps.size();
      if (!same.ok()) return of_filter ? FilterError(same) : same;
    }
    return steps;
  }

  // Scans for a job with steps that count records. Which matches are examples depends on the matches of all shards, so
  // the shards of the examples are scanned once more.
  std::vector<ScannedShard> ScanCounted(const v1::Dataset& dataset, const Shards& shards,
                                        const selection::RecordFilter& filter) const {
    // The steps that count keep rows, and a row has no example of its own.
    if (plan::MakesRows(dataset)) return ScanAll(shards, filter, examples_);
    std::vector<ScannedShard> scanned;
    if (filter.size() > 0) {
      scanned = ScanAll(shards, filter, 0);
    } else {  // the indexes have the counts
      for (const ShardToScan& shard : shards.good) {
        ScannedShard& counted = scanned.emplace_back();
        counted.records = counted.all_matches = shard.index->record_count();
      }
    }
    std::vector<uint64_t> counts;
    for (const ScannedShard& shard : scanned) counts.push_back(shard.all_matches);
    const std::vector<plan::RecordRun> kept = plan::KeptRuns(dataset, counts);
    Shards with_examples{.files = shards.files};
    std::vector<size_t> numbers;  // their numbers in shards.good
    uint64_t examples = 0;
    for (size_t i = 0; i < kept.size() && examples < examples_; ++i) {
      if (kept[i].count == 0) continue;
      with_examples.good.push_back({shards.good[i].path, shards.good[i].index, kept[i].first, kept[i].stride});
      numbers.push_back(i);
      examples += kept[i].count;
    }
    if (numbers.empty()) return scanned;
    std::vector<ScannedShard> again = ScanAll(with_examples, filter, examples_);
    for (size_t i = 0; i < numbers.size(); ++i) {
      std::vector<ExampleRecord>& of_shard = scanned[numbers[i]].examples;
      of_shard = std::move(again[i].examples);
      if (of_shard.size() > kept[numbers[i]].count) of_shard.resize(kept[numbers[i]].count);
    }
    return scanned;
  }

  std::vector<ScannedShard> ScanAll(const Shards& shards, const selection::RecordFilter& filter,
                                    uint64_t examples) const {
    const auto features = filter.FeaturesToRead(shards.good.front().index->kind().container);
    uint64_t records = 0;
    for (const ShardToScan& shard : shards.good) records += shard.index->record_count();
    ProgressBar bar("selecting");
    ScanOptions options{.threads = Threads(), .examples = examples, .bad_examples = kShownBad, .files = shards.files};
    if (explain_) options.dropped_examples = examples_;
    options.progress = [&bar, records](uint64_t done) {
      bar.Update(records == 0 ? 1 : static_cast<double>(done) / static_cast<double>(records),
                 absl::StrCat(Count(done), " of ", Count(records, "record")));
    };
    std::vector<ScannedShard> scanned = ScanRecords(data_.storage(), shards.good, filter, features.get(), options);
    bar.Finish();
    return scanned;
  }

  absl::Status Report(const v1::JobSpec& job, const Shards& shards, const selection::RecordFilter& filter,
                      const std::vector<ScannedShard>& scanned) const {
    Total total;
    total.by_step.resize(filter.size());
    std::vector<absl::Status> failed = shards.failed;
    for (const ScannedShard& shard : scanned) {
      total.records += shard.records;
      for (size_t n = 0; n < shard.matches.size(); ++n) total.by_step[n] += shard.matches[n];
      total.bad += shard.bad;
      if (!shard.failed.ok()) failed.push_back(shard.failed);
    }
    for (const ScannedShard& shard : scanned) {
      total.matches += shard.all_matches;
      total.rows.Add(shard.rows);
      for (const auto& [name, records] : shard.groups) total.groups[name] += records;
    }
    PS_RETURN_IF_ERROR(plan::CheckLimits(total.groups.size(), 0));
    const bool makes_rows = plan::MakesRows(plan::DatasetOf(job));
    plan::RecordRun run{.count = makes_rows ? total.rows.rows : total.matches};
    for (const v1::Select& step : plan::DatasetOf(job).select()) {
      if (!plan::CountsRecords(step)) continue;
      run = plan::AfterStep(step, run);
      total.by_step.push_back(run.count);
    }
    (makes_rows ? total.rows.kept : total.matches) = run.count;
    if (json_) {
      PrintJson(job, shards, filter, scanned, total, failed);
    } else {
      PrintText(job, shards, filter, scanned, total, failed);
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
    if (!wrong.empty()) return absl::DataLossError(wrong);
    const v1::Select* const grouping = plan::GroupingStepOf(plan::DatasetOf(job));
    const bool only_zeros = total.groups.size() == 1 && total.groups.begin()->first == "0";
    return grouping != nullptr && grouping->has_weights() && only_zeros ? plan::NoWeightError() : absl::OkStatus();
  }

  void PrintText(const v1::JobSpec& job, const Shards& shards, const selection::RecordFilter& filter,
                 const std::vector<ScannedShard>& scanned, const Total& total,
                 const std::vector<absl::Status>& failed) const {
    std::printf("%s of %s in %s match (%.1f %%)\n", Count(total.matches).c_str(),
                Count(total.records, "record").c_str(), Count(shards.good.size(), "file").c_str(), 100 * total.share());
    PrintSteps(job, shards, filter, scanned, total);
    PrintGroups(plan::GroupingStepOf(plan::DatasetOf(job)), total.groups);
    uint64_t shown = 0;
    for (size_t i = 0; i < scanned.size(); ++i) {
      for (const ExampleRecord& example : scanned[i].examples) {
        if (shown++ == examples_) break;
        std::printf("  %s\n", ExampleText(shards.good[i].path, filter, example).c_str());
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

  static std::string ExampleText(const std::string& path, const selection::RecordFilter& filter,
                                 const ExampleRecord& example) {
    std::string text = absl::StrCat(path, ", record ", example.record);
    for (size_t n = 0; n < example.values.size(); ++n) {
      absl::StrAppend(&text, n == 0 ? ": " : ", ", filter.names()[n], " = ", example.values[n]);
    }
    return text;
  }

  // Calls `use` with the path and the record of the first examples that step n drops.
  void ForEachDropped(size_t n, const Shards& shards, const std::vector<ScannedShard>& scanned,
                      const std::function<void(const std::string&, const ExampleRecord&)>& use) const {
    uint64_t shown = 0;
    for (size_t i = 0; i < scanned.size(); ++i) {
      if (n >= scanned[i].dropped.size()) continue;  // a step that counts
      for (const ExampleRecord& example : scanned[i].dropped[n]) {
        if (shown++ == examples_) return;
        use(shards.good[i].path, example);
      }
    }
  }

  // Prints how many records each step of the job keeps.
  void PrintSteps(const v1::JobSpec& job, const Shards& shards, const selection::RecordFilter& filter,
                  const std::vector<ScannedShard>& scanned, const Total& total) const {
    const auto& steps = plan::DatasetOf(job).select();
    if (steps.empty() && !explain_) return;
    uint64_t before = total.records;
    const char* noun = "record";
    for (size_t n = 0; n < total.by_step.size(); ++n) {
      const bool of_job = n < static_cast<size_t>(steps.size());
      const std::string name = of_job ? absl::StrCat("select[", n, "]") : "--filter";
      const std::string text = of_job ? selection::StepText(steps[static_cast<int>(n)]) : filter_;
      std::printf("  %s keeps %s of %s: %s\n", name.c_str(), Count(total.by_step[n]).c_str(),
                  Count(before, noun).c_str(), text.c_str());
      ForEachDropped(n, shards, scanned, [&](const std::string& path, const ExampleRecord& example) {
        std::printf("    drops %s\n", ExampleText(path, filter, example).c_str());
      });
      before = total.by_step[n];
      if (!of_job || !plan::MakesRows(steps[static_cast<int>(n)])) continue;
      noun = RowNoun(steps[static_cast<int>(n)]);
      before = total.rows.rows;
      std::printf("    %s\n", RowsText(plan::DatasetOf(job), total.rows).c_str());
    }
  }

  // Prints the smallest groups that `step` makes and the largest one, or the first and the last parts of sorted values.
  static void PrintGroups(const v1::Select* step, const std::map<std::string, uint64_t>& groups) {
    if (step == nullptr || groups.empty()) return;
    if (plan::MakesBins(*step)) {
      std::printf("%s", BinLinesOf(*step, groups, "    ").c_str());
      return;
    }
    std::vector<std::pair<uint64_t, std::string>> sorted;
    for (const auto& [name, records] : groups) sorted.emplace_back(records, absl::Utf8SafeCEscape(name));
    std::sort(sorted.begin(), sorted.end());
    std::printf("    %s\n", Count(sorted.size(), "group").c_str());
    const size_t hidden = sorted.size() > kShownGroups + 1 ? sorted.size() - kShownGroups - 1 : 0;
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (i == kShownGroups && hidden > 0) {
        std::printf("      and %s more, up to\n", Count(hidden).c_str());
        i += hidden;
      }
      std::printf("      '%s': %s\n", sorted[i].second.c_str(), Count(sorted[i].first, "record").c_str());
    }
  }

  void PrintJson(const v1::JobSpec& job, const Shards& shards, const selection::RecordFilter& filter,
                 const std::vector<ScannedShard>& scanned, const Total& total,
                 const std::vector<absl::Status>& failed) const {
    const auto object_of = [&filter](const std::string& path, const ExampleRecord& example) {
      Json values;
      for (size_t n = 0; n < example.values.size(); ++n) values.Field(filter.names()[n], example.values[n]);
      return Json().Field("file", path).Field("record", example.record).Raw("values", values.Object()).Object();
    };
    std::vector<std::string> examples, bad, errors, by_step, dropped;
    for (size_t n = 0; n < total.by_step.size(); ++n) {
      by_step.push_back(absl::StrCat(total.by_step[n]));
      std::vector<std::string> of_step;
      ForEachDropped(n, shards, scanned, [&](const std::string& path, const ExampleRecord& example) {
        of_step.push_back(object_of(path, example));
      });
      dropped.push_back(Json::Array(of_step));
    }
    for (size_t i = 0; i < scanned.size(); ++i) {
      for (const ExampleRecord& example : scanned[i].examples) {
        if (examples.size() < examples_) examples.push_back(object_of(shards.good[i].path, example));
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
    Json json;
    json.Field("files", uint64_t{shards.good.size()})
        .Field("records", total.records)
        .Field("matches", total.matches)
        .Raw("matches_by_step", Json::Array(by_step))
        .Field("share", total.share())
        .Field("bad_records", total.bad)
        .Raw("examples", Json::Array(examples))
        .Raw("first_bad_records", Json::Array(bad))
        .Raw("unreadable_files", Json::QuotedArray(errors));
    AddRows(plan::DatasetOf(job), total.rows, &json);
    if (explain_) json.Raw("dropped_by_step", Json::Array(dropped));
    if (!total.groups.empty()) {
      Json groups;
      const v1::Select* const step = plan::GroupingStepOf(plan::DatasetOf(job));
      const bool are_keys = step != nullptr && plan::MakesBins(*step);
      for (const auto& [name, records] : total.groups) groups.Field(are_keys ? OrderedKeyText(name) : name, records);
      json.Raw("groups", groups.Object());
    }
    std::printf("%s\n", json.Object().c_str());
  }

  int Threads() const { return threads_ == 0 ? AvailableCpus() : static_cast<int>(threads_); }

  LocalData data_;
  std::string filter_, set_;
  uint64_t examples_ = 5, threads_ = 0;
  bool json_ = false, explain_ = false;
};

}  // namespace

std::unique_ptr<Command> NewSelect(storage::Storage* storage) { return std::make_unique<Select>(storage); }

}  // namespace penstock::cli
