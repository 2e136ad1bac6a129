#include "pipeline/select/pattern.h"

#include <re2/re2.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"

namespace penstock::select {
namespace {

constexpr int64_t kProgramBytes = 1 << 20;
constexpr size_t kQuotedReason = 200;

}  // namespace

Pattern::Pattern(std::unique_ptr<re2::RE2> compiled) : compiled_(std::move(compiled)) {}

Pattern::~Pattern() = default;

absl::StatusOr<std::shared_ptr<const Pattern>> Pattern::Compile(std::string_view pattern) {
  re2::RE2::Options options;
  options.set_max_mem(kProgramBytes);
  options.set_log_errors(false);
  options.set_never_capture(true);
  auto compiled = std::make_unique<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!compiled->ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the pattern is wrong: ", TruncatedUtf8(compiled->error(), kQuotedReason)));
  }
  return std::shared_ptr<const Pattern>(new Pattern(std::move(compiled)));
}

bool Pattern::IsFoundIn(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

}  // namespace penstock::select
