// Rows as text, for jobs without pictures.
#ifndef PENSTOCK_CLIENT_CLI_ROW_TEXT_H_
#define PENSTOCK_CLIENT_CLI_ROW_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/augment/contact_sheet.h"
#include "pipeline/augment/pipeline.h"
#include "pipeline/batch/mix_plan.h"

namespace penstock::cli {

// With what a row of a job that mixes is mixed.
struct RowMix {
  const MixPlan& plan;
  const SheetPartner* partner;  // null where it stays as it is; its label is soft all the same
};

// The columns of the row that the pipeline makes of `record`, a line each: name, type with shape, the first values.
// With `mix` they are those of a batch. Errors: those of Pipeline::MakeRow.
absl::StatusOr<std::string> RowText(const Pipeline& pipeline, std::string_view record, const SampleKey& key,
                                    RowScratch* scratch, const RowMix* mix = nullptr);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_ROW_TEXT_H_
