#include "config/mix_check.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/near_name.h"

namespace penstock::config {
namespace {

constexpr uint32_t kMaxGroup = 65536;
constexpr uint32_t kMaxClasses = 1u << 24;

void CheckColumn(const v1::JobSpec& job, const std::string& field, const std::string& said, const std::string& missing,
                 std::vector<Mistake>* out) {
  std::vector<std::string> columns;
  for (const v1::Feature& feature : job.features()) {
    columns.push_back(feature.column().empty() ? feature.key() : feature.column());
  }
  const std::string column = said.empty() ? missing : said;
  if (columns.empty() || std::find(columns.begin(), columns.end(), column) != columns.end()) return;
  const std::string near = DidYouMean(column, columns);
  out->push_back({0, field,
                  absl::StrCat("there is no column '", column, "'", said.empty() ? " (the default)" : "", near,
                               "; the features' columns are: ", absl::StrJoin(columns, ", "))});
}

// Checks the names of the ops of the job, or of a data set with the field `prefix`.
void CheckOpNames(const google::protobuf::RepeatedPtrField<v1::Op>& ops, const std::string& prefix,
                  std::vector<Mistake>* out) {
  for (int i = 0; i < ops.size(); ++i) {
    if (ops[i].name() != "mix") continue;
    out->push_back({0, absl::StrCat(prefix, "ops[", i, "].name"),
                    "'mix' names the draws of the job's mix; both would draw the same numbers"});
  }
}

}  // namespace

void CheckMix(const v1::JobSpec& job, std::vector<Mistake>* out) {
  if (!job.has_mix()) return;
  const v1::Mix& mix = job.mix();
  const auto is_alpha = [](float alpha) { return alpha >= 0 && std::isfinite(alpha); };
  const auto is_fraction = [](float value) { return value >= 0 && value <= 1; };
  if (!is_alpha(mix.mixup_alpha())) out->push_back({0, "mix.mixup_alpha", "must be finite and not below 0"});
  if (!is_alpha(mix.cutmix_alpha())) out->push_back({0, "mix.cutmix_alpha", "must be finite and not below 0"});
  if (mix.mixup_alpha() == 0 && mix.cutmix_alpha() == 0) {
    out->push_back({0, "mix", "does nothing: give mixup_alpha (0.2 is usual), cutmix_alpha (1 is usual), or both"});
  }
  if (mix.has_probability() && !is_fraction(mix.probability())) {
    out->push_back({0, "mix.probability", "must be from 0 to 1"});
  }
  if (!is_fraction(mix.cutmix_share())) {
    out->push_back({0, "mix.cutmix_share", "must be from 0 to 1; 0 means 0.5"});
  } else if (mix.cutmix_share() != 0 && (mix.mixup_alpha() == 0 || mix.cutmix_alpha() == 0)) {
    out->push_back({0, "mix.cutmix_share", "is for jobs with both mixup_alpha and cutmix_alpha"});
  }
  if (!(mix.smoothing() >= 0 && mix.smoothing() < 1)) {
    out->push_back({0, "mix.smoothing", "must be from 0 to below 1"});
  }
  if (mix.classes() == 1 || mix.classes() > kMaxClasses) {
    out->push_back({0, "mix.classes", absl::StrCat("must be from 2 to ", kMaxClasses, ", not ", mix.classes())});
  }
  const uint32_t group = mix.group() == 0 ? 2 : mix.group(), batch = job.batch().size();
  if (group == 1 || group > kMaxGroup) {
    out->push_back({0, "mix.group", absl::StrCat("must be from 2 to ", kMaxGroup, " rows, not ", group)});
  } else if (batch % group != 0) {
    out->push_back({0, mix.group() == 0 ? "mix" : "mix.group",
                    absl::StrCat("rows are mixed in groups of ", group, ", which a batch.size of ", batch,
                                 " cuts; it must be a multiple of the group (and of group times world size)")});
  }
  CheckOpNames(job.ops(), "", out);
  for (int i = 0; i < job.dataset_size(); ++i)
    CheckOpNames(job.dataset(i).ops(), absl::StrCat("dataset[", i, "]."), out);
  CheckColumn(job, mix.image().empty() ? "mix" : "mix.image", mix.image(), "image", out);
  CheckColumn(job, mix.label().empty() ? "mix" : "mix.label", mix.label(), "label", out);
}

}  // namespace penstock::config
