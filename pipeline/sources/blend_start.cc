#include "pipeline/sources/blend_start.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock::sources {
namespace {

std::string Hex(uint64_t value) { return absl::StrCat(absl::Hex(value, absl::kZeroPad16)); }

uint64_t OrderOfSet(const Snapshot& snapshot, const plan::DataOrder& order, uint32_t set) {
  return order.SetFingerprint(set, snapshot.ContentOfSet(set));
}

}  // namespace

absl::StatusOr<v1::BlendStart> MakeBlendStart(const v1::JobSpec& job, const Snapshot& snapshot,
                                              const plan::DataOrder& order, const plan::SessionState& state) {
  if (!order.has_names()) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job.name(),
                     " has no blend: its data set has no name. A blend can continue a job whose data sets have names"));
  }
  const uint64_t fingerprint = order.Fingerprint(snapshot.Fingerprint());
  if (state.order_fingerprint != fingerprint) {
    return absl::FailedPreconditionError(
        absl::StrCat("the state is not one of job ", job.name(), ": its order fingerprint is ",
                     Hex(state.order_fingerprint), ", the job's is ", Hex(fingerprint),
                     ". Give the job as it was when the state was saved, with the same data roots"));
  }
  if (const plan::BlendStart* const own = order.start();
      own != nullptr &&
      (state.epoch < own->at.epoch || (state.epoch == own->at.epoch && state.position < own->at.position))) {
    return absl::FailedPreconditionError(absl::StrCat("the state is before the start of job ", job.name(),
                                                      ", which continues a blend at epoch ", own->at.epoch,
                                                      ", position ", own->at.position));
  }
  v1::BlendStart start;
  start.set_order(fingerprint);
  start.set_epoch(state.epoch);
  start.set_position(state.position);
  start.set_epoch_rows(order.num_positions());
  const std::vector<plan::SetProgress> progress = order.ProgressAt(state.cursor());
  std::set<std::string> names;
  for (uint32_t set = 0; set < order.sets(); ++set) {
    v1::SetStart* const entry = start.add_sets();
    entry->set_key(order.set_name(set));
    entry->set_rows(progress[set].rows);
    entry->set_order(OrderOfSet(snapshot, order, set));
    names.insert(order.set_name(set));
  }
  for (const v1::SetStart& earlier : job.blend().start().sets()) {
    if (!names.contains(earlier.key())) *start.add_sets() = earlier;
  }
  return start;
}

absl::Status CheckBlendStart(const v1::JobSpec& job, const Snapshot& snapshot, const plan::DataOrder& order) {
  for (const v1::SetStart& entry : job.blend().start().sets()) {
    for (uint32_t set = 0; set < order.sets(); ++set) {
      if (order.set_name(set) != entry.key() || OrderOfSet(snapshot, order, set) == entry.order()) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "dataset[", set, "] '", entry.key(),
          "' is not the one of the blend that the job continues (blend.start): its "
          "files, its selection, order.seed or the kind of shuffle have changed, so its next row is not known. Give it "
          "another name, and it begins with its first row, or restore it"));
    }
  }
  return absl::OkStatus();
}

}  // namespace penstock::sources
