// Bytes of text files.
#ifndef PENSTOCK_PIPELINE_SOURCES_LINES_TEXT_BYTES_H_
#define PENSTOCK_PIPELINE_SOURCES_LINES_TEXT_BYTES_H_

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace penstock::sources {

// U+FEFF in UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Returns whether the byte is white space between the tokens of JSON.
inline bool IsJsonSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Returns whether the byte is a printable character of ASCII, a part of another one, or white space.
inline bool IsTextByte(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code >= 0x20 && code != 0x7F) || IsJsonSpace(c);
}

// Returns whether a file that begins with these bytes is text of JSON lines: after a byte order mark and white space,
// it has "{" and, in the same line, the quote of a name or "}". A JSON document of several lines is not.
inline bool BeginsWithJsonLine(std::string_view bytes) {
  constexpr size_t kLeast = 12;  // size of a TFRecord's header: a length of 64 bits has zeros in it
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  if (!std::all_of(bytes.begin(), bytes.begin() + std::min(kLeast, bytes.size()), IsTextByte)) return false;
  while (!bytes.empty() && IsJsonSpace(bytes.front())) bytes.remove_prefix(1);
  if (!bytes.starts_with('{')) return false;
  bytes.remove_prefix(1);
  while (!bytes.empty() && (bytes.front() == ' ' || bytes.front() == '\t')) bytes.remove_prefix(1);
  return bytes.starts_with('"') || bytes.starts_with('}');
}

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_LINES_TEXT_BYTES_H_
