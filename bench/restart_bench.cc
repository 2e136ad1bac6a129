// What a restart index is worth: the crops of RandomResizedCrop out of each photograph of a folder, decoded from its
// own bytes and from its restart-indexed ones, in pairs, on one thread.
//
//   restart_bench FOLDER [--crops=20] [--rounds=15] [--per-photo]
//
// Prints the time ratio indexed / plain over all photographs (of each photograph's best time, and of the median over
// the rounds), the ratio of whole decodes, the ratio of the files' sizes and the time that the transcoding takes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/bench_support.h"
#include "pipeline/base/file.h"
#include "pipeline/base/philox.h"
#include "pipeline/image/jpeg_decoder.h"
#include "pipeline/image/restart_jpeg.h"

namespace penstock {
namespace {

struct Photo {
  std::string name, plain, indexed;
  ImageHeader header = {};
  double transcode_s = 0;
};

// As torchvision's RandomResizedCrop with its defaults draws: area uniform in 0.08 to 1 of the image's, aspect
// log-uniform in 3/4 to 4/3, ten tries, else the largest centred square.
Rect DrawCrop(int width, int height, SampleRandom* random) {
  for (int i = 0; i < 10; ++i) {
    const double area = width * height * random->Uniform(0.08, 1.0);
    const double aspect = std::exp(random->Uniform(std::log(3.0 / 4.0), std::log(4.0 / 3.0)));
    Rect rect;
    rect.width = static_cast<int>(std::lround(std::sqrt(area * aspect)));
    rect.height = static_cast<int>(std::lround(std::sqrt(area / aspect)));
    if (rect.width < 1 || rect.width > width || rect.height < 1 || rect.height > height) continue;
    rect.x = static_cast<int>(random->Below(static_cast<uint32_t>(width - rect.width + 1)));
    rect.y = static_cast<int>(random->Below(static_cast<uint32_t>(height - rect.height + 1)));
    return rect;
  }
  const int side = std::min(width, height);
  return {(width - side) / 2, (height - side) / 2, side, side};
}

// Best time of each side, and the median of the rounds' ratios.
struct Pair {
  double plain = 1e9, indexed = 1e9;
  std::vector<double> ratios;

  void Add(double plain_s, double indexed_s) {
    plain = std::min(plain, plain_s);
    indexed = std::min(indexed, indexed_s);
    ratios.push_back(indexed_s / plain_s);
  }
};

class Decodes {
 public:
  void Run(const std::string& bytes, const std::vector<Rect>& rects) {
    for (const Rect& rect : rects) {
      const size_t stride = 3 * static_cast<size_t>(rect.width);
      pixels_.resize(std::max(pixels_.size(), stride * static_cast<size_t>(rect.height)));
      if (!decoder_.Decode(bytes, rect, {}, pixels_.data(), stride).ok()) std::abort();
    }
  }

 private:
  JpegDecoder decoder_;
  std::vector<uint8_t> pixels_;
};

Pair Measure(Decodes* decodes, const Photo& photo, const std::vector<Rect>& rects, int rounds) {
  Pair pair;
  for (int round = 0; round < rounds; ++round) {
    // Either goes first every second time.
    double seconds[2];
    for (const int side : {round % 2, 1 - round % 2}) {
      seconds[side] = TimeOf([&] { decodes->Run(side == 0 ? photo.plain : photo.indexed, rects); }).cpu;
    }
    pair.Add(seconds[0], seconds[1]);
  }
  return pair;
}

std::vector<Photo> ReadPhotos(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  std::vector<Photo> photos;
  for (const std::string& path : paths) {
    auto bytes = ReadWholeFile(path);
    if (!bytes.ok()) continue;
    Photo photo;
    photo.name = std::filesystem::path(path).filename().string();
    photo.plain = *std::move(bytes);
    const auto header = ProbeImage(photo.plain);
    if (!header.ok()) continue;
    photo.header = *header;
    absl::StatusOr<std::string> indexed;
    photo.transcode_s = 1e9;
    for (int i = 0; i < 3; ++i) {
      photo.transcode_s =
          std::min(photo.transcode_s, TimeOf([&] { indexed = AddRestartIndex(photo.plain, ImageLimits()); }).cpu);
    }
    if (!indexed.ok()) {
      std::printf("%s: %s\n", photo.name.c_str(), std::string(indexed.status().message()).c_str());
      continue;
    }
    photo.indexed = *std::move(indexed);
    photos.push_back(std::move(photo));
  }
  return photos;
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: restart_bench FOLDER [--crops=20] [--rounds=15] [--per-photo=1]\n");
    return 2;
  }
  const int crops = std::atoi(Flag(argc, argv, "crops", "20").c_str());
  const int rounds = std::atoi(Flag(argc, argv, "rounds", "15").c_str());
  const bool each = Flag(argc, argv, "per-photo", "0") != "0";
  const std::vector<Photo> photos = ReadPhotos(argv[1]);
  Decodes decodes;
  double plain = 0, indexed = 0, whole_plain = 0, whole_indexed = 0, plain_bytes = 0, indexed_bytes = 0, transcode = 0;
  double worst_size = 0;
  std::vector<double> medians;
  for (size_t i = 0; i < photos.size(); ++i) {
    const Photo& photo = photos[i];
    SampleRandom random(1, i, 0);
    std::vector<Rect> rects;
    for (int k = 0; k < crops; ++k) {
      rects.push_back(DrawCrop(photo.header.width, photo.header.height, &random));
    }
    const Pair pair = Measure(&decodes, photo, rects, rounds);
    const Pair whole =
        Measure(&decodes, photo, {{0, 0, photo.header.width, photo.header.height}}, std::max(1, rounds / 3));
    const double size = static_cast<double>(photo.indexed.size()) / static_cast<double>(photo.plain.size());
    plain += pair.plain / crops;
    indexed += pair.indexed / crops;
    whole_plain += whole.plain;
    whole_indexed += whole.indexed;
    plain_bytes += static_cast<double>(photo.plain.size());
    indexed_bytes += static_cast<double>(photo.indexed.size());
    transcode += photo.transcode_s;
    worst_size = std::max(worst_size, size);
    medians.push_back(Median(pair.ratios));
    if (each) {
      std::printf("%-44s %4d x %4d  best %.3f median %.3f  size %.4f  whole %.3f  transcode %.2f ms\n",
                  photo.name.c_str(), photo.header.width, photo.header.height, pair.indexed / pair.plain,
                  medians.back(), size, whole.indexed / whole.plain, photo.transcode_s * 1e3);
    }
  }
  const double n = static_cast<double>(photos.size());
  std::printf("photographs %zu, crops each %d, rounds %d, one thread, CPU time\n", photos.size(), crops, rounds);
  std::printf(
      "crop decode: plain %.3f ms, indexed %.3f ms; ratio of the best times %.3f, median over photographs %.3f\n",
      plain / n * 1e3, indexed / n * 1e3, indexed / plain, Median(medians));
  std::printf("whole decode: plain %.3f ms, indexed %.3f ms; ratio %.3f\n", whole_plain / n * 1e3,
              whole_indexed / n * 1e3, whole_indexed / whole_plain);
  std::printf("size: ratio of the sums %.4f, worst photograph %.4f\n", indexed_bytes / plain_bytes, worst_size);
  std::printf("transcode: %.2f ms each\n", transcode / n * 1e3);
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
