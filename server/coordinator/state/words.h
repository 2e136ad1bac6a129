// What others say in words, kept short.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_WORDS_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_WORDS_H_

#include <cstddef>
#include <string>

namespace penstock {

// At most `most` bytes of `text`, cut between two characters of UTF-8, which the wire insists on.
inline void Shorten(std::string* text, size_t most) {
  if (text->size() <= most) return;
  while (most > 0 && (static_cast<unsigned char>((*text)[most]) & 0xC0) == 0x80) --most;
  text->resize(most);
}

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_WORDS_H_
