// Rows as text, for jobs without pictures.
#ifndef PENSTOCK_CLIENT_CLI_ROW_TEXT_H_
#define PENSTOCK_CLIENT_CLI_ROW_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/augment/pipeline.h"

namespace penstock::cli {

// The columns of the row that the pipeline makes of `record`, a line each: name, type with shape, the first values.
// Errors: those of Pipeline::MakeRow.
absl::StatusOr<std::string> RowText(const Pipeline& pipeline, std::string_view record, const SampleKey& key,
                                    RowScratch* scratch);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_ROW_TEXT_H_
