#include "config/select_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/plan/job_slices.h"
#include "pipeline/plan/record_groups.h"
#include "pipeline/select/expression.h"

namespace penstock::config {
namespace {

constexpr int kMostSteps = 64, kMostSizes = 1024;
constexpr char kNoStep[] = "no step: give one, such as select { filter: \"label < 10\" }";

class SelectCheck {
 public:
  SelectCheck(const v1::JobSpec& job, int number, std::vector<Mistake>* out)
      : job_(job), dataset_(job.dataset(number)), field_(absl::StrCat("dataset[", number, "].select")), out_(out) {}

  void CheckAll() {
    for (int i = 0; i < dataset_.select_size(); ++i) {
      place_ = absl::StrCat(field_, "[", i, "]");
      const v1::Select& step = dataset_.select(i);
      const bool counts = plan::CountsRecords(step), groups = plan::MakesGroups(step);
      if (counts) counting_ = i;
      if (!counts && counting_ >= 0 && !groups) {
        Say("", absl::StrCat("it must stand before select[", counting_, "], which counts records"));
      }
      if (grouping_ >= 0 && counts) {
        Say("", absl::StrCat("a step that counts records does not work with a `", NameOf(dataset_.select(grouping_)),
                             "`: use `filter` or `sample`, before it"));
      } else if (grouping_ >= 0) {
        Say("", absl::StrCat("it must stand before select[", grouping_, "], a `", NameOf(dataset_.select(grouping_)),
                             "`: the last step"));
      }
      if (groups) {
        grouping_ = i;
        CheckPlace(NameOf(step));
      }
      if (rows_ >= 0 && plan::MakesRows(step)) {
        Say("", absl::StrCat("select[", rows_, "], a `", NameOf(dataset_.select(rows_)),
                             "`, makes rows of the records already; a job has one `pack` or `window`"));
      } else if (rows_ >= 0 && !counts) {
        Say("", absl::StrCat("it must stand before select[", rows_, "], a `", NameOf(dataset_.select(rows_)),
                             "`: only steps that count may follow it"));
      }
      if (plan::MakesRows(step)) rows_ = i;
      CheckStep(step);
    }
    place_ = field_;
    if (dataset_.select_size() > kMostSteps) {
      Say("", absl::StrCat("more than ", kMostSteps, " steps; join filters by `and`"));
    }
  }

 private:
  void CheckStep(const v1::Select& step) {
    switch (step.step_case()) {
      case v1::Select::kFilter:
        if (step.filter().empty()) return Say(".filter", "an empty expression; docs/select.md describes it");
        return CheckExpression(".filter", step.filter());
      case v1::Select::kSplit:
        return CheckSplit(step.split());
      case v1::Select::kSample: {
        const double fraction = step.sample().fraction();
        if (!(fraction > 0 && fraction <= 1)) {
          Say(".sample.fraction", absl::StrCat(fraction, ": it must be greater than 0, and at most 1"));
        }
        return;
      }
      case v1::Select::kTake:
        if (step.take() == 0) Say(".take", "0 records; leave the step out, or take at least 1");
        return;
      case v1::Select::kSkip:
        return;
      case v1::Select::kRange:
        if (step.range().has_to() && step.range().to() <= step.range().from()) {
          Say(".range.to",
              absl::StrCat(step.range().to(), ": it must be greater than `from`, which is ", step.range().from()));
        }
        return;
      case v1::Select::kEvery:
        if (step.every().n() == 0) {
          Say(".every.n", "0: it must be at least 1");
        } else if (step.every().offset() >= step.every().n()) {
          Say(".every.offset",
              absl::StrCat(step.every().offset(), ": it must be less than `n`, which is ", step.every().n()));
        }
        return;
      case v1::Select::kBalance:
        if (const double power = step.balance().power(); !(power >= 0 && power <= 1)) {
          Say(".balance.power", absl::StrCat(power, ": it must be from 0 (equal shares) to 1 (those of the data)"));
        }
        return CheckBy(".balance.by", step.balance().by(), "label");
      case v1::Select::kWeights:
        return CheckBy(".weights.by", step.weights().by(), "quality");
      case v1::Select::kSort:
        CheckBins(".sort.bins", step.sort().bins());
        if (step.sort().epochs() > UINT32_MAX)
          Say(".sort.epochs", absl::StrCat(step.sort().epochs(), ": at most 2^32 - 1"));
        return CheckBy(".sort.by", step.sort().by(), "difficulty");
      case v1::Select::kBucket:
        CheckBatchSizes(step.bucket());
        if (job_.order().repeats() > 1) {
          Say(".bucket",
              "with order.repeats, batches would have rows of two passes; leave it out, and read more epochs");
        }
        return CheckBy(".bucket.by", step.bucket().by(), "len(tokens)");
      case v1::Select::kPack:
        return CheckPack(step.pack());
      case v1::Select::kWindow:
        return CheckWindow(step.window());
      case v1::Select::STEP_NOT_SET:
        return Say("", kNoStep);
    }
  }

