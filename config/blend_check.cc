#include "config/blend_check.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/near_name.h"

namespace penstock::config {
namespace {

constexpr int kMaxSets = 1024, kMaxChanges = 16, kMaxStarts = 16384;
constexpr uint64_t kMaxRows = uint64_t{1} << 62;
constexpr size_t kMaxNames = 32768;  // bytes of all names, which a trainer gets in one message

constexpr char kWeightRule[] = "; it must be a number that is not negative";

bool IsWeight(double value) { return value >= 0 && std::isfinite(value); }

// Checks the weight or repeats of a data set of a blend.
void CheckShare(const v1::JobSpec& job, int number, std::vector<Mistake>* out) {
  const v1::Dataset& dataset = job.dataset(number);
  const std::string field = absl::StrCat("dataset[", number, "]");
  if (dataset.has_weight() && dataset.repeats() != 0) {
    out->push_back({0, field + ".repeats", "it stands in the place of `weight`; leave one out"});
  } else if (dataset.repeats() != 0 && job.dataset(0).repeats() == 0) {
    out->push_back({0, field + ".repeats", "dataset[0] has a weight, so each data set needs one: weight: 1"});
  } else if (dataset.repeats() == 0 && job.dataset(0).repeats() != 0) {
    out->push_back({0, field + ".repeats", "dataset[0] has repeats, so each data set needs them: repeats: 1"});
  } else if (dataset.repeats() != 0) {
    if (!(dataset.repeats() > 0 && std::isfinite(dataset.repeats()))) {
      out->push_back({0, field + ".repeats", absl::StrCat(dataset.repeats(), "; it must be a positive number")});
    }
  } else if (!dataset.has_weight()) {
    out->push_back({0, field + ".weight", "each data set of a blend needs a weight: dataset { weight: 1 ... }"});
  } else if (!IsWeight(dataset.weight())) {
    out->push_back({0, field + ".weight", absl::StrCat(dataset.weight(), kWeightRule)});
  }
}

// Adds a mistake if all weights, which are by data set, are 0.
void CheckSomeWeight(const std::map<std::string, double>& weights, const std::string& field,
                     std::vector<Mistake>* out) {
  if (std::any_of(weights.begin(), weights.end(), [](const auto& weight) { return weight.second != 0; })) return;
  out->push_back({0, field, "all weights are 0, so no data set gives rows"});
}

// Checks the weights at the start, and their changes.
void CheckWeights(const v1::JobSpec& job, std::vector<Mistake>* out) {
  std::vector<std::string> names;
  std::map<std::string, double> weights;
  bool has_all = true;
  for (const v1::Dataset& dataset : job.dataset()) {
    names.push_back(dataset.name());
    weights[dataset.name()] = dataset.weight();
    has_all = has_all && dataset.has_weight();
  }
  if (!has_all && job.blend().change().empty()) return;
  if (has_all) CheckSomeWeight(weights, "dataset.weight", out);
  if (job.blend().change_size() > kMaxChanges) {
    out->push_back({0, "blend.change", absl::StrCat("at most ", kMaxChanges)});
  }
  uint64_t end = 0;  // where the change before ends
  for (int i = 0; i < job.blend().change_size(); ++i) {
    const v1::WeightChange& change = job.blend().change(i);
    const std::string field = absl::StrCat("blend.change[", i, "]");
    if (change.at_rows() >= kMaxRows || change.over_rows() >= kMaxRows) {
      out->push_back({0, field, "`at_rows` and `over_rows` are below 2^62"});
    } else if (change.at_rows() < end) {
      out->push_back(
          {0, field + ".at_rows",
           absl::StrCat(change.at_rows(), "; it must be at least ", end, ", where the change before it ends")});
    }
    end = std::min(change.at_rows(), kMaxRows) + std::min(change.over_rows(), kMaxRows);
    if (change.weights().empty()) {
      out->push_back({0, field + ".weights", "none: name a data set, as in weights { key: \"web\" value: 2 }"});
    }
    std::set<std::string> seen;
    for (const v1::SetWeight& set : change.weights()) {
      const std::string& name = set.key();
      if (!seen.insert(name).second) {
        out->push_back({0, field + ".weights", absl::StrCat("two weights of '", name, "'; leave one out")});
      }
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        out->push_back(
            {0, field + ".weights", absl::StrCat("there is no data set '", name, "'", DidYouMean(name, names))});
      }
      if (!IsWeight(set.value())) {
        out->push_back({0, field + ".weights", absl::StrCat(name, ": ", set.value(), kWeightRule)});
      }
      weights[name] = set.value();
    }
    CheckSomeWeight(weights, field + ".weights", out);
  }
}

// Checks the place from which the blend continues another one.
void CheckStart(const v1::JobSpec& job, bool repeats, std::vector<Mistake>* out) {
  const v1::BlendStart& start = job.blend().start();
  const uint64_t epoch_rows = job.blend().epoch_rows(), batch = job.batch().size();
  constexpr char kRemedy[] = "; `penstock continue` writes blend.start";
  const auto add = [&](const std::string& field, const std::string& text) {
    out->push_back({0, "blend.start" + field, text + kRemedy});
  };
  if (start.epoch_rows() == 0 || start.epoch_rows() > kMaxRows) {
    return add(".epoch_rows", absl::StrCat(start.epoch_rows(), "; it must be from 1 to 2^62"));
  }
  if (epoch_rows != 0 && epoch_rows != start.epoch_rows()) {
    add(".epoch_rows", absl::StrCat(start.epoch_rows(), "; it must be blend.epoch_rows, ", epoch_rows));
  }
  if (start.position() > start.epoch_rows()) {
    return add(".position", absl::StrCat(start.position(), "; an epoch has ", start.epoch_rows(), " rows"));
  }
  const bool is_inside = batch > 0 && start.position() % batch != 0 && start.position() != start.epoch_rows();
  if (job.blend().batches() != v1::Blend::MIXED && is_inside) {
    out->push_back({0, "batch.size",
                    absl::StrCat(batch, ": with batches: ", v1::Blend::Batches_Name(job.blend().batches()),
                                 " the blend begins with a whole batch, and it continues a run at position ",
                                 start.position(), "; give a size that divides ", start.position())});
  }
  if (repeats) {
    out->push_back(
        {0, "dataset.repeats",
         absl::StrCat("they are the length of an epoch, and the run that the job continues has its own; give "
                      "weights, and blend.epoch_rows: ",
                      start.epoch_rows())});
  }
  if (start.epoch() >= kMaxRows / start.epoch_rows()) return add(".epoch", "rows are below 2^62");
  const uint64_t rows = start.epoch() * start.epoch_rows() + start.position();
  if (start.sets_size() > kMaxStarts) return add(".sets", absl::StrCat("at most ", kMaxStarts));
  std::set<std::string> seen;
  for (const v1::SetStart& set : start.sets()) {
    if (!IsName(set.key())) add(".sets", absl::StrCat("'", set.key().substr(0, kMaxNameLength), "': ", kNameRule));
    if (!seen.insert(set.key()).second) add(".sets", absl::StrCat("two entries of '", set.key(), "'"));
    if (set.rows() > rows) {
      add(".sets", absl::StrCat(set.key(), ": ", set.rows(), " rows, and the run had ", rows, " before that place"));
    }
  }
}

// Checks the fields of `blend`.
void CheckEpoch(const v1::JobSpec& job, std::vector<Mistake>* out) {
  const v1::Blend& blend = job.blend();
  if (blend.epoch_rows() > kMaxRows) out->push_back({0, "blend.epoch_rows", "at most 2^62"});
  if (blend.epoch_rows() > 0 && job.order().repeats() > 0) {
    out->push_back({0, "order.repeats", "blend.epoch_rows is the length of an epoch; leave one out"});
  }
  const bool repeats = std::any_of(job.dataset().begin(), job.dataset().end(),
                                   [](const v1::Dataset& dataset) { return dataset.repeats() != 0; });
  constexpr char kRepeats[] = "dataset.repeats are the length of an epoch; leave it out";
  if (repeats && blend.epoch_rows() > 0) out->push_back({0, "blend.epoch_rows", kRepeats});
  if (repeats && blend.epoch() != v1::Blend::LONGEST) out->push_back({0, "blend.epoch", kRepeats});
  if (repeats && job.order().repeats() > 0) out->push_back({0, "order.repeats", kRepeats});
  if (repeats && blend.change_size() > 0) {
    out->push_back({0, "blend.change", "data sets with repeats have no weights to change"});
  }
  CheckWeights(job, out);
  if (blend.has_start()) CheckStart(job, repeats, out);
  const uint32_t batch = job.batch().size();
  if (blend.batches() != v1::Blend::MIXED && batch > 0 && blend.epoch_rows() % batch != 0) {
    out->push_back({0, "blend.epoch_rows",
                    absl::StrCat(blend.epoch_rows(), "; with batches: ", v1::Blend::Batches_Name(blend.batches()),
                                 " it must be a multiple of batch.size, ", batch)});
  }
  if (repeats && blend.batches() == v1::Blend::SINGLE) {
    out->push_back({0, "blend.batches",
                    "SINGLE: a pass of a data set may end inside a batch, so give weights, "
                    "not repeats"});
  }
}

// Checks the data sets of a job that has names, or more than one data set.
void CheckNamedSet(const v1::JobSpec& job, int number, std::map<std::string, int>* known, std::vector<Mistake>* out) {
  const v1::Dataset& dataset = job.dataset(number);
  const std::string field = absl::StrCat("dataset[", number, "]");
  const bool blended = job.has_blend();
  if (dataset.name().empty()) {
    out->push_back({0, field + ".name", "each data set of a blend needs a name: dataset { name: \"web\" ... }"});
  } else if (!IsName(dataset.name())) {
    out->push_back({0, field + ".name", absl::StrCat("'", dataset.name().substr(0, kMaxNameLength), "': ", kNameRule)});
  } else if (const auto [same, added] = known->emplace(dataset.name(), number); !added) {
    out->push_back({0, field + ".name",
                    absl::StrCat("'", dataset.name(), "' is also the name of dataset[", same->second,
                                 "]; each data set needs its own")});
  }
  if (blended) CheckShare(job, number, out);
}

}  // namespace

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= kMaxNameLength && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
}

