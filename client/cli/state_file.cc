#include "client/cli/state_file.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/temporaries.h"
#include "pipeline/plan/state.h"

namespace penstock::cli {
namespace {

constexpr uint64_t kMaxBytes = 1 << 16;
constexpr uint64_t kMostEpochs = 1 << 30;

}  // namespace

absl::StatusOr<std::optional<SavedState>> LoadStateFile(const std::string& path) {
  RemoveTemporariesOf(path);
  absl::StatusOr<std::string> text = ReadWholeFile(path, kMaxBytes);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  const auto bad = [&](absl::StatusCode code, absl::string_view why) {
    return absl::Status(code, absl::StrCat("--state ", path, ": ", why));
  };
  if (!text.ok()) return bad(text.status().code(), text.status().message());
  if (absl::StripAsciiWhitespace(*text).empty()) {
    return bad(absl::StatusCode::kInvalidArgument,
               "the file is empty, not a state; remove it to start from the beginning");
  }
  const absl::StatusOr<plan::SessionState> state = plan::ParseState(*text);
  if (!state.ok()) return bad(state.status().code(), state.status().message());
  if (state->epoch >= kMostEpochs) {
    return bad(absl::StatusCode::kInvalidArgument,
               absl::StrCat("epoch ", state->epoch,
                            " is more than a run can reach; remove the file to start from the beginning"));
  }
  return SavedState{.text = *std::move(text), .epoch = state->epoch};
}

}  // namespace penstock::cli
