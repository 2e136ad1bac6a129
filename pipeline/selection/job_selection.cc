#include "pipeline/selection/job_selection.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/status_place.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/plan/job_slices.h"
#include "pipeline/plan/record_groups.h"
#include "pipeline/plan/record_windows.h"
#include "pipeline/selection/record_filter.h"
#include "pipeline/sources/record_buffer.h"
#include "pipeline/sources/shard_records.h"

namespace penstock::selection {
namespace {

// Changes if a release selects other records for the same description.
constexpr char kIdVersion[] = "selection 1";
constexpr char kLeaveOut[] =
    "the selection cannot be evaluated for it; with errors { policy: MASK } or SUBSTITUTE such records are left out";

uint64_t IdOf(const v1::Selection& selection) {
  std::string text = kIdVersion;
  const auto add = [&text](const std::string& part) { absl::StrAppend(&text, " ", part.size(), ":", part); };
  for (const v1::Select& step : selection.steps()) {
    if (plan::CountsRecords(step)) continue;  // these do not concern indexes
    add(absl::StrCat(step.has_filter() ? "filter " : "", StepText(step)));
  }
  for (const v1::SelectedFeature& feature : selection.features()) {
    add(feature.key());
    add(absl::StrCat(static_cast<int>(feature.type()), feature.sequence() ? " sequence" : ""));
    if (feature.element_bytes() > 0) add(absl::StrCat("numbers of ", feature.element_bytes()));
  }
  add(absl::StrCat(static_cast<int>(selection.format()), selection.keep_out_bad() ? " keeps out bad" : ""));
  return Hash64(text);
}

// Collects the groups of a shard's records.
class GroupNames {
 public:
  absl::Status Add(const std::string& name) {
    of_records_.push_back(numbers_.try_emplace(name, static_cast<uint32_t>(numbers_.size())).first->second);
    return plan::CheckLimits(numbers_.size(), 0);
  }

  // Numbers the groups by their names.
  sources::IndexGroups Take() {
    sources::IndexGroups groups;
    std::vector<uint32_t> sorted(numbers_.size());
    for (const auto& [name, number] : numbers_) {
      sorted[number] = static_cast<uint32_t>(groups.names.size());
      groups.names.push_back(name);
    }
    groups.of_records = std::move(of_records_);
    for (uint32_t& group : groups.of_records) group = sorted[group];
    return groups;
  }

 private:
  std::map<std::string, uint32_t> numbers_;  // by name; in the order of their first records
  std::vector<uint32_t> of_records_;
};

class Filters final : public sources::RecordSelection {
 public:
  Filters(uint64_t id, bool keep_out_bad, RecordFilter filter)
      : id_(id), keep_out_bad_(keep_out_bad), filter_(std::move(filter)) {}

  uint64_t id() const override { return id_; }

  absl::StatusOr<sources::SelectedRecords> Select(const sources::ShardReader& reader,
                                                  const std::stop_token& stop) const override {
    if (reader.index().record_count() > UINT32_MAX) {
      return absl::ResourceExhaustedError(
          absl::StrCat(reader.path(), ": a selection reads shards of up to ", UINT32_MAX, " records"));
    }
    const auto features = filter_.FeaturesToRead(reader.index().kind().container);
    sources::SelectedRecords selected;
    GroupNames groups;
    std::vector<uint32_t> lengths;  // if the selected records are packed
    std::optional<plan::WindowCutter> windows;
    if (filter_.windows() != nullptr) windows.emplace(*filter_.windows());
    RecordFilter::Scratch scratch;
    sources::RecordBuffer buffer;
    PS_RETURN_IF_ERROR(sources::ForEachRecord(
        reader, features.get(), [&](uint64_t k, const absl::StatusOr<std::string_view>& record) -> absl::Status {
          if (stop.stop_requested()) return absl::CancelledError(absl::StrCat(reader.path(), ": stopped"));
          // A wrong read does not prove that the file is damaged.
          const absl::StatusOr<std::string_view> read =
              record.ok()
                  ? record
                  : reader.ReadRecordPastCaches(k, buffer.Get(reader.StoredBytes(k, features.get())), features.get());
          if (!read.ok() && !absl::IsDataLoss(read.status())) return read.status();
          const absl::StatusOr<bool> matches = read.ok() ? filter_.Matches(*read, &scratch) : read.status();
          if (!matches.ok()) {
            if (windows) windows->EndRun();  // a window with a gap would show neighbors that are none
            return Bad(reader, k, read.ok(), matches.status(), &selected);
          }
          if (!*matches) return absl::OkStatus();
          if (const absl::Status whole = CheckCutRecord(reader, k, scratch.length); !whole.ok()) {
            return Bad(reader, k, true, whole, &selected);
          }
          selected.numbers.push_back(static_cast<uint32_t>(k));
          if (filter_.packing() != nullptr) lengths.push_back(scratch.length);
          if (windows) windows->Add(scratch.run);
          if (!filter_.makes_groups()) return absl::OkStatus();
          const absl::Status added = groups.Add(scratch.group);
          return added.ok() ? added : AtPlace(reader.path(), added);
        }));
    selected.groups = groups.Take();
    if (windows) selected.windows = std::make_shared<const plan::RecordWindows>(windows->Take());
    if (const plan::PackOptions* const packing = filter_.packing()) {
      absl::StatusOr<plan::RecordPacks> packs = plan::PackRecords(lengths, *packing);
      if (!packs.ok()) return AtPlace(reader.path(), packs.status());
      selected.is_packed = true;
      selected.packs = *std::move(packs);
    }
    return selected;
  }

