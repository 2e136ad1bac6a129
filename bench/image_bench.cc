// The image path on one thread: the standard recipe and the resize alone, against OpenCV's and Pillow's.
//
//   image_bench --folder=DIR [--turns=9] [--crops=2] [--pillow=PYTHON] [--pillow_script=FILE]
//   [--only=recipe|opencv|resize]
//
// DIR: a folder of JPEGs. Each side makes --crops crops of each, with the draws of random_resized_crop. In every turn
// all sides make the same crops one after the other, so that other work on the machine disturbs all of them. Times are
// CPU times of the thread. `best` is the ratio of the best turns, `median` the median of the turns' ratios. --pillow:
// a Python with Pillow (image.sh creates one). Pillow decodes, crops and resizes. Unlike ours, it neither mirrors nor
// copies into a batch. --only: repeats one side, for a profiler.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "bench/bench_support.h"
#include "bench/peer_process.h"
#include "pipeline/augment/ops/geometry/resized_crop.h"
#include "pipeline/augment/value/lazy_image.h"
#include "tests/support/test_dataset.h"

namespace penstock::bench {
namespace {

constexpr int kSide = 224, kCropSide = 350;
constexpr size_t kRowBytes = size_t{kSide} * kSide * 3;
constexpr size_t kRing = 256;  // slots for rows, as a batch has them

struct Crop {
  size_t photo;
  image::Rect rect;
  bool flip;
};

struct Work {
  std::vector<std::string> paths, jpegs;
  std::vector<Crop> crops;
};

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "image_bench: %s\n", message.c_str());
  std::exit(1);
}

Work MakeWork(const std::string& folder, int crops) {
  Work work;
  if (!std::filesystem::is_directory(folder)) Die("give --folder=DIR of *.jpg, *.jpeg or *.JPEG files");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string suffix = entry.path().extension().string();
    if (suffix == ".jpg" || suffix == ".jpeg" || suffix == ".JPEG") work.paths.push_back(entry.path().string());
  }
  std::sort(work.paths.begin(), work.paths.end());
  if (work.paths.empty()) Die("no JPEGs in " + folder);
  for (size_t i = 0; i < work.paths.size(); ++i) {
    work.jpegs.push_back(ReadWholeFile(work.paths[i]).value());
    const auto header = image::ProbeImage(work.jpegs[i]);
    if (!header.ok()) Die(work.paths[i] + ": " + header.status().ToString());
    SampleRandom random(17, i, 0);
    for (int k = 0; k < crops; ++k) {
      const image::Rect rect = augment::DrawResizedCrop(augment::CropDraw(), header->width, header->height, &random);
      work.crops.push_back({i, rect, random.Chance(0.5)});
    }
  }
  return work;
}

// Our own path, as a job's ops use it: it decodes nothing before it knows the row's place.
class Recipe {
 public:
  explicit Recipe(image::ResizeMethod method) : method_(method), ring_(kRing * kRowBytes) {}

  void operator()(const Work& work) {
    for (size_t i = 0; i < work.crops.size(); ++i) {
      const Crop& crop = work.crops[i];
      const std::string& jpeg = work.jpegs[crop.photo];
      const auto header = image::ProbeImage(jpeg);
      if (!header.ok()) Die(header.status().ToString());
      LazyImage image = LazyImage::Encoded({.bytes = jpeg, .header = *header});
      image.Crop(crop.rect);
      image.Resize(kSide, kSide, method_, image::ResizeFilter::kBilinear);
      if (crop.flip) image.Flip();
      bool damaged = false;
      const absl::Status status = image.Store(&tools_, ring_.data() + i % kRing * kRowBytes, kSide * 3, &damaged);
      if (!status.ok()) Die(work.paths[crop.photo] + ": " + status.ToString());
      tools_.arena.Reset(size_t{1} << 24);
    }
  }

 private:
  const image::ResizeMethod method_;
  ImageTools tools_;
  std::vector<uint8_t> ring_;
};

// The code that a user would write with our crop decoder.
class OpencvRecipe {
 public:
  OpencvRecipe() : ring_(kRing * kRowBytes) { cv::setNumThreads(1); }

