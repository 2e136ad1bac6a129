#include "pipeline/augment/value/step_error.h"

#include "base/fault.h"
#include "base/status_mark.h"

namespace penstock {
namespace {

constexpr char kNamesStep[] = "penstock.names_step";

}  // namespace

absl::Status AtStep(std::string_view label, const absl::Status& status) {
  if (status.ok() || HasMark(status, kNamesStep)) return status;
  return Marked(kNamesStep, Prefixed(label, status));
}

}  // namespace penstock
