// Checks the part of a data set's selection that does not depend on its records. pipeline/selection checks the rest.
#ifndef PENSTOCK_CONFIG_SELECT_CHECK_H_
#define PENSTOCK_CONFIG_SELECT_CHECK_H_

#include <vector>

#include "config/text_file.h"
#include "penstock/v1/job.pb.h"

namespace penstock::config {

// Adds the mistakes of dataset.select: empty steps, numbers out of range, wrong grammar of an expression, expressions
// over records without features, too many steps, steps that do not work with other fields of the job. `number` is that
// of the data set. The lines of the mistakes are 0.
void CheckSelect(const v1::JobSpec& job, int number, std::vector<Mistake>* out);

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_SELECT_CHECK_H_