  void operator()(const Work& work) {
    for (size_t i = 0; i < work.crops.size(); ++i) {
      const Crop& crop = work.crops[i];
      const size_t stride = static_cast<size_t>(crop.rect.width) * 3;
      pixels_.resize(std::max(pixels_.size(), stride * static_cast<size_t>(crop.rect.height)));
      if (!decoder_.Decode(work.jpegs[crop.photo], crop.rect, {}, pixels_.data(), stride).ok()) Die("decode");
      const cv::Mat source(crop.rect.height, crop.rect.width, CV_8UC3, pixels_.data(), stride);
      cv::Mat out(kSide, kSide, CV_8UC3, ring_.data() + i % kRing * kRowBytes);
      if (crop.flip) {
        cv::resize(source, resized_, out.size(), 0, 0, cv::INTER_LINEAR);
        cv::flip(resized_, out, 1);
      } else {
        cv::resize(source, out, out.size(), 0, 0, cv::INTER_LINEAR);
      }
    }
  }

 private:
  image::JpegDecoder decoder_;
  std::vector<uint8_t> pixels_, ring_;
  cv::Mat resized_{kSide, kSide, CV_8UC3};
};

double CpuSeconds(const std::function<void()>& work) {
  const double begin = SecondsOf(CLOCK_THREAD_CPUTIME_ID);
  work();
  return SecondsOf(CLOCK_THREAD_CPUTIME_ID) - begin;
}

// One side of the table, with the seconds per image of each turn.
struct Side {
  std::string name;
  std::function<double()> turn;
  std::vector<double> seconds = {};
  double best() const { return *std::min_element(seconds.begin(), seconds.end()); }
};

void RunTurns(int turns, std::vector<Side>* sides) {
  for (Side& side : *sides) side.turn();  // grows buffers and touches pages
  for (int turn = 0; turn < turns; ++turn) {
    for (size_t k = 0; k < sides->size(); ++k) {  // each side is first in some turns
      Side& side = (*sides)[(k + static_cast<size_t>(turn)) % sides->size()];
      side.seconds.push_back(side.turn());
    }
  }
}

// Prints a line for each other side. Ours is sides[0].
void Print(const char* title, const std::vector<Side>& sides) {
  std::printf("\n%s\n  %-44s %10s %14s %14s\n", title, "", "us an image", "ours / it best", "median");
  for (const Side& side : sides) {
    std::vector<double> ratios;
    for (size_t i = 0; i < side.seconds.size(); ++i) ratios.push_back(sides[0].seconds[i] / side.seconds[i]);
    std::printf("  %-44s %10.1f %14.3f %14.3f\n", side.name.c_str(), 1e6 * side.best(), sides[0].best() / side.best(),
                Median(ratios));
  }
}

Side ResizeSide(const std::string& name, image::ResizeMethod method, image::ResizeFilter filter,
                const image::ImageView& view, int repeats) {
  auto resizer = std::make_shared<image::Resizer>();
  auto out = std::make_shared<std::vector<uint8_t>>(kRowBytes);
  return {name, [=] {
            const image::ResizePlan plan{.box_width = kCropSide,
                                         .box_height = kCropSide,
                                         .out_width = kSide,
                                         .out_height = kSide,
                                         .window = {0, 0, kSide, kSide},
                                         .method = method,
                                         .filter = filter};
            const size_t row = static_cast<size_t>(kSide * view.channels);
            return CpuSeconds([&] {
                     for (int i = 0; i < repeats; ++i) {
                       if (!resizer->Run(plan, view, {0, 0, kCropSide, kCropSide}, out->data(), row).ok())
                         Die("resize");
                     }
                   }) /
                   repeats;
          }};
}

Side OpencvResizeSide(const std::string& name, int method, const image::ImageView& view, int repeats) {
  auto out = std::make_shared<cv::Mat>(kSide, kSide, CV_8UC(view.channels));
  return {name, [=] {
            const cv::Mat in(kCropSide, kCropSide, CV_8UC(view.channels), const_cast<uint8_t*>(view.data), view.stride);
            return CpuSeconds([&] {
                     for (int i = 0; i < repeats; ++i) cv::resize(in, *out, out->size(), 0, 0, method);
                   }) /
                   repeats;
          }};
}

