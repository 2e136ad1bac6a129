#include "pipeline/image/formats/bmp.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "pipeline/image/byte_reader.h"
#include "pipeline/image/headers/bmp_file.h"

namespace penstock::image {
namespace {

absl::Status CutOff(int rows, const BmpFile& file) {
  return WithFault(Fault::kTruncatedImage, absl::DataLossError(absl::StrCat("the BMP is cut off: it has ", rows, " of ",
                                                                            file.height, " rows")));
}

absl::Status NoSuchColor(int color, const Palette& palette) {
  return absl::DataLossError(
      absl::StrCat("the BMP is damaged: a pixel has color ", color, " of a palette of ", palette.size));
}

absl::StatusOr<Palette> ReadPalette(std::string_view bytes, const BmpFile& file) {
  Palette palette;
  palette.size = file.colors;
  const size_t each = static_cast<size_t>(file.color_bytes);
  for (int i = 0; i < palette.size; ++i) {
    const std::string_view color = Slice(bytes, file.palette_at + static_cast<size_t>(i) * each, 3);
    if (color.size() < 3) return absl::DataLossError("the BMP is cut off inside its palette");
    for (size_t c = 0; c < 3; ++c) palette.rgb[i][c] = static_cast<uint8_t>(color[2 - c]);
  }
  return palette;
}

absl::Status StorePalettedRow(const uint8_t* row, const BmpFile& file, const Palette& palette, int channels,
                              uint8_t* out) {
  const int mask = (1 << file.bits) - 1;
  for (int x = 0; x < file.width; ++x, out += channels) {
    const size_t bit = static_cast<size_t>(x) * static_cast<size_t>(file.bits);
    const int color = row[bit / 8] >> (8 - file.bits - static_cast<int>(bit % 8)) & mask;
    if (!palette.Store(color, channels, out)) return NoSuchColor(color, palette);
  }
  return absl::OkStatus();
}

void StoreRow16(const uint8_t* row, const BmpFile& file, int channels, uint8_t* out) {
  // Pillow's widening: 255 times the value divided by its maximum, truncated.
  const int green_max = file.green_6 ? 63 : 31, red_shift = file.green_6 ? 11 : 10;
  for (int x = 0; x < file.width; ++x, out += channels) {
    const int pixel = row[2 * x] | row[2 * x + 1] << 8;
    StorePixel(channels, static_cast<uint8_t>((pixel >> red_shift & 31) * 255 / 31),
               static_cast<uint8_t>((pixel >> 5 & green_max) * 255 / green_max),
               static_cast<uint8_t>((pixel & 31) * 255 / 31), out);
  }
}

absl::Status DecodePlain(std::string_view bytes, const BmpFile& file, const Palette& palette, const Canvas& canvas) {
  const size_t row_bytes = file.RowBytes();
  // The last row's padding may be missing.
  const size_t used = (static_cast<size_t>(file.width) * static_cast<size_t>(file.bits) + 7) / 8;
  for (int i = 0; i < file.height; ++i) {
    const std::string_view stored = Slice(bytes, file.pixels_at + static_cast<size_t>(i) * row_bytes, used);
    if (stored.size() < used) return CutOff(i, file);
    const uint8_t* row = reinterpret_cast<const uint8_t*>(stored.data());
    uint8_t* out = canvas.Row(file.top_down ? i : file.height - 1 - i);
    if (file.bits <= 8) {
      PS_RETURN_IF_ERROR(StorePalettedRow(row, file, palette, canvas.channels, out));
    } else if (file.bits == 16) {
      StoreRow16(row, file, canvas.channels, out);
    } else {
      const int size = file.bits / 8;
      for (int x = 0; x < file.width; ++x, row += size, out += canvas.channels) {
        StorePixel(canvas.channels, row[file.red], row[file.green], row[file.blue], out);
      }
    }
  }
  return absl::OkStatus();
}

// Decodes RLE4 and RLE8: runs, literal pixels, and escapes that skip pixels. Skipped pixels have color 0. Like Pillow,
// it rejects a picture that ends before its last pixel. It also rejects an empty line, which Pillow drops, and literals
// or skips beyond a row's end, which readers interpret differently.
class RleDecoder {
 public:
  RleDecoder(std::string_view bytes, const BmpFile& file, const Palette& palette, const Canvas& canvas)
      : data_(Slice(bytes, file.pixels_at, bytes.size())), file_(file), palette_(palette), canvas_(canvas) {}

