// Inflates a zlib stream (RFC 1950 and 1951) piece by piece, faster than zlib. Pure.
//
// Rejects every stream that zlib rejects, as far as it reads the stream, and may reject others. The caller inflates a
// rejected stream with zlib.
#ifndef PENSTOCK_PIPELINE_IMAGE_PNG_INFLATER_H_
#define PENSTOCK_PIPELINE_IMAGE_PNG_INFLATER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pipeline/image/png/deflate_code.h"

namespace penstock::image {

// The source of a stream's bytes, piece by piece.
class InflaterInput {
 public:
  virtual ~InflaterInput() = default;
  // Returns the next bytes, which stay valid until the next call. Returns an empty view at the end, and on every call
  // after that.
  virtual std::string_view Next() = 0;
};

class Inflater {
 public:
  // Begins a stream. `largest` is the limit of one Take(), and `total` the limit of all together. Set `checked` if
  // Finish() will be called. `input` must outlive the stream.
  void Start(InflaterInput* input, size_t largest, size_t total, bool checked);

  // Returns the next `count` bytes, which stay valid until the next Start(), Take() or Finish(). Returns null if the
  // stream is invalid or too short. The calls must stay within `largest` and `total`.
  const uint8_t* Take(size_t count);

  // Returns true if the stream ends after `total` bytes, its checksum is right, and Take() has returned all of them.
  // Returns false otherwise, and if `checked` was not set. Empty blocks may follow the last byte. After
  // kMaxTrailingBlocks of them it returns true without reading further, because other decoders inflate nothing after
  // the last byte.
  bool Finish();
  static constexpr int kMaxTrailingBlocks = 64;

  // Returns an upper bound of held_bytes() after calls of Start() with at most this `largest`.
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
  // Returns whether all used bits are within the input.
  bool WithinInput() const;

  InflaterInput* input_ = nullptr;
  std::string_view piece_;
  std::vector<uint8_t> input_buffer_;
  const uint8_t *next_ = nullptr, *end_ = nullptr;  // the loaded input
  const uint8_t* real_end_ = nullptr;               // followed by zeros; null until the input's end is loaded
  uint64_t bits_ = 0;                               // the next bits, lowest first
  uint32_t count_ = 0;                              // number of valid bits in bits_

  std::vector<uint8_t> output_;     // the window for matches, and bytes not yet taken
  uint8_t* out_ = nullptr;          // end of the produced bytes in output_
  const uint8_t* taken_ = nullptr;  // end of the taken bytes in output_
  size_t left_ = 0;                 // bytes of `total` not yet produced
  uint32_t adler_ = 1;
  bool checked_ = false;

  Block block_ = Block::kNone;
  bool final_ = false;                     // the current block is the stream's last one
  size_t stored_left_ = 0;                 // bytes left of a stored block
  const LiteralCode* literals_ = nullptr;  // the block's code: the fixed one, or own_literals_
  const DistanceCode* distances_ = nullptr;
  LiteralCode own_literals_;
  DistanceCode own_distances_;
  LengthsCode lengths_;
};

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_PNG_INFLATER_H_
