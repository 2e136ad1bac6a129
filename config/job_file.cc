#include "config/job_file.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "config/batch_check.h"
#include "config/blend_check.h"
#include "config/mix_check.h"
#include "config/select_check.h"

namespace penstock::config {
namespace {

constexpr uint64_t kMaxJobFileBytes = 1 << 20;
constexpr int kMaxFeatures = 256;
constexpr int kMaxOps = 256;

void CheckName(const std::string& name, std::vector<Mistake>* out) {
  if (name.empty()) {
    out->push_back({0, "name", "a job needs a name: name: \"my-job\""});
  } else if (!IsName(name)) {
    out->push_back({0, "name", absl::StrCat("'", name.substr(0, kMaxNameLength), "': ", kNameRule)});
  }
}

// The one source whose records have a format, and nouns for its files and its records.
struct FormatSource {
  v1::RecordFormat format;
  v1::Source::Kind source;
  const char *files, *records;
};
constexpr FormatSource kFormatSources[] = {
    {v1::SAMPLE, v1::Source::TAR, "tar archives", "samples"},
    {v1::JSON, v1::Source::JSONL, "JSONL files", "JSON objects"},
    {v1::LINE, v1::Source::TEXT, "text files", "lines of text"},
    {v1::CSV_ROW, v1::Source::CSV, "CSV files", "rows of fields"},
    {v1::TSV_ROW, v1::Source::TSV, "TSV files", "rows of fields"},
    {v1::ARRAY_ROW, v1::Source::NPY, ".npy files", "rows of an array"},
    {v1::FILE_ROW, v1::Source::MANIFEST, "manifests", "rows that name files"},
};

// Returns whether the files have numbers without a header.
bool HasNumbers(v1::Source::Kind source) {
  return source == v1::Source::UINT16 || source == v1::Source::UINT32 || source == v1::Source::INT32;
}

// Checks that records of the source may have the format. EXAMPLE may be the default.
void CheckFormat(const v1::Dataset& dataset, const std::string& field, std::vector<Mistake>* out) {
  // Numbers have records of the same format as arrays.
  const bool has_rows = HasNumbers(dataset.source()) || dataset.source() == v1::Source::MEGATRON;
  const v1::Source::Kind source = has_rows ? v1::Source::NPY : dataset.source();
  const v1::RecordFormat format = dataset.format();
  if (source == v1::Source::AUTO) return;
  const std::string source_name = v1::Source::Kind_Name(source), format_name = v1::RecordFormat_Name(format);
  for (const FormatSource& known : kFormatSources) {
    if (known.format == format && known.source != source) {
      out->push_back({0, field + ".source",
                      absl::StrCat(source_name, ", but `format` is ", format_name, ", which only ", known.files,
                                   " have; leave one out")});
    }
    const bool has_raw = source == v1::Source::JSONL || source == v1::Source::TEXT;
    if (known.source == source && (format == v1::SEQUENCE_EXAMPLE || (format == v1::RAW && !has_raw))) {
      out->push_back({0, field + ".format",
                      absl::StrCat(format_name, ", but `source` is ", source_name, ", whose records are ",
                                   known.records, "; leave one out")});
    }
  }
}

void CheckManifest(const v1::Dataset& dataset, const std::string& field, std::vector<Mistake>* out) {
  if (!dataset.has_manifest() || dataset.source() == v1::Source::MANIFEST) return;
  out->push_back({0, field + ".manifest", "it is for source: MANIFEST; add that, or leave it out"});
}

void CheckWindow(const v1::Dataset& dataset, const std::string& field, std::vector<Mistake>* out) {
  const v1::Source::Kind source = dataset.source();
  if (!dataset.has_window()) {
    if (!HasNumbers(source)) return;
    out->push_back({0, field + ".window",
                    absl::StrCat("numbers of type ", v1::Source::Kind_Name(source),
                                 " need one, such as window { size: 1025 stride: 1024 }")});
    return;
  }
  if (source != v1::Source::AUTO && source != v1::Source::NPY && !HasNumbers(source)) {
    out->push_back({0, field + ".window",
                    absl::StrCat("it is for arrays (NPY, UINT16, UINT32, INT32), not for ",
                                 v1::Source::Kind_Name(source), "; leave it out, or ",
                                 source == v1::Source::MEGATRON ? "name the type of the numbers as source"
                                                                : "write select { window { size: 24 } }")});
  }
  constexpr uint64_t kMost = uint64_t{1} << 31;
  if (dataset.window().has_end()) {
    if (dataset.window().size() > 0 || dataset.window().stride() > 0) {
      out->push_back({0, field + ".window.end", "it goes without size and stride: a record ends with this number"});
    }
    const int64_t end = dataset.window().end();
    const bool fits = source == v1::Source::INT32    ? end == static_cast<int32_t>(end)
                      : source == v1::Source::UINT16 ? end == static_cast<uint16_t>(end)
                      : source == v1::Source::UINT32 ? end == static_cast<uint32_t>(end)
                                                     : true;
    if (!fits) {
      out->push_back(
          {0, field + ".window.end", absl::StrCat(end, ": no number of type ", v1::Source::Kind_Name(source))});
    }
    return;
  }
  if (dataset.window().size() == 0 || dataset.window().size() >= kMost) {
    out->push_back({0, field + ".window.size", absl::StrCat(dataset.window().size(), ": from 1 to 2^31 - 1 rows")});
  }
  if (dataset.window().stride() >= kMost) {
    out->push_back({0, field + ".window.stride", absl::StrCat(dataset.window().stride(), ": at most 2^31 - 1 rows")});
  }
  const uint64_t width = source == v1::Source::UINT16 ? 2 : 4;
  if (HasNumbers(source) && std::max(dataset.window().size(), dataset.window().stride()) >= kMost / width) {
    out->push_back({0, field + ".window",
                    absl::StrCat("size and stride of ", v1::Source::Kind_Name(source), " are below ", kMost / width,
                                 " numbers (2 GiB)")});
  }
}

// Checks one data set alone.
void CheckDataset(const v1::Dataset& dataset, const std::string& field, std::vector<Mistake>* out) {
  if (dataset.files_size() == 0) {
    out->push_back({0, field + ".files", "no files: give a glob, such as files: \"train-*\""});
  }
  for (int i = 0; i < dataset.files_size(); ++i) {
    if (dataset.files(i).empty()) {
      out->push_back({0, absl::StrCat(field, ".files[", i, "]"), "an empty glob"});
    }
  }
  CheckFormat(dataset, field, out);
  CheckWindow(dataset, field, out);
  CheckManifest(dataset, field, out);
}

void CheckFileNames(const v1::JobSpec& job, const FileNameCheck& check_name, std::vector<Mistake>* out) {
  for (int i = 0; i < job.dataset_size(); ++i) {
    for (int k = 0; k < job.dataset(i).files_size(); ++k) {
      const absl::Status status = check_name(job.dataset(i).files(k));
      if (status.ok()) continue;
      out->push_back({0, absl::StrCat("dataset[", i, "].files[", k, "]"), std::string(status.message())});
    }
  }
}

void CheckOrder(const v1::Order& order, std::vector<Mistake>* out) {
  if (order.repeats() > 65535) out->push_back({0, "order.repeats", "at most 65535"});
  if (order.chunk_records() > (1u << 20)) out->push_back({0, "order.chunk_records", "at most 1048576"});
  if (order.window_chunks() > (1u << 20)) out->push_back({0, "order.window_chunks", "at most 1048576"});
}

// Counts ops, including nested ones.
int CountOps(const google::protobuf::RepeatedPtrField<v1::Op>& ops) {
  int count = ops.size();
  for (const v1::Op& op : ops) count += CountOps(op.random_apply().ops()) + CountOps(op.one_of().ops());
  return count;
}

// Returns whether each data set has features, of its own or of the job.
bool HasFeatures(const v1::JobSpec& job) {
  const auto has_own = [](const v1::Dataset& dataset) { return dataset.features_size() > 0; };
  return job.features_size() > 0 ||
         (job.dataset_size() > 0 && std::all_of(job.dataset().begin(), job.dataset().end(), has_own));
}

// Checks the numbers of features and ops of the job, or of a data set with the field `prefix`.
void CheckCounts(const google::protobuf::RepeatedPtrField<v1::Feature>& features,
                 const google::protobuf::RepeatedPtrField<v1::Op>& ops, const std::string& prefix,
                 std::vector<Mistake>* out) {
  if (features.size() > kMaxFeatures) out->push_back({0, prefix + "features", absl::StrCat("at most ", kMaxFeatures)});
  if (CountOps(ops) > kMaxOps) {
    out->push_back({0, prefix + "ops", absl::StrCat("at most ", kMaxOps, ", including ops inside other ops")});
  }
}

void CheckDatasets(const v1::JobSpec& job, std::vector<Mistake>* out) {
  if (job.dataset_size() == 0) {
    out->push_back({0, "dataset", "a job needs one: dataset { files: \"train-*\" }"});
    return;
  }
  for (int i = 0; i < job.dataset_size(); ++i) CheckDataset(job.dataset(i), absl::StrCat("dataset[", i, "]"), out);
  CheckBlend(job, out);
  for (int i = 0; i < job.dataset_size(); ++i) {
    CheckCounts(job.dataset(i).features(), job.dataset(i).ops(), absl::StrCat("dataset[", i, "]."), out);
  }
  for (int set = 0; set < job.dataset_size(); ++set) CheckSelect(job, set, out);
}

// Checks the caps and the idle expiry.
void CheckShares(const v1::JobSpec& job, std::vector<Mistake>* out) {
  constexpr uint32_t kLeastExpiry = 60;
  const float share = job.caps().cpu_share();
  if (!(share >= 0 && share <= 1)) {
    out->push_back({0, "caps.cpu_share", "a fraction of each worker's CPUs, above 0 and at most 1; 0 means no cap"});
  }
  if (job.idle_expiry_seconds() > 0 && job.idle_expiry_seconds() < kLeastExpiry) {
    out->push_back(
        {0, "idle_expiry_seconds",
         absl::StrCat("at least ", kLeastExpiry, "; with 0 the job is never cancelled for lack of readers")});
  }
}

}  // namespace

std::vector<Mistake> CheckJobSpec(const v1::JobSpec& job) {
  std::vector<Mistake> out;
  CheckName(job.name(), &out);
  CheckDatasets(job, &out);
  if (!HasFeatures(job)) {
    out.push_back({0, "features",
                   "a job needs at least one: features { key: \"image/encoded\" column: \"image\" "
                   "type: BYTES } "
                   "(`penstock init GLOB` writes them from the data)"});
  }
  CheckCounts(job.features(), job.ops(), "", &out);
  CheckOrder(job.order(), &out);
  CheckBatch(job, &out);
  const float bad = job.errors().max_bad_fraction();
  if (!(bad >= 0 && bad <= 1)) out.push_back({0, "errors.max_bad_fraction", "a fraction between 0 and 1"});
  CheckMix(job, &out);
  CheckShares(job, &out);
  return out;
}

std::vector<Mistake> CheckJobText(std::string_view text, const PipelineCheck& check_pipeline, v1::JobSpec* job,
                                  std::vector<Mistake>* warnings, const FileNameCheck& check_name) {
  FieldLines lines;
  std::vector<Mistake> unread;
  std::vector<Mistake> mistakes = ParseText(text, job, &lines, warnings == nullptr ? &unread : warnings);
  if (!mistakes.empty() && lines.empty()) return mistakes;  // the lines of the fields are unknown
  std::vector<Mistake> rules = CheckJobSpec(*job);
  if (check_name != nullptr) CheckFileNames(*job, check_name, &rules);
  // Check features and ops only if the whole text could be read.
  if (mistakes.empty() && check_pipeline != nullptr && HasFeatures(*job)) {
    for (const std::string& problem : check_pipeline(*job)) {
      const size_t colon = problem.find(": ");
      if (colon == std::string::npos) {
        rules.push_back({0, "", problem});
      } else {
        rules.push_back({0, problem.substr(0, colon), problem.substr(colon + 2)});
      }
    }
  }
  AddRules(lines, std::move(rules), &mistakes);
  return mistakes;
}

absl::StatusOr<v1::JobSpec> LoadJobFile(const std::string& path, const PipelineCheck& check_pipeline,
                                        std::vector<std::string>* warnings, const FileNameCheck& check_name) {
  PS_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxJobFileBytes));
  v1::JobSpec job;
  std::vector<Mistake> renamed;
  PS_RETURN_IF_ERROR(MistakesToStatus(path, CheckJobText(text, check_pipeline, &job, &renamed, check_name)));
  for (std::string& line : MistakeLines(path, renamed)) warnings->push_back(std::move(line));
  return job;
}

}  // namespace penstock::config
