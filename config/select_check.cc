#include "config/select_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "pipeline/plan/job_slices.h"
#include "pipeline/select/expression.h"

namespace penstock::config {
namespace {

constexpr int kMostSteps = 64;
constexpr char kNoStep[] = "no step: give one, such as select { filter: \"label < 10\" }";

class SelectCheck {
 public:
  SelectCheck(const v1::Dataset& dataset, int number, std::vector<Mistake>* out)
      : dataset_(dataset), field_(absl::StrCat("dataset[", number, "].select")), out_(out) {}

  void CheckAll() {
    for (int i = 0; i < dataset_.select_size(); ++i) {
      place_ = absl::StrCat(field_, "[", i, "]");
      const bool counts = plan::CountsRecords(dataset_.select(i));
      if (counts) counting_ = i;
      if (!counts && counting_ >= 0 && !dataset_.select(i).has_balance()) {
        Say("", absl::StrCat("it must stand before select[", counting_, "], which counts records"));
      }
      if (balance_ >= 0) Say("", absl::StrCat("it must stand before select[", balance_, "], a balance: the last step"));
      if (dataset_.select(i).has_balance()) {
        if (counting_ >= 0) Say(".balance", "it does not work with steps that count records: use `filter` or `sample`");
        balance_ = i;
      }
      CheckStep(dataset_.select(i));
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
        return CheckBalance(step.balance());
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

  void CheckBalance(const v1::Balance& balance) {
    if (!(balance.power() >= 0 && balance.power() <= 1)) {
      Say(".balance.power",
          absl::StrCat(balance.power(), ": it must be from 0 (equal shares) to 1 (those of the data)"));
    }
    if (!dataset_.name().empty()) {
      Say(".balance",
          absl::StrCat("it works in a job of one data set without a name; this one is named '", dataset_.name(), "'"));
    }
    if (balance.by().empty()) return Say(".balance.by", "an empty expression; give one, such as \"label\"");
    CheckExpression(".balance.by", balance.by());
  }

  void CheckExpression(const std::string& field, const std::string& text) {
    if (dataset_.format() == v1::RAW) return Say(field, "records of format RAW have no features to select by");
    const absl::Status status = select::CheckSyntax(text);
    if (!status.ok()) Say(field, std::string(status.message()));
  }

  void Say(const std::string& field, const std::string& text) { out_->push_back({0, place_ + field, text}); }

  const v1::Dataset& dataset_;
  const std::string field_;
  std::vector<Mistake>* const out_;
  std::string place_;  // the step
  int counting_ = -1;  // the last step that counts records
  int balance_ = -1;   // the last step that makes groups
};

}  // namespace

void CheckSelect(const v1::Dataset& dataset, int number, std::vector<Mistake>* out) {
  SelectCheck(dataset, number, out).CheckAll();
}

}  // namespace penstock::config
