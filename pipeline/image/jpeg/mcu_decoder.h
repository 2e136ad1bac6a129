// Decodes the Huffman-coded coefficients of a JPEG that has one sequential scan, MCU by MCU, faster than libjpeg-turbo
// does. Pure, no libjpeg; jpeg_scan.h puts it to work there.
//
// It decodes what is sound. At anything odd (no such code, too many coefficients, data that ends early or goes on,
// another marker than expected) it gives up: the caller starts again with libjpeg, whose word then counts.
//
// Of a restart-indexed file only the tiles of MCUs that are wanted are read.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_MCU_DECODER_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_MCU_DECODER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pipeline/image/jpeg/huffman_code.h"
#include "pipeline/image/jpeg/scan_bits.h"
#include "pipeline/image/jpeg/tile_walker.h"

namespace penstock {

struct ScanLayout {
  static constexpr size_t kMaxBlocks = 10, kMaxComponents = 4;  // of an MCU, of a scan

  size_t blocks = 0;
  std::array<uint8_t, kMaxBlocks> component{};  // of each block
  // Of each component; they outlive the decode.
  std::array<const HuffmanCode*, kMaxComponents> dc{}, ac{};
  int64_t interval = 0;  // MCUs between two restart markers; 0: there are none
};

class McuDecoder {
 public:
  using Block = int16_t[kBlockSize];

  // `scan_at` is where the entropy-coded data begins; `table` null, or the file's. Both outlive the decode.
  void Start(const ScanLayout& layout, std::string_view jpeg, size_t scan_at, const TileTable* table);

  // The next MCU, in the scan's order, into one zeroed block for each of its own; null: nobody wants it. False: gave
  // up, and the blocks are unspecified.
  bool Next(Block* const* blocks);

 private:
  bool GoToTile(int64_t tile);
  template <bool kWanted>
  bool Decode(Block* const* blocks);

  ScanLayout layout_;
  std::string_view jpeg_;
  const TileTable* table_ = nullptr;
  TileWalker walker_;
  int64_t mcu_ = 0;      // the next
  int64_t tile_ = -1;    // restart interval that is being read
  int64_t in_tile_ = 0;  // MCUs of it that were read
  std::array<int, ScanLayout::kMaxComponents> dc_{};
  BitReader reader_;
  ScanBits bits_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_MCU_DECODER_H_
