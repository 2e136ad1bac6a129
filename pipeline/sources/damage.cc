#include "pipeline/sources/damage.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/hash.h"

namespace penstock::sources {
namespace {

constexpr char kBytesRead[] = "penstock.bytes_read";

}  // namespace

absl::Status DamagedRead(std::string_view what, std::string_view bytes) {
  absl::Status status = WithFault(Fault::kWrongCrc, absl::DataLossError({what.data(), what.size()}));
  status.SetPayload(kBytesRead, absl::Cord(absl::StrCat(Hash64(bytes))));
  return status;
}

bool SameDamage(const absl::Status& a, const absl::Status& b) {
  const auto of_a = a.GetPayload(kBytesRead), of_b = b.GetPayload(kBytesRead);
  return of_a.has_value() || of_b.has_value() ? of_a == of_b : a == b;
}

absl::Status DamageToReport(absl::Status damage) {
  damage.ErasePayload(kBytesRead);
  return damage;
}

}  // namespace penstock::sources
