#include "base/utf8.h"

namespace penstock {

size_t Utf8SequenceLength(std::string_view text, size_t i) {
  const auto at = [&](size_t k) { return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u; };
  const auto follows = [&](size_t k, unsigned low = 0x80, unsigned high = 0xBF) {
    return at(k) >= low && at(k) <= high;
  };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool second = follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return second && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool second = follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
    return second && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8SequenceLength(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

void TruncateUtf8(std::string* text, size_t most) {
  if (text->size() <= most) return;
  while (most > 0 && (static_cast<unsigned char>((*text)[most]) & 0xC0) == 0x80) --most;
  text->resize(most);
}

std::string TruncatedUtf8(std::string_view text, size_t most) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8SequenceLength(text, i);
    const size_t taken = length == 0 ? 1 : length;
    if (out.size() + taken > most) break;
    if (length == 0) {
      out.push_back('?');
    } else {
      out.append(text.substr(i, length));
    }
    i += taken;
  }
  return out;
}

}  // namespace penstock
