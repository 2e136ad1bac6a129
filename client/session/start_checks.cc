#include "client/session/start_checks.h"

#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace penstock::client {
namespace {

absl::Status CheckGroups(const StartCheck& check, const plan::Steps& steps) {
  if (!check.format->mix.has_value()) return absl::OkStatus();
  const uint64_t group = check.format->mix->plan.group, world_size = steps.world_size();
  const auto& batches = steps.sizes().batches;
  std::vector<uint64_t> sizes = {batches == nullptr ? steps.sizes().first : batches->cut().multiple()};
  for (const plan::SizeChange& change : steps.sizes().changes) sizes.push_back(change.size);
  for (const uint64_t size : sizes) {
    if (size % (group * world_size) == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "job ", check.job, " mixes rows in groups of ", group, " (mix.group), and a global batch of ", size,
        " rows over ", world_size, world_size == 1 ? " rank" : " ranks", " gives ", size / world_size,
        " rows to each, which cuts groups; choose a ", batches == nullptr ? "batch size" : "bucket.multiple",
        " that is a multiple of ", group * world_size));
  }
  return absl::OkStatus();
}

// If the rows of a batch belong together, a step of a start inside a batch must not reach into the next one.
absl::Status CheckSingle(const StartCheck& check, const plan::Steps& steps, const plan::Cursor& start) {
  const uint64_t position = start.position;
  if (const auto batches = check.order->batches(); batches != nullptr) {
    const plan::BatchSequence::Batch batch = batches->WithPosition(start.epoch, position);
    if (batch.position == position) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("the state's position ", position, " is inside the batch of rows ", batch.position, " to ",
                     batch.position + batch.rows - 1, " of its epoch, and a state is between two batches"));
  }
  const uint64_t batch = check.order->single_batch();
  if (batch == 0) return absl::OkStatus();
  const uint64_t inside = position % batch;
  const uint64_t size = steps.sizes().first;  // such a job has no changes of it
  if (inside % size == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the state's position ", position, " is row ", inside, " of a batch of ", batch,
      " rows that belong together (blend.batches: SINGLE, or `bucket`), so batches of ", size,
      " rows from there on would have rows of two; choose a batch size that divides ", std::gcd(inside, batch)));
}

std::string PlaceText(const plan::Cursor& place) {
  return absl::StrCat("epoch ", place.epoch, ", position ", place.position);
}

// If the job continues a blend, the start is the place from which it does, with a state of that blend, or a later one.
absl::Status CheckBlendStart(const StartCheck& check, const plan::Cursor& start,
                             const std::optional<plan::SessionState>& saved) {
  const plan::BlendStart* const from = check.order->start();
  if (from == nullptr) return absl::OkStatus();
  const bool is_before =
      start.epoch < from->at.epoch || (start.epoch == from->at.epoch && start.position < from->at.position);
  const bool is_of_it = saved.has_value() && saved->order_fingerprint == from->order;
  if (!is_before && (!is_of_it || start == from->at)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "job ", check.job, " continues another blend at ", PlaceText(from->at), ", and ",
      saved.has_value() ? absl::StrCat("the saved state is at ", PlaceText(start)) : "there is no state to continue",
      "; give the state of that place or a later one of this job, or make the job for your state with `penstock "
      "continue`"));
}

}  // namespace

absl::Status CheckStart(const StartCheck& check, const plan::Steps& steps, const plan::Cursor& start,
                        const std::optional<plan::SessionState>& saved) {
  PS_RETURN_IF_ERROR(CheckGroups(check, steps));
  PS_RETURN_IF_ERROR(CheckBlendStart(check, start, saved));
  if (!saved.has_value()) return absl::OkStatus();
  const plan::BlendStart* const from = check.order->start();
  const bool is_of_other_blend = from != nullptr && saved->order_fingerprint == from->order;
  plan::SessionState current = *saved;
  current.version = plan::kStateVersion;
  if (!is_of_other_blend) current.order_fingerprint = check.order_fingerprint;
  if (is_of_other_blend && saved->pipeline_fingerprint != check.pipeline_fingerprint && !check.accept_new_pipeline) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", check.job,
        " continues another blend, and makes rows by other features or ops than it: they have "
        "changed, or a data set with features or ops of its own has come or gone. Go on with them "
        "(accept_new_pipeline, on the command line --accept-new-pipeline), or make the job with those of the run"));
  }
  current.pipeline_fingerprint = check.pipeline_fingerprint;
  PS_RETURN_IF_ERROR(plan::CheckResume(*saved, current, check.accept_new_pipeline));
  if (saved->position > steps.positions()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the state's position ", saved->position, " is beyond the epoch's ", steps.positions(), " rows"));
  }
  if (saved->position == steps.positions()) return absl::OkStatus();
  PS_RETURN_IF_ERROR(CheckSingle(check, steps, {saved->epoch, saved->position}));
  if (!check.format->mix.has_value()) return absl::OkStatus();
  const uint64_t group = check.format->mix->plan.group;
  if (saved->position % group == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the state's position ", saved->position, " is inside a group of ", group, " rows, which job ", check.job,
      " mixes (mix.group): the state was saved without them; begin at an epoch's start, or go "
      "on with the job as it was"));
}

}  // namespace penstock::client
