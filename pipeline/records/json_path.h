// Paths to values of a JSON object: names joined by dots. A backslash before a dot or a backslash makes it a part of a
// name.
#ifndef PENSTOCK_PIPELINE_RECORDS_JSON_PATH_H_
#define PENSTOCK_PIPELINE_RECORDS_JSON_PATH_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock::records {

// Returns the names of a path. Returns InvalidArgument, with the reason, for a backslash before any other character and
// for more than kMaxJsonDepth (json_fields.h) names.
absl::StatusOr<std::vector<std::string>> SplitJsonPath(std::string_view path);

// Returns the path of the member `name` of the object at `path`. "" is the path of the whole record.
std::string JoinJsonPath(std::string_view path, std::string_view name);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_JSON_PATH_H_
