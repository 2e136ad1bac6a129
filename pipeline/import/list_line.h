// A line of a list of files.
#ifndef PENSTOCK_PIPELINE_IMPORT_LIST_LINE_H_
#define PENSTOCK_PIPELINE_IMPORT_LIST_LINE_H_

#include <string_view>

#include "pipeline/import/label_names.h"

namespace penstock::imports {

// Splits "path<TAB, space or comma>label", where path and label may contain such separators. Chooses the split whose
// label is a number or one of `labels` (may be null). Removes quotes around parts that a comma separates. Returns false
// if there are not two parts.
bool SplitListLine(std::string_view line, const LabelNames* labels, std::string_view* path, std::string_view* label);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_LIST_LINE_H_
