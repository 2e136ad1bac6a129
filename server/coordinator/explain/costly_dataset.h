// Finds the data set of a blend whose rows take more time than its share of the rows.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_COSTLY_DATASET_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_COSTLY_DATASET_H_

#include <string>
#include <vector>

#include "server/coordinator/explain/explain_input.h"

namespace penstock::coordinator {

// Returns a sentence about the data set whose part of the workers' computing time exceeds its part of the rows most.
// Returns "" if no data set exceeds it by a tenth of the time. `names` are those of the job's data sets.
std::string CostlyDataset(const std::vector<std::string>& names, const std::vector<const WorkerInput*>& workers);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_COSTLY_DATASET_H_
