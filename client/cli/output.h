// Output of commands: tables, formatted numbers, progress bars.
#ifndef PENSTOCK_CLIENT_CLI_OUTPUT_H_
#define PENSTOCK_CLIENT_CLI_OUTPUT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/human_bytes.h"

namespace penstock::cli {

// Returns "1,281,167".
std::string Count(uint64_t n);
// Returns "1 shard", "1,000 shards". The plural of `noun` must be `noun` + "s".
std::string Count(uint64_t n, std::string_view noun);
// Returns "350 ms", "12.3 s", "5 min", "2 h 05 min".
std::string HumanSeconds(double seconds);

// A table of columns, separated by two spaces. The columns in `right` are right-aligned, for numbers.
class Table {
 public:
  explicit Table(std::vector<std::string> header, std::vector<size_t> right = {});
  void Add(std::vector<std::string> row);
  std::string Text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
};

// A progress line on stderr, redrawn in place. Prints nothing if stderr is not a terminal. Finish or destruction ends
// the line.
class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ~ProgressBar() { Finish(); }
  // `note` follows the bar: "12 of 1000 shards".
  void Update(double fraction, const std::string& note);
  void Finish();

 private:
  const std::string what_;
  const bool terminal_;
  bool drawn_ = false;
  double last_draw_ = 0;  // seconds of the steady clock
};

// Prints a line on stderr: "warning: " and `text`.
void PrintWarning(const std::string& text);

// Returns true for a terminal that is not dumb: output to it may contain colors and redrawn lines.
bool IsTerminal(int fd);

// Wraps text between words into lines of at most `width` characters, if words allow. Keeps existing line ends. Indents
// all lines but the first by `indent` spaces.
std::string Wrapped(std::string_view text, size_t width, size_t indent);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_OUTPUT_H_