  void CheckSplit(const v1::Split& split) {
    const double to = split.has_to() ? split.to() : 1;
    if (!(split.from() >= 0 && split.from() < 1)) {
      Say(".split.from", absl::StrCat(split.from(), ": it must be at least 0, and less than 1"));
    } else if (!(to > split.from() && to <= 1)) {
      Say(".split.to",
          absl::StrCat(to, ": it must be greater than `from`, which is ", split.from(), ", and at most 1"));
    }
    if (!split.of().empty()) CheckExpression(".split.of", split.of());
  }

  void CheckPack(const v1::Pack& pack) {
    if (dataset_.format() == v1::RAW) return Say(".pack", "records of format RAW have no features to pack");
    if (pack.length() < 1 || pack.length() > plan::kMaxPackLength) {
      Say(".pack.length", absl::StrCat(pack.length(), ": give the number of values of a row, from 1 to 2^28"));
    }
    if (pack.features().empty()) Say(".pack.features", "none; name the features to pack, such as features: \"tokens\"");
    if (pack.window() > plan::kMaxPackWindow)
      Say(".pack.window", absl::StrCat(pack.window(), ": at most 2^24 records"));
    if (pack.concatenate() && pack.longer() != v1::Pack::FAIL) {
      Say(".pack.longer", "it does not work with `concatenate`, which cuts every record; leave it out");
    }
    if (pack.keep() == v1::PadTo::RANDOM) {
      Say(".pack.keep", "a pack has the same values in each epoch; give FIRST or LAST");
    } else if (pack.keep() != v1::PadTo::FIRST && pack.longer() != v1::Pack::TRUNCATE) {
      Say(".pack.keep", "it needs longer: TRUNCATE");
    }
    if (pack.align() > 1 && pack.concatenate()) {
      Say(".pack.align", "it does not work with `concatenate`, which fills every place of a row");
    } else if (pack.align() > 1 && pack.length() % pack.align() != 0) {
      Say(".pack.align",
          absl::StrCat(pack.align(), ": `length` must be a multiple of it, and ", pack.length(), " is none"));
    }
    if (pack.overlap() > 0 && !pack.concatenate()) Say(".pack.overlap", "it needs concatenate: true");
    if (pack.overlap() > 0 && pack.overlap() >= pack.length()) {
      Say(".pack.overlap", absl::StrCat(pack.overlap(), ": it must be less than `length`, which is ", pack.length()));
    }
  }

  void CheckWindow(const v1::RecordWindow& window) {
    if (dataset_.format() == v1::RAW) return Say(".window", "it does not work with records of format RAW");
    const plan::WindowOptions options = plan::WindowOptionsOf(window);
    if (options.size < 1 || options.size > plan::kMaxWindowRecords) {
      return Say(".window.size",
                 absl::StrCat(options.size, ": give the number of records of a window, from 1 to 2^20"));
    }
    const auto check = [this](const char* field, uint64_t value) {
      if (value < 1 || value > plan::kMaxWindowStep) Say(field, absl::StrCat(value, ": it must be from 1 to 2^32 - 1"));
    };
    check(".window.stride", options.stride);
    check(".window.step", options.step);
    if (!window.by().empty()) CheckExpression(".window.by", window.by());
  }

  // Returns the field of a step that makes groups or rows.
  static const char* NameOf(const v1::Select& step) {
    if (step.has_pack()) return "pack";
    if (step.has_window()) return "window";
    return step.has_balance() ? "balance" : step.has_weights() ? "weights" : step.has_sort() ? "sort" : "bucket";
  }

  // Checks where a step that makes groups stands.
  void CheckPlace(const std::string& name) {
    if (counting_ >= 0) {
      Say("." + name, "it does not work with steps that count records: use `filter` or `sample`");
    }
    if (dataset_.name().empty()) return;
    Say("." + name,
        absl::StrCat("it works in a job of one data set without a name; this one is named '", dataset_.name(), "'"));
  }

