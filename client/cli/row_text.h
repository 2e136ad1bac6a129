// Prints rows as text, for jobs without images.
#ifndef PENSTOCK_CLIENT_CLI_ROW_TEXT_H_
#define PENSTOCK_CLIENT_CLI_ROW_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/augment/contact_sheet.h"
#include "pipeline/augment/pipeline.h"
#include "pipeline/batch/mix_plan.h"

namespace penstock::cli {

// The mixing of a row in a job that mixes rows.
struct RowMix {
  const batch::MixPlan& plan;
  const augment::SheetPartner* partner;  // null: the row stays unmixed, but its label is soft
};

// Makes a row from `record` and returns its columns, one on each line: name, type with shape, first values. With `mix`,
// mixes the row, and returns the columns of a batch. Returns the errors of Pipeline::MakeRow.
absl::StatusOr<std::string> RowText(const augment::Pipeline& pipeline, std::string_view record, const SampleKey& key,
                                    augment::RowScratch* scratch, const RowMix* mix = nullptr);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_ROW_TEXT_H_
