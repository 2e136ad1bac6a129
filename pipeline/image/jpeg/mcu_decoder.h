// Decodes the Huffman-coded coefficients of a JPEG with one sequential scan, MCU by MCU, faster than libjpeg-turbo.
// Pure; does not use libjpeg. JpegScan installs it in libjpeg.
//
// It decodes only valid data. On any irregularity (an undefined code, too many coefficients, data that ends early or
// continues, an unexpected marker) it fails, and the caller decodes again with libjpeg, whose result counts.
//
// For a restart-indexed file it decodes only the tiles of the requested MCUs. It checks only the markers of the tiles
// before them.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_MCU_DECODER_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_MCU_DECODER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pipeline/image/jpeg/huffman_code.h"
#include "pipeline/image/jpeg/scan_bits.h"
#include "pipeline/image/jpeg/tile_walker.h"

namespace penstock::image {

struct ScanLayout {
  static constexpr size_t kMaxBlocks = 10, kMaxComponents = 4;  // per MCU; per scan

  size_t blocks = 0;
  std::array<uint8_t, kMaxBlocks> component{};  // component of each block
  // Codes of each component. They must outlive the decode.
  std::array<const HuffmanCode*, kMaxComponents> dc{}, ac{};
  int64_t interval = 0;  // MCUs between two restart markers; 0 if there are none
};

class McuDecoder {
 public:
  using Block = int16_t[kBlockSize];

  // Starts a scan. The entropy-coded data begins at `scan_at`. `table` is the file's restart table, or null. `jpeg` and
  // `table` must outlive the decode.
  void Start(const ScanLayout& layout, std::string_view jpeg, size_t scan_at, const TileTable* table);

  // Decodes the next MCU in scan order into zeroed blocks, one per block of the MCU. If `blocks` is null, skips the
  // MCU. Returns false on an irregularity; the content of the blocks is then unspecified.
  bool Next(Block* const* blocks);

 private:
  bool GoToTile(int64_t tile);
  template <bool kWanted>
  bool Decode(Block* const* blocks);

  ScanLayout layout_;
  std::string_view jpeg_;
  const TileTable* table_ = nullptr;
  TileWalker walker_;
  int64_t mcu_ = 0;      // index of the next MCU
  int64_t tile_ = -1;    // restart interval that is being read
  int64_t in_tile_ = 0;  // MCUs read of that interval
  std::array<int, ScanLayout::kMaxComponents> dc_{};
  BitReader reader_;
  ScanBits bits_;
};

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_MCU_DECODER_H_