  absl::Status Run() {
    while (y_ < file_.height && !(y_ == file_.height - 1 && x_ == file_.width)) {
      const std::string_view pair = Take(2);
      if (pair.size() < 2) return CutOff(y_, file_);
      const int count = static_cast<uint8_t>(pair[0]), value = static_cast<uint8_t>(pair[1]);
      if (count > 0) {
        // Some writers extend their last pair beyond the row.
        const int fits = std::min(count, file_.width - x_);
        for (int i = 0; i < fits; ++i) PS_RETURN_IF_ERROR(Put(Rle4() ? (i % 2 == 0 ? value >> 4 : value & 15) : value));
      } else if (value == 0) {
        if (x_ == 0) return Odd("an empty line");
        PS_RETURN_IF_ERROR(Skip(file_.width - x_));
        x_ = 0;
        ++y_;
      } else if (value == 1) {
        return CutOff(y_, file_);
      } else if (value == 2) {
        PS_RETURN_IF_ERROR(Move());
      } else {
        PS_RETURN_IF_ERROR(Literal(value));
      }
    }
    return absl::OkStatus();
  }

 private:
  bool Rle4() const { return file_.coding == BmpFile::Coding::kRle4; }
  std::string_view Take(size_t count) {
    const std::string_view taken = Slice(data_, at_, count);
    at_ += count;
    return taken;
  }
  static absl::Status Odd(const char* what) {
    return absl::DataLossError(absl::StrCat("the BMP's run lengths have ", what, ", which readers take differently"));
  }
  // Requires x_ < the width.
  absl::Status Put(int color) {
    uint8_t* out = canvas_.Row(file_.top_down ? y_ : file_.height - 1 - y_) +
                   static_cast<size_t>(x_) * static_cast<size_t>(canvas_.channels);
    ++x_;
    return palette_.Store(color, canvas_.channels, out) ? absl::OkStatus() : NoSuchColor(color, palette_);
  }
  absl::Status Skip(int pixels) {
    for (int i = 0; i < pixels; ++i) PS_RETURN_IF_ERROR(Put(0));
    return absl::OkStatus();
  }
  absl::Status Move() {
    const std::string_view by = Take(2);
    if (by.size() < 2) return CutOff(y_, file_);
    const int right = static_cast<uint8_t>(by[0]), down = static_cast<uint8_t>(by[1]);
    const int to = x_ + right;
    if (to >= file_.width || down >= file_.height - y_) return Odd("a move beyond the picture's edge");
    for (int rows = down; rows > 0; --rows) {
      PS_RETURN_IF_ERROR(Skip(file_.width - x_));
      x_ = 0;
      ++y_;
    }
    return Skip(to - x_);
  }
  absl::Status Literal(int count) {
    if (count > file_.width - x_) return Odd("pixels beyond a row's end");
    const size_t size = Rle4() ? (static_cast<size_t>(count) + 1) / 2 : static_cast<size_t>(count);
    const std::string_view pixels = Take(size);
    if (pixels.size() < size) return CutOff(y_, file_);
    for (int i = 0; i < count; ++i) {
      const int byte = static_cast<uint8_t>(pixels[static_cast<size_t>(Rle4() ? i / 2 : i)]);
      PS_RETURN_IF_ERROR(Put(Rle4() ? (i % 2 == 0 ? byte >> 4 : byte & 15) : byte));
    }
    at_ += size % 2;  // padded to 16-bit words
    return absl::OkStatus();
  }

  const std::string_view data_;
  const BmpFile& file_;
  const Palette& palette_;
  const Canvas& canvas_;
  size_t at_ = 0;
  int x_ = 0, y_ = 0;  // the next pixel; rows as stored
};

}  // namespace

absl::Status DecodeBmp(std::string_view bytes, const ImageHeader& header, const Canvas& canvas) {
  PS_ASSIGN_OR_RETURN(const BmpFile file, ReadBmpFile(bytes));
  PS_RETURN_IF_ERROR(CheckSize("BMP", header, file.width, file.height));
  Palette palette;
  if (file.bits <= 8) {
    PS_ASSIGN_OR_RETURN(palette, ReadPalette(bytes, file));
    palette.classes = canvas.classes;
  }
  if (file.coding == BmpFile::Coding::kPlain) return DecodePlain(bytes, file, palette, canvas);
  return RleDecoder(bytes, file, palette, canvas).Run();
}

}  // namespace penstock::image
