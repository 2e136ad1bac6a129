#include "tests/faults/runbook/page.h"

#include <optional>
#include <regex>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace penstock::faults {
namespace {

constexpr const char* kPages[] = {"docs/runbook.md", "docs/runbook-hosts.md", "docs/runbook-security.md"};

std::string OneBlank(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  return absl::StrJoin(words, " ");
}

std::string TestOf(absl::string_view heading) {
  std::string name;
  bool begins = true;
  for (const char c : heading) {
    if (c == '\'') continue;  // "workers'" is one word
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      name += begins ? absl::ascii_toupper(static_cast<unsigned char>(c)) : c;
    }
    begins = !absl::ascii_isalnum(static_cast<unsigned char>(c));
  }
  return name;
}

// Text outside of code, and the code after it.
struct Span {
  std::string before, code;
};

std::vector<Span> Spans(absl::string_view line) {
  std::vector<Span> spans;
  while (true) {
    const size_t begin = line.find('`');
    if (begin == absl::string_view::npos) return spans;
    const absl::string_view fence = absl::StartsWith(line.substr(begin), "``") ? "``" : "`";
    const size_t end = line.find(fence, begin + fence.size());
    if (end == absl::string_view::npos) return spans;
    const absl::string_view code = line.substr(begin + fence.size(), end - begin - fence.size());
    spans.push_back({std::string(line.substr(0, begin)), std::string(absl::StripAsciiWhitespace(code))});
    line.remove_prefix(end + fence.size());
  }
}

bool IsCommand(const std::string& code) {
  return absl::StartsWith(code, "penstock ") && !absl::StrContains(code, ": ");
}

absl::Status AddLine(absl::string_view line, Situation* situation) {
  const auto error = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(situation->page, ", ", situation->heading, ": ", what));
  };
  const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits("**: ", 1));
  if (parts.size() != 2) return error(absl::StrCat("a line without a kind: ", line));
  std::vector<Claim>* claims = nullptr;
  if (parts[0] == "- **Symptom") {
    claims = &situation->symptom;
  } else if (parts[0] == "- **Check") {
    claims = &situation->check;
  } else if (parts[0] == "- **Confirm") {
    claims = &situation->confirm;
  } else if (parts[0] != "- **Action") {
    return error(absl::StrCat("no kind of line: ", parts[0]));
  }
  std::optional<Claim> source;
  for (const Span& span : Spans(parts[1])) {
    if (claims == nullptr) {
      if (IsCommand(span.code)) situation->actions.push_back(span.code);
      continue;
    }
    static const std::regex alert("Penstock[A-Z]\\w+");
    if (std::regex_match(span.code, alert)) {
      situation->alerts.push_back(span.code);
      continue;
    }
    if (IsCommand(span.code)) {
      source = Claim{.command = span.code};
      claims->push_back(*source);
      continue;
    }
    if (absl::StrContains(span.before, "trainer prints")) source = Claim{.source = Claim::Source::kTrainer};
    if (absl::StrContains(span.before, "log prints")) source = Claim{.source = Claim::Source::kLog};
    if (!source.has_value()) return error(absl::StrCat("words without a source: ", span.code));
    Claim claim = *source;
    claim.words = span.code;
    claim.absent = absl::StrContains(span.before, "no longer");
    // The command's first words take its place.
    if (!claims->empty() && claims->back().words.empty() && claims->back().command == claim.command) claims->pop_back();
    claims->push_back(std::move(claim));
  }
  return absl::OkStatus();
}

}  // namespace

bool Prints(absl::string_view output, absl::string_view words) {
  static const std::regex any("\\.\\.\\.|\\b(NAME|FILE|FOLDER|ADDRESS|HOST|N|SIZE|TIME|DATE)\\b");
  const std::string pattern = OneBlank(words);
  const std::vector<std::string> pieces(std::sregex_token_iterator(pattern.begin(), pattern.end(), any, -1),
                                        std::sregex_token_iterator());
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    const std::string text = OneBlank(line);
    size_t at = 0;
    for (const std::string& piece : pieces) {
      at = text.find(piece, at);
      if (at == std::string::npos) break;
      at += piece.size();
    }
    if (at != std::string::npos) return true;
  }
  return false;
}

absl::StatusOr<std::vector<Situation>> ReadRunbook() {
  std::vector<Situation> situations;
  for (const char* const page : kPages) {
    PS_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(page));
    std::string line;  // current item, with the lines that continue it
    bool inside = false;
    const auto end_line = [&]() -> absl::Status {
      const std::string whole = std::exchange(line, "");
      return whole.empty() ? absl::OkStatus() : AddLine(whole, &situations.back());
    };
    for (const absl::string_view next : absl::StrSplit(text, '\n')) {
      if (absl::StartsWith(next, "#")) {
        PS_RETURN_IF_ERROR(end_line());
        inside = absl::StartsWith(next, "### ");
        if (!inside) continue;
        const std::string heading(absl::StripPrefix(next, "### "));
        situations.push_back({.page = page, .heading = heading, .test = TestOf(heading)});
      } else if (inside && absl::StartsWith(next, "- **")) {
        PS_RETURN_IF_ERROR(end_line());
        line = std::string(next);
      } else if (inside && !next.empty()) {
        absl::StrAppend(&line, " ", absl::StripAsciiWhitespace(next));
      }
    }
    PS_RETURN_IF_ERROR(end_line());
  }
  return situations;
}

}  // namespace penstock::faults
