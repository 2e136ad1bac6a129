// A zlib stream (RFC 1950 and 1951) taken out piece by piece, faster than zlib does. Pure.
//
// It takes what is sound and no more than zlib takes; at anything else it gives up, and the caller asks zlib.
#ifndef PENSTOCK_PIPELINE_IMAGE_PNG_INFLATER_H_
#define PENSTOCK_PIPELINE_IMAGE_PNG_INFLATER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pipeline/image/png/deflate_code.h"

namespace penstock {

// Where a stream's bytes come from, piece by piece.
class InflaterInput {
 public:
  virtual ~InflaterInput() = default;
  // The next bytes, which stay where they are until the next call; empty at the end, and from then on.
  virtual std::string_view Next() = 0;
};

class Inflater {
 public:
  // Begins a stream of which at most `largest` bytes are taken at once, and `total` in all. `checked`: Finish will be
  // asked. `input` outlives the use of it.
  void Start(InflaterInput* input, size_t largest, size_t total, bool checked);

  // The next `count` bytes, until the next call; null: gave up, or there are not as many.
  const uint8_t* Take(size_t count);

  // Whether the stream is sound to its end, and holds no more than was taken. Only where it is to be `checked`.
  bool Finish();

  // Upper bound of held_bytes().
  static size_t Bytes(size_t largest);
  size_t held_bytes() const { return sizeof(*this) + output_.capacity() + input_buffer_.capacity(); }

 private:
  enum class Block : uint8_t { kNone, kStored, kCoded };

  bool ReadStreamHeader();
  void MakeRoom(size_t count);
  bool Produce(size_t count);
  bool ReadBlock(const uint8_t* target);
  bool ReadBlockHeader();
  bool ReadCodes();
  bool Store(const uint8_t* target);
  bool Decode(const uint8_t* target);

  bool LoadInput();
  bool Refill();
  uint32_t ReadBits(int count);
  // Whether nothing was read from behind the input's end.
  bool WithinInput() const;

  InflaterInput* input_ = nullptr;
  std::string_view piece_;
  std::vector<uint8_t> input_buffer_;
  const uint8_t *next_ = nullptr, *end_ = nullptr;  // of what is loaded
  const uint8_t* real_end_ = nullptr;               // zeros follow; null until the input's end is loaded
  uint64_t bits_ = 0;                               // the next ones, lowest first
  uint32_t count_ = 0;                              // of them

  std::vector<uint8_t> output_;  // what the next bytes may repeat, and what nobody has taken yet
  uint8_t* out_ = nullptr;       // its end
  const uint8_t* taken_ = nullptr;
  size_t left_ = 0;  // of `total`, to be made
  uint32_t adler_ = 1;
  bool checked_ = false;

  Block block_ = Block::kNone;
  bool final_ = false;      // the block is the last
  size_t stored_left_ = 0;  // of a stored block
  LiteralCode literals_;
  DistanceCode distances_;
  LengthsCode lengths_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_PNG_INFLATER_H_
