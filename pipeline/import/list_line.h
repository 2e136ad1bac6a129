// A line of a list of files.
#ifndef PENSTOCK_PIPELINE_IMPORT_LIST_LINE_H_
#define PENSTOCK_PIPELINE_IMPORT_LIST_LINE_H_

#include <string_view>

#include "pipeline/import/label_names.h"

namespace penstock {

// Parts "path<TAB, space or comma>label", where path and label may hold some of these: taken is the part that gives a
// number or one of `labels` (may be null). Quotes around what a comma parts are removed. False: there are no two parts.
bool SplitListLine(std::string_view line, const LabelNames* labels, std::string_view* path, std::string_view* label);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_LIST_LINE_H_
