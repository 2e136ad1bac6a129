#include "config/batch_check.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::config {
namespace {

constexpr uint32_t kMaxBatch = 1 << 20;
constexpr int kMaxSizes = 64;
constexpr uint64_t kLastRow = uint64_t{1} << 62;

bool HasBuckets(const v1::JobSpec& job) {
  return std::any_of(job.dataset().begin(), job.dataset().end(), [](const v1::Dataset& dataset) {
    return std::any_of(dataset.select().begin(), dataset.select().end(),
                       [](const v1::Select& step) { return step.has_bucket(); });
  });
}

// Returns what makes groups of rows whose size is batch.size, or "".
std::string GroupsByBatch(const v1::JobSpec& job) {
  if (HasBuckets(job)) return "select.bucket";
  if (!job.has_blend() || job.blend().batches() == v1::Blend::MIXED) return "";
  return absl::StrCat("blend.batches: ", v1::Blend::Batches_Name(job.blend().batches()));
}

}  // namespace

void CheckBatch(const v1::JobSpec& job, std::vector<Mistake>* out) {
  const v1::Batch& batch = job.batch();
  if (batch.size() == 0) {
    out->push_back({0, "batch.size", "the global batch size is missing or 0: batch { size: 256 last: DROP }"});
  } else if (batch.size() > kMaxBatch) {
    out->push_back({0, "batch.size", absl::StrCat("at most ", kMaxBatch)});
  }
  if (batch.change_size() > kMaxSizes) out->push_back({0, "batch.change", absl::StrCat("at most ", kMaxSizes)});
  const uint32_t group = !job.has_mix() ? 1 : job.mix().group() == 0 ? 2 : job.mix().group();
  uint64_t before = 0;
  for (int i = 0; i < batch.change_size(); ++i) {
    const v1::BatchChange& change = batch.change(i);
    const std::string field = absl::StrCat("batch.change[", i, "]");
    if (change.at_rows() <= before || change.at_rows() > kLastRow) {
      out->push_back({0, field + ".at_rows",
                      absl::StrCat(change.at_rows(), "; it must be greater than ", before,
                                   i == 0 ? "" : ", that of the change before", ", and at most 2^62")});
    }
    before = change.at_rows();
    if (change.size() == 0 || change.size() > kMaxBatch) {
      out->push_back({0, field + ".size", absl::StrCat(change.size(), "; it must be from 1 to ", kMaxBatch)});
    } else if (change.size() % group != 0) {
      out->push_back({0, field + ".size",
                      absl::StrCat("rows are mixed in groups of ", group, " (mix.group), which batches of ",
                                   change.size(), " cut; it must be a multiple of the group")});
    }
  }
  const std::string groups = batch.change().empty() ? "" : GroupsByBatch(job);
  if (!groups.empty()) {
    out->push_back({0, "batch.change",
                    absl::StrCat(groups,
                                 " makes groups of batch.size rows, so the size cannot change; leave one of the "
                                 "two out")});
  }
}

}  // namespace penstock::config