 private:
  // Returns InvalidArgument if record k, with `length` values, is in several packed rows and so large that reading all
  // of it for each of them would take too long.
  absl::Status CheckCutRecord(const sources::ShardReader& reader, uint64_t k, uint32_t length) const {
    constexpr uint64_t kMostBytes = uint64_t{16} << 20;
    const plan::PackOptions* const packing = filter_.packing();
    const bool is_cut = packing != nullptr && length > packing->length &&
                        (packing->concatenate || packing->longer == plan::PackOptions::Longer::kSplit);
    const uint64_t bytes = sources::ShardReader::DataBytes(reader.index(), k, nullptr);
    if (!is_cut || bytes <= kMostBytes) return absl::OkStatus();
    return WithFault(
        Fault::kOverLimit,
        absl::InvalidArgumentError(absl::StrCat(
            "it has ", bytes, " bytes, and each of its packed rows reads them all; cut records of more than ",
            kMostBytes, " bytes first, or set pack.longer to DROP or TRUNCATE")));
  }

  // The errors of a read name the place already.
  absl::Status Bad(const sources::ShardReader& reader, uint64_t k, bool was_read, const absl::Status& error,
                   sources::SelectedRecords* selected) const {
    const absl::Status placed = was_read ? AtPlace(absl::StrCat(reader.path(), ", record ", k), error) : error;
    if (!keep_out_bad_) {
      const absl::Status failed(placed.code(), absl::StrCat(placed.message(), "; ", kLeaveOut));
      return WithFault(FaultOf(placed), failed);
    }
    if (selected->bad++ == 0) selected->first_bad = placed;
    return absl::OkStatus();
  }

  const uint64_t id_;
  const bool keep_out_bad_;
  const RecordFilter filter_;
};

}  // namespace

std::string PlaceOf(int set) { return absl::StrCat("dataset[", set, "].select"); }

absl::StatusOr<std::vector<Step>> ParseSteps(const google::protobuf::RepeatedPtrField<v1::Select>& steps,
                                             const std::string& place, const FeatureTypes& types) {
  std::vector<Step> parsed;
  int counting = -1;  // the last step that counts records
  for (int i = 0; i < steps.size(); ++i) {
    if (plan::CountsRecords(steps[i])) {
      counting = i;
      continue;
    }
    if (counting >= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, "[", i, "]: it must stand before select[", counting, "], which counts records"));
    }
    PS_ASSIGN_OR_RETURN(Step step, Step::Parse(steps[i], absl::StrCat(place, "[", i, "]"), types));
    parsed.push_back(std::move(step));
  }
  return parsed;
}

absl::StatusOr<v1::Selection> MakeSelection(storage::Storage* storage, const v1::JobSpec& job, int set,
                                            const std::vector<std::string>& paths) {
  const v1::Dataset& dataset = job.dataset(set);
  v1::Selection selection;
  if (dataset.select().empty()) return selection;
  PS_ASSIGN_OR_RETURN(const FeatureTypes types, FeatureTypes::Find(storage, plan::JobOfSet(job, set), paths));
  PS_ASSIGN_OR_RETURN(const std::vector<Step> steps, ParseSteps(dataset.select(), PlaceOf(set), types));
  *selection.mutable_steps() = dataset.select();
  for (const Step& step : steps) {
    PS_RETURN_IF_ERROR(types.CheckSameTypes(step.operands()));
    types.AddTo(step.operands(), &selection);
  }
  selection.set_keep_out_bad(job.errors().policy() != v1::FAIL);
  return selection;
}

absl::StatusOr<std::shared_ptr<const sources::RecordSelection>> CreateSelection(const v1::Selection& selection) {
  const FeatureTypes types(selection);
  PS_ASSIGN_OR_RETURN(std::vector<Step> steps, ParseSteps(selection.steps(), "dataset.select", types));
  PS_ASSIGN_OR_RETURN(RecordFilter filter, RecordFilter::Create(std::move(steps), types));
  return std::make_shared<const Filters>(IdOf(selection), selection.keep_out_bad(), std::move(filter));
}

absl::StatusOr<sources::IndexOptions> WithSelection(sources::IndexOptions options, const v1::Selection& selection) {
  const auto counts = [](const v1::Select& step) { return plan::CountsRecords(step); };
  if (std::all_of(selection.steps().begin(), selection.steps().end(), counts)) return options;
  PS_ASSIGN_OR_RETURN(options.selection, CreateSelection(selection));
  return options;
}

absl::Status NothingSelected(int set, uint64_t records, size_t files, const std::string& reason) {
  return absl::InvalidArgumentError(absl::StrCat(
      PlaceOf(set), ": keeps none of the ", records, records == 1 ? " record" : " records", " in ", files,
      files == 1 ? " file" : " files", "; ", reason.empty() ? "`penstock select` shows what each step keeps" : reason));
}

}  // namespace penstock::selection