  void CheckBatchSizes(const v1::Bucket& bucket) {
    CheckBins(".bucket.bins", bucket.bins());
    if (!plan::HasBatchSizes(bucket)) {
      if (bucket.multiple() > 0 || bucket.cost() != v1::Bucket::LINEAR || bucket.bounds_size() > 0) {
        Say(".bucket", "`cost`, `multiple` and `bounds` are for batches of different sizes: give a budget, or sizes");
      }
      return;
    }
    const uint32_t multiple = std::max(bucket.multiple(), 1u), most = job_.batch().size();
    if (most > 0 && multiple > most) {
      Say(".bucket.multiple",
          absl::StrCat(multiple, ": greater than batch.size, ", most, ", the limit of all batches"));
    }
    const uint32_t group = !job_.has_mix() ? 1 : job_.mix().group() == 0 ? 2 : job_.mix().group();
    if (multiple % group != 0) {
      Say(".bucket.multiple", absl::StrCat(multiple, ": rows are mixed in groups of ", group,
                                           " (mix.group), so it must be a multiple of that"));
    }
    if (bucket.sizes_size() > 0) return CheckBounds(bucket, multiple, most);
    if (!(bucket.budget() > 0) || !std::isfinite(bucket.budget())) {
      Say(".bucket.budget", absl::StrCat(bucket.budget(), ": it must be greater than 0"));
    }
    if (bucket.bounds_size() > 0) Say(".bucket.bounds", "bounds go with sizes, not with a budget; leave one out");
  }

  void CheckBounds(const v1::Bucket& bucket, uint32_t multiple, uint32_t most) {
    if (bucket.budget() != 0 || bucket.bins() != 0 || bucket.cost() != v1::Bucket::LINEAR) {
      Say(".bucket.sizes", "`bounds` and `sizes` take the place of `bins`, `budget` and `cost`; leave those out");
    }
    if (bucket.sizes_size() != bucket.bounds_size() + 1) {
      Say(".bucket.sizes", absl::StrCat(bucket.sizes_size(), " sizes for ", bucket.bounds_size(),
                                        " bounds; give one more: sizes[0] is for the values below bounds[0]"));
    }
    if (bucket.sizes_size() > kMostSizes) Say(".bucket.sizes", absl::StrCat("at most ", kMostSizes));
    for (int i = 0; i < bucket.bounds_size(); ++i) {
      const bool ascends = i == 0 || bucket.bounds(i) > bucket.bounds(i - 1);
      if (ascends && std::isfinite(bucket.bounds(i))) continue;
      Say(absl::StrCat(".bucket.bounds[", i, "]"), absl::StrCat(bucket.bounds(i), ": bounds are ascending numbers"));
    }
    for (int i = 0; i < bucket.sizes_size(); ++i) {
      const uint32_t size = bucket.sizes(i);
      if (size > 0 && size % multiple == 0 && (most == 0 || size <= most)) continue;
      Say(absl::StrCat(".bucket.sizes[", i, "]"),
          absl::StrCat(size, ": a multiple of ", multiple, ", at most batch.size, ", most, ", is expected"));
    }
  }

  void CheckBins(const std::string& field, uint32_t bins) {
    if (bins > plan::RecordGroups::kMaxGroups) {
      Say(field, absl::StrCat(bins, ": at most ", plan::RecordGroups::kMaxGroups));
    }
  }

  void CheckBy(const std::string& field, const std::string& by, const char* example) {
    if (by.empty()) return Say(field, absl::StrCat("an empty expression; give one, such as \"", example, "\""));
    CheckExpression(field, by);
  }

  void CheckExpression(const std::string& field, const std::string& text) {
    if (dataset_.format() == v1::RAW) return Say(field, "records of format RAW have no features to select by");
    const absl::Status status = select::CheckSyntax(text);
    if (!status.ok()) Say(field, std::string(status.message()));
  }

  void Say(const std::string& field, const std::string& text) { out_->push_back({0, place_ + field, text}); }

  const v1::JobSpec& job_;
  const v1::Dataset& dataset_;
  const std::string field_;
  std::vector<Mistake>* const out_;
  std::string place_;  // the step
  int counting_ = -1;  // the last step that counts records
  int grouping_ = -1;  // the last step that makes groups
  int rows_ = -1;      // the last step that makes rows of records
};

}  // namespace

void CheckSelect(const v1::JobSpec& job, int number, std::vector<Mistake>* out) {
  SelectCheck(job, number, out).CheckAll();
}

}  // namespace penstock::config
