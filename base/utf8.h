// Converts external text to valid text for messages.
#ifndef PENSTOCK_BASE_UTF8_H_
#define PENSTOCK_BASE_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

// Returns the length of the UTF-8 sequence that starts at text[i], or 0 if there is none (RFC 3629, section 4). `i`
// must be less than the text's size.
size_t Utf8SequenceLength(std::string_view text, size_t i);

// Returns whether the text is UTF-8.
bool IsUtf8(std::string_view text);

// Truncates UTF-8 text to at most `most` bytes, between two characters.
void TruncateUtf8(std::string* text, size_t most);

// As TruncateUtf8, for any bytes: replaces each byte that is not part of a UTF-8 sequence by "?". A protobuf string
// must be UTF-8.
std::string TruncatedUtf8(std::string_view text, size_t most);

}  // namespace penstock

#endif  // PENSTOCK_BASE_UTF8_H_
