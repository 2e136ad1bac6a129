#include "base/fault.h"

#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr char kPayload[] = "penstock.fault";
constexpr Fault kLast = Fault::kNoFile;

}  // namespace

std::string_view FaultName(Fault fault) {
  switch (fault) {
    case Fault::kOther:
      return "other";
    case Fault::kWrongCrc:
      return "wrong CRC";
    case Fault::kNoExample:
      return "no Example";
    case Fault::kMissingFeature:
      return "missing feature";
    case Fault::kWrongKind:
      return "wrong kind";
    case Fault::kWrongShape:
      return "wrong shape";
    case Fault::kWrongBoxes:
      return "wrong boxes";
    case Fault::kNoImage:
      return "no image";
    case Fault::kTruncatedImage:
      return "truncated image";
    case Fault::kDamagedImage:
      return "damaged image";
    case Fault::kOverLimit:
      return "over a limit";
    case Fault::kNoFile:
      return "no file";
  }
  return "other";
}

absl::Status WithFault(Fault fault, absl::Status status) {
  if (fault == Fault::kOther || status.GetPayload(kPayload).has_value()) return status;
  status.SetPayload(kPayload, absl::Cord(std::string(1, static_cast<char>(fault))));
  return status;
}

Fault FaultOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  if (!payload.has_value() || payload->size() != 1) return Fault::kOther;
  const unsigned char number = static_cast<unsigned char>((*payload)[0]);
  return number <= static_cast<unsigned char>(kLast) ? static_cast<Fault>(number) : Fault::kOther;
}

absl::Status Prefixed(std::string_view prefix, const absl::Status& status) {
  if (status.ok()) return status;
  absl::Status out(status.code(), absl::StrCat(std::string(prefix), ": ", status.message()));
  status.ForEachPayload([&out](absl::string_view type, const absl::Cord& payload) { out.SetPayload(type, payload); });
  return out;
}

}  // namespace penstock