int Main(int argc, char** argv) {
  const int turns = std::stoi(Flag(argc, argv, "turns", "9"));
  const std::string only = Flag(argc, argv, "only", ""), python = Flag(argc, argv, "pillow", "");
  const Work work = MakeWork(Flag(argc, argv, "folder", ""), std::stoi(Flag(argc, argv, "crops", "2")));
  const double images = static_cast<double>(work.crops.size());
  Recipe pil(image::ResizeMethod::kPil), tf(image::ResizeMethod::kTfBilinearAntialias);
  OpencvRecipe opencv;
  std::vector<uint8_t> pixels(size_t{kCropSide} * kCropSide * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * i % 251 + i / 1050 % 5);
  const image::ImageView rgb{pixels.data(), kCropSide, kCropSide, 3, kCropSide * 3};
  const image::ImageView gray{pixels.data(), kCropSide, kCropSide, 1, kCropSide};

  if (!only.empty()) {
    Side resize = ResizeSide("", image::ResizeMethod::kPil, image::ResizeFilter::kBilinear, rgb, 2000);
    for (int turn = 0; turn < turns; ++turn) {
      const double seconds = only == "resize"   ? resize.turn()
                             : only == "opencv" ? CpuSeconds([&] { opencv(work); }) / images
                                                : CpuSeconds([&] { pil(work); }) / images;
      std::printf("%.1f us an image\n", 1e6 * seconds);
    }
    return 0;
  }

  support::TempFolder folder;
  std::unique_ptr<PeerProcess> pillow;
  if (!python.empty()) {
    std::string list;
    for (const Crop& crop : work.crops) {
      for (const int number : {crop.rect.x, crop.rect.y, crop.rect.width, crop.rect.height}) {
        list += std::to_string(number) + " ";
      }
      list += work.paths[crop.photo] + "\n";
    }
    if (!WriteFileAtomically(folder.File("crops"), list).ok()) Die("cannot write the list of crops");
    pillow = std::make_unique<PeerProcess>(std::vector<std::string>{
        python, Flag(argc, argv, "pillow_script", "bench/peers/pillow_image.py"), folder.File("crops")});
  }
  const auto ask = [&](const std::string& line) { return [&pillow, line] { return std::stod(pillow->Ask(line)); }; };
  std::printf("%zu photographs, %zu crops, %d turns%s%s\n", work.jpegs.size(), work.crops.size(), turns,
              pillow ? ", Pillow " : "", pillow ? pillow->Ask("version").c_str() : "");

  std::vector<Side> sides = {
      {"ours, PIL bilinear", [&] { return CpuSeconds([&] { pil(work); }) / images; }},
      {"our decoder, cv::resize INTER_LINEAR, cv::flip", [&] { return CpuSeconds([&] { opencv(work); }) / images; }},
      {"ours, TF_BILINEAR antialias", [&] { return CpuSeconds([&] { tf(work); }) / images; }},
  };
  if (pillow) sides.push_back({"Pillow open, convert, crop, resize", ask("crops")});
  RunTurns(turns, &sides);
  Print("random_resized_crop 224 and flip", sides);

  const int repeats = 200;
  struct Case {
    const char* title;
    image::ResizeFilter filter;
    const image::ImageView* view;
    const char* pillow_words;  // filter and mode
    int opencv_method;
    bool tf;
  };
  const Case cases[] = {
      {"350x350 to 224x224, RGB, bilinear", image::ResizeFilter::kBilinear, &rgb, "BILINEAR RGB", cv::INTER_LINEAR,
       true},
      {"350x350 to 224x224, RGB, bicubic", image::ResizeFilter::kBicubic, &rgb, "BICUBIC RGB", cv::INTER_CUBIC, false},
      {"350x350 to 224x224, RGB, Lanczos", image::ResizeFilter::kLanczos, &rgb, "LANCZOS RGB", cv::INTER_LANCZOS4,
       false},
      {"350x350 to 224x224, gray, bilinear", image::ResizeFilter::kBilinear, &gray, "BILINEAR L", cv::INTER_LINEAR,
       false},
  };
  for (const Case& each : cases) {
    sides = {ResizeSide("ours, PIL", image::ResizeMethod::kPil, each.filter, *each.view, repeats),
             OpencvResizeSide("cv::resize, not antialiased", each.opencv_method, *each.view, repeats)};
    if (each.tf) {
      sides.push_back(ResizeSide("ours, TF_BILINEAR antialias", image::ResizeMethod::kTfBilinearAntialias, each.filter,
                                 *each.view, repeats));
      sides.push_back(ResizeSide("ours, TF_BILINEAR no_antialias", image::ResizeMethod::kTfBilinear, each.filter,
                                 *each.view, repeats));
    }
    if (pillow) sides.push_back({"Pillow", ask(std::string("resize ") + each.pillow_words)});
    RunTurns(turns, &sides);
    Print(each.title, sides);
  }
  return 0;
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) { return penstock::bench::Main(argc, argv); }
