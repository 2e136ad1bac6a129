#include "base/shortage.h"

#include "base/status_mark.h"

namespace penstock {
namespace {

constexpr char kShortageMark[] = "penstock.shortage";

}  // namespace

absl::Status ShortageError(absl::string_view message) { return Marked(kShortageMark, absl::UnavailableError(message)); }

bool IsShortage(const absl::Status& status) { return HasMark(status, kShortageMark); }

}  // namespace penstock
