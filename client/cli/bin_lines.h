// The parts of a data set that is sorted by a value, as lines.
#ifndef PENSTOCK_CLIENT_CLI_BIN_LINES_H_
#define PENSTOCK_CLIENT_CLI_BIN_LINES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "penstock/v1/job.pb.h"

namespace penstock::cli {

// Returns a line for each part, with its values and its number of records; of many parts, for the first and the last
// ones. `names` are those of ValueBins. `indent` begins each line.
std::string BinLines(const std::vector<std::string>& names, const std::vector<uint64_t>& records,
                     const std::string& indent);

// Returns the same for the parts that `step` makes of values, with the number of parts. `records` has the number of
// records with each value, by the value's key.
std::string BinLinesOf(const v1::Select& step, const std::map<std::string, uint64_t>& records,
                       const std::string& indent);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_BIN_LINES_H_
