#include "client/cli/mix_partners.h"

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "pipeline/batch/mix_job.h"

namespace penstock::cli {

absl::StatusOr<std::vector<std::optional<augment::SheetPartner>>> MixPartners(const loader::LoadJob& job,
                                                                              const plan::PlannedRow& row, int epochs) {
  std::vector<std::optional<augment::SheetPartner>> partners;
  if (!job.spec().has_mix()) return partners;
  PS_ASSIGN_OR_RETURN(const batch::MixPlan mix, batch::MakeMixPlan(job.spec().mix(), job.schema()));
  for (int e = 0; e < epochs; ++e) {
    partners.emplace_back();
    const std::optional<plan::Cursor> at = job.order().PlaceOf(row, static_cast<uint64_t>(e));
    if (!at.has_value()) continue;
    const plan::EpochOrder plan = job.PlanOf(at->epoch);
    const uint64_t own = at->position;
    const uint64_t first = own - own % mix.group, other = first + (mix.group - 1) - (own - first);
    if (first + mix.group > plan.num_positions() || other == own) continue;
    augment::SheetPartner partner;
    const plan::PlannedRow opposite = plan.RowAt(other);
    PS_RETURN_IF_ERROR(job.reader().ReadRecord(opposite.record, &partner.bytes));
    partner.key = loader::SampleKeyOf(opposite);
    partner.draw = batch::DrawMix(mix.law, job.plan_options().seed, at->epoch, first, mix.tensors.pixels.height,
                                  mix.tensors.pixels.width);
    partners.back() = std::move(partner);
  }
  return partners;
}

}  // namespace penstock::cli
