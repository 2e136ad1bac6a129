// Errors of damaged reads of a record, which show whether two reads returned the same bytes.
#ifndef PENSTOCK_PIPELINE_SOURCES_DAMAGE_H_
#define PENSTOCK_PIPELINE_SOURCES_DAMAGE_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace penstock::sources {

// Returns DataLoss of class Fault::kWrongCrc. `what` describes the damage. `bytes` are the bytes read; the status holds
// their hash.
absl::Status DamagedRead(std::string_view what, std::string_view bytes);

// Returns whether two reads of one record that both failed with DataLoss returned the same bytes. Reads without bytes
// (damaged compressed data, an early end) are equal if their errors are equal.
bool SameDamage(const absl::Status& a, const absl::Status& b);
// Returns `damage` for display, without the hash.
absl::Status DamageToReport(absl::Status damage);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_DAMAGE_H_
