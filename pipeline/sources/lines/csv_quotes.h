// The quotes of CSV rows, which decide where a row ends (RFC 4180, section 2).
#ifndef PENSTOCK_PIPELINE_SOURCES_LINES_CSV_QUOTES_H_
#define PENSTOCK_PIPELINE_SOURCES_LINES_CSV_QUOTES_H_

#include <cstdint>
#include <string_view>

namespace penstock::sources {

// Follows the fields of a row. A field that begins with a quote ends with the next one that is not doubled. Quotes
// inside of other fields are data. Not thread-safe.
class CsvQuotes {
 public:
  explicit CsvQuotes(char delimiter) : delimiter_(delimiter) {}

  // Reads the next bytes of the row. An end of a line may be in them only inside of quotes.
  void Read(std::string_view bytes) {
    if (bytes.empty()) return;
    if (state_ != State::kQuoted && bytes.find('"') == std::string_view::npos) {
      NoteByteAfter(bytes.front());
      state_ = bytes.back() == delimiter_ ? State::kStart : State::kPlain;
      return;
    }
    for (const char c : bytes) {
      if (c != '"') NoteByteAfter(c);
      state_ = Next(c);
    }
  }
  // Returns whether the next byte is inside of quotes. An end of a line is then a part of a field.
  bool open() const { return state_ == State::kQuoted; }
  // Returns whether bytes other than a delimiter or an end of a line followed a field in quotes. The quote that ended
  // it may be that of a later field.
  bool are_wrong() const { return are_wrong_; }
  // Begins another row.
  void Clear() {
    state_ = State::kStart;
    are_wrong_ = false;
  }

 private:
  enum class State : uint8_t {
    kStart,  // a field begins
    kPlain,
    kQuoted,
    kQuote,  // after a quote inside of quotes: the end, or the first one of a pair
  };

  void NoteByteAfter(char c) {
    if (state_ == State::kQuote && c != delimiter_ && c != '\r') are_wrong_ = true;
  }
  State Next(char c) const {
    if (state_ == State::kQuoted) return c == '"' ? State::kQuote : State::kQuoted;
    if (c == '"' && state_ != State::kPlain) return State::kQuoted;
    return c == delimiter_ ? State::kStart : State::kPlain;
  }

  const char delimiter_;
  State state_ = State::kStart;
  bool are_wrong_ = false;
};

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_LINES_CSV_QUOTES_H_
