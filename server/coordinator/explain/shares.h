// Computes what fraction of a row's time each stage takes, from reading to the batch.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_SHARES_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_SHARES_H_

#include "penstock/v1/explain.pb.h"
#include "server/coordinator/explain/explain_input.h"

namespace penstock::coordinator {

// Adds the mean time of each stage over workers and readers, weighted by their rows. The order is that in which a row
// passes the stages. Stages that take less than a hundredth of the total are combined in "other".
void AddShares(const ExplainInput& input, v1::Explanation* out);

// Returns the stage's fraction of a worker thread's time for a row, or 0 if there is no such stage.
double WorkerShare(const v1::Explanation& explanation, const std::string& stage);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_SHARES_H_
