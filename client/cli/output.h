// What commands print: tables, numbers for people, progress bars, messages as JSON.
#ifndef PENSTOCK_CLIENT_CLI_OUTPUT_H_
#define PENSTOCK_CLIENT_CLI_OUTPUT_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::cli {

// "1,281,167"
std::string Count(uint64_t n);
// "1 shard", "1,000 shards": of a noun whose plural ends in s.
std::string Count(uint64_t n, std::string_view noun);
// "1.2 GiB"
std::string HumanBytes(uint64_t bytes);
// "350 ms", "12.3 s", "2 h 05 min"
std::string HumanSeconds(double seconds);

// Columns aligned with two spaces between; numbers (columns named in `right`) to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> header, std::vector<size_t> right = {});
  void Add(std::vector<std::string> row);
  std::string Text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
};

// A line on stderr that is redrawn in place; silent when stderr is no terminal. Finish (or destruction) ends the line.
class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ~ProgressBar() { Finish(); }
  // `note` stands behind the bar: "12 of 1000 shards".
  void Update(double fraction, const std::string& note);
  void Finish();

 private:
  const std::string what_;
  const bool terminal_;
  bool drawn_ = false;
  double last_draw_ = 0;  // seconds of the steady clock
};

// Whether the output may hold colors and redrawn lines: a terminal that is not dumb.
bool IsTerminal(int fd);

// Cut between words into lines of at most `width` characters, where words allow; ends of lines in it are kept. Lines
// after the first begin with `indent` spaces.
std::string Wrapped(std::string_view text, size_t width, size_t indent);

// A message as JSON with the proto's field names, all fields present; null stands for a message that is not there and
// may hold one of its own kind. Numbers are numbers, but hashes and ids of 64 bits, of which most readers of JSON would
// keep 53, are strings.
std::string MessageToJson(const google::protobuf::Message& message);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_OUTPUT_H_
