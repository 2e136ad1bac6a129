#include "client/cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace penstock::cli {
namespace {

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string Count(uint64_t n) {
  std::string digits = absl::StrCat(n);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string Count(uint64_t n, std::string_view noun) {
  return absl::StrCat(Count(n), " ", std::string(noun), n == 1 ? "" : "s");
}

std::string HumanSeconds(double seconds) {
  if (seconds < 1) return absl::StrFormat("%.0f ms", seconds * 1000);
  if (seconds < 120) return absl::StrFormat("%.1f s", seconds);
  const auto minutes = static_cast<int64_t>(std::llround(seconds / 60));
  if (minutes < 60) return absl::StrFormat("%d min", minutes);
  return absl::StrFormat("%d h %02d min", minutes / 60, minutes % 60);
}

Table::Table(std::vector<std::string> header, std::vector<size_t> right) : right_(header.size(), false) {
  for (const size_t column : right) right_[column] = true;
  rows_.push_back(std::move(header));
}

void Table::Add(std::vector<std::string> row) {
  row.resize(right_.size());
  rows_.push_back(std::move(row));
}

std::string Table::Text() const {
  std::vector<size_t> widths(right_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - row[c].size(), ' ');
      absl::StrAppend(&line, c == 0 ? "" : "  ", right_[c] ? pad : "", row[c], right_[c] ? "" : pad);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    absl::StrAppend(&out, line, "\n");
  }
  return out;
}

std::string Wrapped(std::string_view text, size_t width, size_t indent) {
  std::string out, line;
  const std::string start = absl::StrCat("\n", std::string(indent, ' '));
  for (const absl::string_view paragraph : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    if (!out.empty() || !line.empty()) {
      absl::StrAppend(&out, line, start);
      line = std::string();
    }
    size_t used = out.empty() ? 0 : indent;
    for (const absl::string_view word : absl::StrSplit(paragraph, ' ', absl::SkipEmpty())) {
      if (!line.empty() && used + line.size() + 1 + word.size() > width) {
        absl::StrAppend(&out, line, start);
        line.clear();
        used = indent;
      }
      absl::StrAppend(&line, line.empty() ? "" : " ", word);
    }
  }
  return out + line;
}

void PrintWarning(const std::string& text) { std::fprintf(stderr, "warning: %s\n", text.c_str()); }

bool IsTerminal(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

ProgressBar::ProgressBar(std::string what) : what_(std::move(what)), terminal_(IsTerminal(STDERR_FILENO)) {}

void ProgressBar::Update(double fraction, const std::string& note) {
  constexpr int kWidth = 30;
  constexpr double kRedrawSeconds = 0.1;
  const double now = SteadySeconds();
  if (!terminal_ || (drawn_ && now - last_draw_ < kRedrawSeconds && fraction < 1)) return;
  last_draw_ = now;
  drawn_ = true;
  const int full = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kWidth);
  std::fprintf(
      stderr, "\r%s [%s%s] %3.0f %%  %s\033[K", what_.c_str(), std::string(static_cast<size_t>(full), '#').c_str(),
      std::string(static_cast<size_t>(kWidth - full), '.').c_str(), std::clamp(fraction, 0.0, 1.0) * 100, note.c_str());
  std::fflush(stderr);
}

void ProgressBar::Finish() {
  if (!drawn_) return;
  std::fputc('\n', stderr);
  drawn_ = false;
}

}  // namespace penstock::cli
