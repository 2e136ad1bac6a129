// What a change would give, by what was measured: estimates for people, at most about.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_GAINS_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_GAINS_H_

#include "penstock/v1/explain.pb.h"
#include "server/coordinator/explain/explain_input.h"
#include "server/coordinator/explain/fleet_use.h"

namespace penstock {

// Adds to out->gains, the largest first, what fits out->limit. `demand`: rows per second that would feed the trainers,
// more than which no change gives; 0: unknown. Where each factor comes from is in docs/explain.md.
void AddGains(const ExplainInput& input, const SessionInput& trainer, const FleetUse& use, double demand,
              v1::Explanation* out);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_GAINS_H_