void CheckBlend(const v1::JobSpec& job, std::vector<Mistake>* out) {
  const bool named = std::any_of(job.dataset().begin(), job.dataset().end(),
                                 [](const v1::Dataset& dataset) { return !dataset.name().empty(); });
  if (job.dataset_size() > kMaxSets) out->push_back({0, "dataset", absl::StrCat("at most ", kMaxSets)});
  if (job.dataset_size() > 1 && !job.has_blend()) {
    out->push_back(
        {0, "dataset[1]",
         "several data sets need a blend: add blend { }, and a name and a weight for each data set; files of "
         "one data set are several globs in its `files`"});
    return;
  }
  if (!job.has_blend() && job.dataset_size() == 1 && (job.dataset(0).has_weight() || job.dataset(0).repeats() != 0)) {
    out->push_back({0, job.dataset(0).has_weight() ? "dataset[0].weight" : "dataset[0].repeats",
                    "it is the share of a data set in a blend; leave it out, or add blend { }"});
  }
  if (job.dataset_size() == 1 && !named && !job.has_blend()) {
    const v1::Dataset& only = job.dataset(0);
    if (only.features_size() + only.ops_size() > 0) {
      out->push_back({0, only.features_size() > 0 ? "dataset[0].features" : "dataset[0].ops",
                      "they are for the data sets of a blend; write them at the job's top level"});
    }
    return;
  }
  std::map<std::string, int> known;
  for (int i = 0; i < job.dataset_size(); ++i) CheckNamedSet(job, i, &known, out);
  size_t bytes = 0;
  for (const v1::Dataset& dataset : job.dataset()) bytes += dataset.name().size();
  if (bytes > kMaxNames) {
    out->push_back(
        {0, "dataset", absl::StrCat("the names of all data sets have ", bytes, " bytes; at most ", kMaxNames)});
  }
  if (job.has_blend()) CheckEpoch(job, out);
}

}  // namespace penstock::config
