#include "config/blend_check.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"

namespace penstock::config {
namespace {

constexpr int kMaxSets = 1024;
constexpr size_t kMaxNames = 32768;  // bytes of all names, which a trainer gets in one message

// Checks the data sets of a job that has names, or more than one data set.
void CheckNamedSet(const v1::JobSpec& job, int number, std::map<std::string, int>* known, std::vector<Mistake>* out) {
  const v1::Dataset &dataset = job.dataset(number), &first = job.dataset(0);
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
  if (blended && dataset.weight() == 0) {
    out->push_back({0, field + ".weight", "each data set of a blend needs a weight: dataset { weight: 1 ... }"});
  } else if (blended && !(dataset.weight() > 0 && std::isfinite(dataset.weight()))) {
    out->push_back({0, field + ".weight", absl::StrCat(dataset.weight(), "; it must be a positive number")});
  }
  const auto differs = [&](const char* name, bool same) {
    if (!same) out->push_back({0, absl::StrCat(field, ".", name), "it differs from dataset[0]; all must be the same"});
  };
  differs("compression", dataset.compression() == first.compression());
  differs("source", dataset.source() == first.source());
  differs("format", dataset.format() == first.format());
  if (job.dataset_size() > 1 && !dataset.select().empty()) {
    out->push_back({0, field + ".select", "only a job of one data set selects records"});
  }
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
  if (!job.has_blend() && job.dataset_size() == 1 && job.dataset(0).weight() != 0) {
    out->push_back(
        {0, "dataset[0].weight", "it is the share of a data set in a blend; leave it out, or add blend { }"});
  }
  if (job.dataset_size() == 1 && !named && !job.has_blend()) return;
  std::map<std::string, int> known;
  for (int i = 0; i < job.dataset_size(); ++i) CheckNamedSet(job, i, &known, out);
  size_t bytes = 0;
  for (const v1::Dataset& dataset : job.dataset()) bytes += dataset.name().size();
  if (bytes > kMaxNames) {
    out->push_back(
        {0, "dataset", absl::StrCat("the names of all data sets have ", bytes, " bytes; at most ", kMaxNames)});
  }
  if (job.blend().epoch_rows() > (uint64_t{1} << 62)) out->push_back({0, "blend.epoch_rows", "at most 2^62"});
  if (job.blend().epoch_rows() > 0 && job.order().repeats() > 0) {
    out->push_back({0, "order.repeats", "blend.epoch_rows is the length of an epoch; leave one out"});
  }
}

}  // namespace penstock::config
