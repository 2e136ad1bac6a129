// CPU time of decoding JPEG on one thread: crops of RandomResizedCrop of each photograph of a folder, and the whole
// photograph. The sides are libjpeg-turbo alone, JpegDecoder, and JpegDecoder on restart-indexed bytes, in turns. All
// deliver rows strip by strip, as a resize takes them.
//
//   jpeg_bench FOLDER [--crops=20] [--rounds=15] [--per-photo=1]
//
// Prints CPU times (sums of each photograph's best times), their ratios (also the median over the photographs of the
// rounds' medians), the ratio of the files' sizes, and the time of the transcoding.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/philox.h"
#include "bench/bench_support.h"
#include "pipeline/image/jpeg/jpeg_decoder.h"
#include "pipeline/image/jpeg/restart_jpeg.h"

namespace penstock::bench {
namespace {

struct Photo {
  std::string name, plain, indexed;
  image::ImageHeader header = {};
  double transcode_s = 0;
};

// Draws as torchvision's RandomResizedCrop with its defaults: area uniform in 0.08 to 1 of the image's, aspect
// log-uniform in 3/4 to 4/3, ten tries, otherwise the largest centered square.
image::Rect DrawCrop(int width, int height, SampleRandom* random) {
  for (int i = 0; i < 10; ++i) {
    const double area = width * height * random->Uniform(0.08, 1.0);
    const double aspect = std::exp(random->Uniform(std::log(3.0 / 4.0), std::log(4.0 / 3.0)));
    image::Rect rect;
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

enum Side { kAlone, kPlain, kIndexed, kSides };

// Best time of each side in seconds, and the median over the rounds of its ratio to another.
struct Times {
  std::array<double, kSides> best;
  std::array<std::vector<double>, kSides> all;

  double Ratio(Side side, Side to) const {
    std::vector<double> ratios;
    for (size_t i = 0; i < all[side].size(); ++i) ratios.push_back(all[side][i] / all[to][i]);
    return Median(ratios);
  }
};

// Takes rows as a resize does, strip by strip, and drops them.
struct Discard final : image::ImageSink {
  void Rows(const image::ImageView& rows) override { taken += rows.height; }
  void Restart() override { taken = 0; }
  int taken = 0;
};

class Decodes {
 public:
  Times Measure(const Photo& photo, const std::vector<image::Rect>& rects, int rounds) {
    Times times;
    times.best.fill(1e9);
    for (int round = 0; round < rounds; ++round) {
      for (int turn = 0; turn < kSides; ++turn) {
        const Side side = static_cast<Side>((turn + round) % kSides);  // each side goes first equally often
        const double seconds = TimeOf([&] { Run(photo, side, rects); }).cpu;
        times.best[side] = std::min(times.best[side], seconds);
        times.all[side].push_back(seconds);
      }
    }
    return times;
  }

 private:
  void Run(const Photo& photo, Side side, const std::vector<image::Rect>& rects) {
    for (const image::Rect& rect : rects) {
      const absl::StatusOr<bool> done = decoder_.Decode(side == kIndexed ? photo.indexed : photo.plain, rect,
                                                        {.libjpeg_alone = side == kAlone}, &rows_);
      if (!done.ok() || rows_.taken != rect.height) std::abort();
      rows_.Restart();
    }
  }

  image::JpegDecoder decoder_;
  Discard rows_;
};

// Sums over photographs.
struct Totals {
  std::array<double, kSides> best{};
  std::array<std::vector<double>, kSides> to_alone, to_plain;

  void Add(const Times& times, int images) {
    for (int i = 0; i < kSides; ++i) {
      const Side side = static_cast<Side>(i);
      best[side] += times.best[side] / images;
      to_alone[side].push_back(times.Ratio(side, kAlone));
      to_plain[side].push_back(times.Ratio(side, kPlain));
    }
  }
  void Print(const char* what, double photos) const {
    static constexpr const char* kNames[] = {"libjpeg-turbo alone", "JpegDecoder", "JpegDecoder, indexed"};
    std::printf("%-26s us an image    to libjpeg alone, median    to plain, median\n", what);
    for (size_t side = 0; side < kSides; ++side) {
      std::printf("  %-24s %11.1f  %18.3f  %6.3f  %10.3f  %6.3f\n", kNames[side], best[side] / photos * 1e6,
                  best[side] / best[kAlone], Median(to_alone[side]), best[side] / best[kPlain], Median(to_plain[side]));
    }
  }
};

std::vector<Photo> ReadPhotos(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  std::vector<Photo> photos;
  for (const std::string& path : paths) {
    auto bytes = ReadWholeFile(path);
    if (!bytes.ok()) continue;
    Photo photo;
    photo.name = std::filesystem::path(path).filename().string();
    photo.plain = *std::move(bytes);
    const auto header = image::ProbeImage(photo.plain);
    if (!header.ok()) continue;
    photo.header = *header;
    absl::StatusOr<std::string> indexed;
    photo.transcode_s = 1e9;
    for (int i = 0; i < 3; ++i) {
      photo.transcode_s = std::min(
          photo.transcode_s, TimeOf([&] { indexed = image::AddRestartIndex(photo.plain, image::ImageLimits()); }).cpu);
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
    std::fprintf(stderr, "usage: jpeg_bench FOLDER [--crops=20] [--rounds=15] [--per-photo=1]\n");
    return 2;
  }
  const int crops = std::atoi(Flag(argc, argv, "crops", "20").c_str());
  const int rounds = std::atoi(Flag(argc, argv, "rounds", "15").c_str());
  const bool each = Flag(argc, argv, "per-photo", "0") != "0";
  const std::vector<Photo> photos = ReadPhotos(argv[1]);
  if (photos.empty()) {
    std::fprintf(stderr, "jpeg_bench: there is no photograph in %s\n", argv[1]);
    return 1;
  }
  Decodes decodes;
  Totals crop_totals, whole_totals;
  double plain_bytes = 0, indexed_bytes = 0, transcode = 0, worst_size = 0;
  for (size_t i = 0; i < photos.size(); ++i) {
    const Photo& photo = photos[i];
    SampleRandom random(1, i, 0);
    std::vector<image::Rect> rects;
    for (int k = 0; k < crops; ++k) {
      rects.push_back(DrawCrop(photo.header.width, photo.header.height, &random));
    }
    const Times of_crops = decodes.Measure(photo, rects, rounds);
    const Times of_whole =
        decodes.Measure(photo, {{0, 0, photo.header.width, photo.header.height}}, std::max(1, rounds / 3));
    crop_totals.Add(of_crops, crops);
    whole_totals.Add(of_whole, 1);
    const double size = static_cast<double>(photo.indexed.size()) / static_cast<double>(photo.plain.size());
    plain_bytes += static_cast<double>(photo.plain.size());
    indexed_bytes += static_cast<double>(photo.indexed.size());
    transcode += photo.transcode_s;
    worst_size = std::max(worst_size, size);
    if (each) {
      std::printf("%-44s %4d x %4d  crops: plain %.3f, indexed %.3f of libjpeg alone  size %.4f\n", photo.name.c_str(),
                  photo.header.width, photo.header.height, of_crops.Ratio(kPlain, kAlone),
                  of_crops.Ratio(kIndexed, kAlone), size);
    }
  }
  const double n = static_cast<double>(photos.size());
  std::printf("photographs %zu, crops each %d, rounds %d, one thread, CPU time\n\n", photos.size(), crops, rounds);
  crop_totals.Print("crops", n);
  whole_totals.Print("whole images", n);
  std::printf("\nindexed files: %.4f of the size in the sum, %.4f at worst; transcoding %.2f ms each\n",
              indexed_bytes / plain_bytes, worst_size, transcode / n * 1e3);
  return 0;
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) { return penstock::bench::Main(argc, argv); }
