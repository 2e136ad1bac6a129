// Estimates the gain of a change from measurements. The estimates are approximate upper bounds, for people.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_GAINS_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_GAINS_H_

#include "penstock/v1/explain.pb.h"
#include "server/coordinator/explain/explain_input.h"
#include "server/coordinator/explain/fleet_use.h"

namespace penstock::coordinator {

// Adds the changes that fit out->limit to out->gains, the largest first. `demand` is the rows per second that would
// feed the trainers, which limits every gain; 0: unknown. docs/explain.md explains each factor.
void AddGains(const ExplainInput& input, const SessionInput& trainer, const FleetUse& use, double demand,
              v1::Explanation* out);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_GAINS_H_
