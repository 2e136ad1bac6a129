#include "pipeline/image/formats/gif.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "pipeline/image/byte_reader.h"
#include "pipeline/image/headers/gif_file.h"

namespace penstock::image {
namespace {

constexpr int kMaxCodeBits = 12;
constexpr int kCodes = 1 << kMaxCodeBits;

absl::Status Damaged(const char* what) { return absl::DataLossError(absl::StrCat("the GIF is damaged: ", what)); }

// Without a palette, color numbers are gray values, as in Pillow.
Palette ReadPalette(const GifFile& file) {
  Palette palette;
  palette.size = file.palette.empty() ? 256 : static_cast<int>(file.palette.size() / 3);
  for (int i = 0; i < palette.size; ++i) {
    for (int c = 0; c < 3; ++c) {
      palette.rgb[i][c] = static_cast<uint8_t>(file.palette.empty() ? i : file.palette[static_cast<size_t>(3 * i + c)]);
    }
  }
  return palette;
}

// Reads codes from blocks that begin with their length. The least significant bit comes first.
class CodeReader {
 public:
  CodeReader(std::string_view bytes, size_t at) : bytes_(bytes), at_(at) {}

  // Returns -1 at the end of the blocks.
  int Read(int bits) {
    while (held_ < bits) {
      if (block_ == 0) {
        const int64_t size = ReadLittleEndian(bytes_, at_++, 1);
        if (size <= 0) return -1;
        block_ = static_cast<int>(size);
      }
      const int64_t byte = ReadLittleEndian(bytes_, at_++, 1);
      if (byte < 0) return -1;
      --block_;
      window_ |= static_cast<uint32_t>(byte) << held_;
      held_ += 8;
    }
    const int code = static_cast<int>(window_ & ((1u << bits) - 1));
    window_ >>= bits;
    held_ -= bits;
    return code;
  }

 private:
  const std::string_view bytes_;
  size_t at_;
  int block_ = 0;  // bytes left in the block
  uint32_t window_ = 0;
  int held_ = 0;
};

// Writes the frame's pixels one after the other.
class FrameWriter {
 public:
  FrameWriter(const GifFile& file, const Palette& palette, const Canvas& canvas)
      : file_(file), palette_(palette), canvas_(canvas), step_(file.interlaced ? 8 : 1) {}

  bool done() const { return done_; }
  absl::Status Put(int color) {
    uint8_t* to = canvas_.Row(file_.y + y_) + static_cast<size_t>(file_.x + x_) * static_cast<size_t>(canvas_.channels);
    if (!palette_.Store(color, canvas_.channels, to)) {
      return Damaged("a pixel has a color that its palette lacks");
    }
    if (++x_ < file_.frame_width) return absl::OkStatus();
    x_ = 0;
    y_ += step_;
    // Interlaced: rows 0, 8, ..., then 4, 12, ..., then 2, 6, ..., then 1, 3, ...
    while (y_ >= file_.frame_height && !done_) {
      if (!file_.interlaced || start_ == 1) {
        done_ = true;
      } else if (start_ == 0) {
        start_ = 4;
        y_ = start_;
      } else {
        step_ = start_;
        start_ /= 2;
        y_ = start_;
      }
    }
    return absl::OkStatus();
  }

 private:
  const GifFile& file_;
  const Palette& palette_;
  const Canvas& canvas_;
  int step_, start_ = 0;
  int x_ = 0, y_ = 0;
  bool done_ = false;
};

// GIF89a, Appendix F: LZW with codes of growing length. `before[code]` is the code's string without its last color.
absl::Status DecodeFrame(std::string_view bytes, size_t at, FrameWriter* writer) {
  const int64_t color_bits = ReadLittleEndian(bytes, at, 1);
  // The format allows 2 to 8. Files with other decodable sizes exist, and Pillow reads them.
  if (color_bits < 1 || color_bits >= kMaxCodeBits) return Damaged("its code size is none of 1 to 11");
  const int clear = 1 << color_bits, end = clear + 1;
  CodeReader reader(bytes, at + 1);
  uint16_t before[kCodes];
  uint8_t last[kCodes], text[kCodes + 1];
  for (int i = 0; i < std::min(clear, 256); ++i) last[i] = static_cast<uint8_t>(i);
  int bits = static_cast<int>(color_bits) + 1, next = end + 1, previous = -1;
  uint8_t first = 0;  // first color of the previous string
  while (!writer->done()) {
    const int code = reader.Read(bits);
    if (code < 0 || code == end) return WithFault(Fault::kTruncatedImage, Damaged("it ends before its last pixel"));
    if (code == clear) {
      bits = static_cast<int>(color_bits) + 1;
      next = end + 1;
      previous = -1;
      continue;
    }
    if (code < clear && code > UINT8_MAX) return Damaged("a pixel has a color that its palette lacks");
    if (code > next || (code >= clear && previous < 0) || (code == next && next == kCodes)) {
      return Damaged("a code comes before what it stands for");
    }
    // Expands the string from its end.
    int length = 0, at_code = code;
    if (code == next) {
      text[length++] = first;
      at_code = previous;
    }
    for (; at_code > end; at_code = before[at_code]) text[length++] = last[at_code];
    text[length++] = first = last[at_code];
    while (length > 0 && !writer->done()) PS_RETURN_IF_ERROR(writer->Put(text[--length]));
    if (previous >= 0 && next < kCodes) {
      before[next] = static_cast<uint16_t>(previous);
      last[next] = first;
      if (++next >= 1 << bits && bits < kMaxCodeBits) ++bits;
    }
    previous = code;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DecodeGif(std::string_view bytes, const ImageHeader& header, const Canvas& canvas) {
  PS_ASSIGN_OR_RETURN(const GifFile file, ReadGifFile(bytes));
  PS_RETURN_IF_ERROR(CheckSize("GIF", header, file.width, file.height));
  Palette palette = ReadPalette(file);
  palette.classes = canvas.classes;
  if (file.frame_width != file.width || file.frame_height != file.height) {
    const int color = std::max(0, file.transparent);
    for (int y = 0; y < file.height; ++y) {
      uint8_t* row = canvas.Row(y);
      for (int x = 0; x < file.width; ++x, row += canvas.channels) {
        if (!palette.Store(color, canvas.channels, row)) {
          return Damaged("its screen has a color that its palette lacks");
        }
      }
    }
  }
  FrameWriter writer(file, palette, canvas);
  return DecodeFrame(bytes, file.data_at, &writer);
}

}  // namespace penstock::image
