#include "tests/pipeline/image/jpeg_maker.h"

#include <jpeglib.h>

#include <cstdio>
#include <cstdlib>

namespace penstock::image {

std::vector<uint8_t> MakePixels(int width, int height, int channels, uint32_t seed) {
  std::vector<uint8_t> pixels(static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels));
  uint32_t noise = seed * 2654435761u + 12345;
  size_t i = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        noise = noise * 1664525 + 1013904223;
        const int smooth = (x * (3 + c) + y * (5 - c)) / 2;
        const int edge = ((x / 7 + y / 5 + c) % 3) * 40;
        pixels[i++] = static_cast<uint8_t>((smooth + edge + static_cast<int>(noise >> 27)) & 0xFF);
      }
    }
  }
  return pixels;
}

std::string MakeJpeg(const JpegRecipe& recipe) {
  jpeg_compress_struct cinfo{};
  jpeg_error_mgr errors{};
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &out, &size);
  cinfo.image_width = static_cast<JDIMENSION>(recipe.width);
  cinfo.image_height = static_cast<JDIMENSION>(recipe.height);
  cinfo.input_components = recipe.components;
  cinfo.in_color_space = recipe.components == 1 ? JCS_GRAYSCALE : recipe.components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&cinfo);
  if (recipe.ycck) jpeg_set_colorspace(&cinfo, JCS_YCCK);
  jpeg_set_quality(&cinfo, recipe.quality, TRUE);
  for (int c = 0; c < cinfo.num_components; ++c) {
    const bool full = c == 0 || (recipe.components == 4 && c == 3);
    cinfo.comp_info[c].h_samp_factor = full ? recipe.horizontal : 1;
    cinfo.comp_info[c].v_samp_factor = full ? recipe.vertical : 1;
  }
  cinfo.restart_interval = static_cast<unsigned>(recipe.restart_interval);
  jpeg_scan_info scans[4] = {};
  if (recipe.progressive) {
    jpeg_simple_progression(&cinfo);
  } else if (recipe.separate_scans) {
    for (int c = 0; c < cinfo.num_components; ++c) scans[c] = {1, {c, 0, 0, 0}, 0, 63, 0, 0};
    cinfo.scan_info = scans;
    cinfo.num_scans = cinfo.num_components;
  }
  jpeg_start_compress(&cinfo, TRUE);
  std::vector<uint8_t> pixels = MakePixels(recipe.width, recipe.height, recipe.components, recipe.seed);
  const size_t row = static_cast<size_t>(recipe.width) * static_cast<size_t>(recipe.components);
  while (cinfo.next_scanline < cinfo.image_height) {
    JSAMPROW line = pixels.data() + cinfo.next_scanline * row;
    jpeg_write_scanlines(&cinfo, &line, 1);
  }
  jpeg_finish_compress(&cinfo);
  std::string bytes(reinterpret_cast<char*>(out), size);
  jpeg_destroy_compress(&cinfo);
  std::free(out);
  return bytes;
}

}  // namespace penstock::image
