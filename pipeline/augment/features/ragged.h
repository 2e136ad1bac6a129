// Filters elements of a ragged column's encoding (pipeline/batch/row.h). The encoding must be valid.
#ifndef PENSTOCK_PIPELINE_AUGMENT_FEATURES_RAGGED_H_
#define PENSTOCK_PIPELINE_AUGMENT_FEATURES_RAGGED_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/batch/row.h"

namespace penstock::augment {

// Returns the number of elements.
uint32_t RaggedCount(std::string_view encoded);

// Keeps the elements i with keep[i] != 0, in their order. `keep` has one entry per element.
void KeepRagged(const batch::ColumnSpec& column, const std::vector<char>& keep, std::string* encoded);

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_FEATURES_RAGGED_H_
