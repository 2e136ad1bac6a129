#include "tests/pipeline/image/vp8l_maker.h"

#include <cstdint>

namespace penstock::image {
namespace {

class BitWriter {
 public:
  void Put(uint32_t value, int bits) {
    for (int i = 0; i < bits; ++i, ++count_) {
      if (count_ % 8 == 0) bytes_.push_back('\0');
      if ((value >> i & 1) != 0) bytes_.back() = static_cast<char>(bytes_.back() | 1 << (count_ % 8));
    }
  }
  // Writes a code of one symbol, whose occurrences need no bits.
  void PutSingle(uint32_t symbol) {
    Put(1, 1);  // simple
    Put(0, 1);  // one symbol
    Put(1, 1);  // of 8 bits
    Put(symbol, 8);
  }
  // Writes a code of 256 symbols of 8 bits each.
  void PutFlat() {
    Put(0, 1);
    // The order of code lengths: 17, 18, 0, 1, ..., 5, 16, 6, 7, 8. Only 8 occurs.
    Put(12 - 4, 4);
    for (int i = 0; i < 11; ++i) Put(0, 3);
    Put(1, 3);
    Put(1, 1);  // followed by the number of symbols:
    Put(3, 3);
    Put(256 - 2, 8);
  }
  // Writes a symbol of PutFlat's code. Readers take a code from its most significant bit on.
  void PutFlatSymbol(uint32_t symbol) {
    for (int bit = 7; bit >= 0; --bit) Put(symbol >> bit & 1, 1);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  int count_ = 0;
};

void PutNumber(std::string* bytes, size_t value) {
  for (int i = 0; i < 4; ++i) bytes->push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

std::string MakeVp8l(const Vp8lRecipe& recipe) {
  BitWriter bits;
  bits.Put(0x2F, 8);
  bits.Put(static_cast<uint32_t>(recipe.width - 1), 14);
  bits.Put(static_cast<uint32_t>(recipe.height - 1), 14);
  bits.Put(0, 4);
  for (uint32_t type = 0; recipe.transforms && type < 2; ++type) {
    bits.Put(1, 1);
    bits.Put(type, 2);
    bits.Put(0, 3);  // blocks of 4 x 4
    bits.Put(0, 1);  // no color cache
    for (int code = 0; code < 5; ++code) bits.PutSingle(0);
  }
  bits.Put(0, 1);  // no further transforms
  bits.Put(recipe.cache_bits > 0 ? 1 : 0, 1);
  if (recipe.cache_bits > 0) bits.Put(static_cast<uint32_t>(recipe.cache_bits), 4);
  bits.Put(1, 1);  // a map of groups
  bits.Put(0, 3);  // blocks of 4 x 4
  bits.Put(0, 1);  // no color cache
  bits.PutFlat();  // green: the number's low byte
  bits.PutFlat();  // red: the high one
  for (int code = 0; code < 3; ++code) bits.PutSingle(0);
  const int blocks = ((recipe.width + 3) / 4) * ((recipe.height + 3) / 4);
  for (int i = 0; i < blocks; ++i) {
    const uint32_t group = static_cast<uint32_t>(recipe.first_group + i % recipe.groups);
    bits.PutFlatSymbol(group & 255);
    bits.PutFlatSymbol(group >> 8);
  }
  for (int i = 0; i < recipe.first_group + recipe.groups; ++i) {
    for (int code = 0; code < 5; ++code) bits.PutSingle(0);
  }
  std::string stream = bits.bytes() + std::string(8, '\0');
  if (stream.size() % 2 != 0) stream.push_back('\0');
  std::string file = "RIFF";
  PutNumber(&file, stream.size() + 12);
  file += "WEBPVP8L";
  PutNumber(&file, stream.size());
  return file + stream;
}

}  // namespace penstock::image
