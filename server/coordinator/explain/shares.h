// The stages of a row, from reading to the batch: what each takes of it.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_SHARES_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_SHARES_H_

#include "penstock/v1/explain.pb.h"
#include "server/coordinator/explain/explain_input.h"

namespace penstock {

// Means over workers and readers, weighted by their rows, in the order in which a row goes through them. Stages of less
// than a hundredth of the whole are together in "other".
void AddShares(const ExplainInput& input, v1::Explanation* out);

// The stage's part of what a worker's thread does for a row; 0: it is not there.
double WorkerShare(const v1::Explanation& explanation, const std::string& stage);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_SHARES_H_
