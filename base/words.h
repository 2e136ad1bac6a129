// What others say in words, made fit for the wire.
#ifndef PENSTOCK_BASE_WORDS_H_
#define PENSTOCK_BASE_WORDS_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

// Bytes of the UTF-8 sequence that starts at text[i], or 0 where none does (RFC 3629, section 4).
size_t Utf8SequenceLength(std::string_view text, size_t i);

// At most `most` bytes of `text`, cut between two characters of UTF-8.
void Shorten(std::string* text, size_t most);

// The same of any bytes: those that are no UTF-8, which a protobuf string must be, become "?" each.
std::string WireWords(std::string_view text, size_t most);

}  // namespace penstock

#endif  // PENSTOCK_BASE_WORDS_H_
