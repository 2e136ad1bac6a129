// Penstock's side of compare_with_pillow.py. Each input line is the path of a file. The answer has the results of the
// decoder and of restart indexing.
//
//   decode_files [--no-index]
//
// Each file has three answers. Each answer is a line, followed by raw bytes if the line has BYTES:
//   ok WIDTH HEIGHT ORIENTATION BYTES     RGB as stored, not turned
// damaged WIDTH HEIGHT ORIENTATION BYTES MESSAGE   rejected; the bytes are the result of `lenient`
//   refused MESSAGE
// then "upright WIDTH HEIGHT BYTES" or "none", then "indexed BYTES" or "none".
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "pipeline/image/formats/decode_other.h"
#include "pipeline/image/image_header.h"
#include "pipeline/image/jpeg/jpeg_decoder.h"
#include "pipeline/image/jpeg/restart_jpeg.h"
#include "pipeline/image/orientation.h"

namespace penstock::bench {
namespace {

using Pixels = std::vector<uint8_t>;

absl::Status Decode(const std::string& bytes, const image::ImageHeader& header, bool lenient, Pixels* pixels) {
  const size_t stride = static_cast<size_t>(header.width) * 3;
  pixels->assign(stride * static_cast<size_t>(header.height), 0);
  if (header.format != image::ImageFormat::kJpeg) return image::DecodeOther(bytes, header, 3, pixels->data(), stride);
  image::JpegDecoder decoder;
  return decoder
      .Decode(bytes, {0, 0, header.width, header.height}, {.channels = 3, .lenient = lenient}, pixels->data(), stride)
      .status();
}

void Send(const void* bytes, size_t size) { std::fwrite(bytes, 1, size, stdout); }

std::string OneLine(const absl::Status& status) {
  std::string text(status.message());
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void SendUpright(const image::ImageHeader& header, const Pixels& pixels) {
  const bool swap = image::SwapsSides(header.orientation);
  const int width = swap ? header.height : header.width, height = swap ? header.width : header.height;
  Pixels upright(pixels.size());
  image::TurnUpright({pixels.data(), header.width, header.height, 3, static_cast<size_t>(header.width) * 3},
                     header.orientation, upright.data(), static_cast<size_t>(width) * 3);
  std::printf("upright %d %d %zu\n", width, height, upright.size());
  Send(upright.data(), upright.size());
}

void SendIndexed(const std::string& bytes) {
  const auto indexed = image::AddRestartIndex(bytes);
  if (!indexed.ok()) {
    std::printf("none\n");
    return;
  }
  std::printf("indexed %zu\n", indexed->size());
  Send(indexed->data(), indexed->size());
}

void Answer(const std::string& path, bool index) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto header = image::ProbeImage(bytes);
  const absl::Status readable = header.ok() ? image::CheckLimits(*header, {}) : header.status();
  if (!readable.ok()) {
    std::printf("refused %s\nnone\nnone\n", OneLine(readable).c_str());
    return;
  }
  Pixels pixels;
  const absl::Status decoded = Decode(bytes, *header, false, &pixels);
  if (decoded.ok()) {
    std::printf("ok %d %d %d %zu\n", header->width, header->height, header->orientation, pixels.size());
    Send(pixels.data(), pixels.size());
    SendUpright(*header, pixels);
  } else if (Decode(bytes, *header, true, &pixels).ok()) {
    std::printf("damaged %d %d %d %zu %s\n", header->width, header->height, header->orientation, pixels.size(),
                OneLine(decoded).c_str());
    Send(pixels.data(), pixels.size());
    std::printf("none\n");
  } else {
    std::printf("refused %s\nnone\n", OneLine(decoded).c_str());
  }
  if (index && decoded.ok() && header->format == image::ImageFormat::kJpeg) {
    SendIndexed(bytes);
  } else {
    std::printf("none\n");
  }
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) {
  const bool index = !(argc > 1 && std::strcmp(argv[1], "--no-index") == 0);
  for (std::string path; std::getline(std::cin, path);) {
    penstock::bench::Answer(path, index);
    std::fflush(stdout);
  }
  return 0;
}
