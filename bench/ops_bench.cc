// Nanoseconds per input pixel of every op, on one thread and one 224 x 224 x 3 image in memory, next to Pillow's op and
// OpenCV's nearest equivalent. If OpenCV is faster, the last column has the reason.
//
//   ops_bench [--pillow=PYTHON] [--pillow_script=bench/peers/pillow_ops.py] [--turns=15]
//
// The times are the thread's CPU times in the best turn. With --pillow, Pillow then runs the same ops.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "bench/bench_support.h"
#include "google/protobuf/text_format.h"
#include "pipeline/augment/op/op_registry.h"

namespace penstock::bench {
namespace {

constexpr int kSide = 224;
constexpr size_t kBytes = size_t{kSide} * kSide * 3;
constexpr int kRepeats = 10;

using OpenCv = std::function<void(const cv::Mat& in, cv::Mat* out)>;

struct Entry {
  std::string name, arguments;
  OpenCv opencv = nullptr;
  std::string why = "";  // the reason if ours is slower than OpenCV's
};

std::vector<Entry> Entries() {
  const auto scale = [](double factor) {
    return [factor](const cv::Mat& in, cv::Mat* out) { cv::convertScaleAbs(in, *out, factor); };
  };
  const auto table = [](const cv::Mat& in, cv::Mat* out) {
    static const cv::Mat lut = [] {
      cv::Mat m(1, 256, CV_8U);
      for (int i = 0; i < 256; ++i) m.at<uint8_t>(i) = static_cast<uint8_t>(255 - i / 2);
      return m;
    }();
    cv::LUT(in, lut, *out);
  };
  return {
      {"brightness", "min: 1.4 max: 1.4", scale(1.4), "Pillow's float32 blend"},
      {"contrast", "min: 1.4 max: 1.4", scale(1.4), "a pass for the mean luma first"},
      {"saturation", "min: 1.4 max: 1.4"},
      {"hue", "min: 0.1 max: 0.1",
       [](const cv::Mat& in, cv::Mat* out) {
         cv::Mat hsv;
         cv::cvtColor(in, hsv, cv::COLOR_RGB2HSV_FULL);
         cv::add(hsv, cv::Scalar(25, 0, 0), hsv);
         cv::cvtColor(hsv, *out, cv::COLOR_HSV2RGB_FULL);
       },
       "Pillow's HSV: a division for each pixel; OpenCV's 8-bit tables give other colors"},
      {"color_jitter", "brightness: 0.4 contrast: 0.4 saturation: 0.4 hue: 0.1"},
      {"grayscale", "",
       [](const cv::Mat& in, cv::Mat* out) {
         cv::Mat gray;
         cv::cvtColor(in, gray, cv::COLOR_RGB2GRAY);
         cv::cvtColor(gray, *out, cv::COLOR_GRAY2RGB);
       },
       "Pillow's 16-bit luma weights; OpenCV's are 15 bits"},
      {"posterize", "bits: 4",
       [](const cv::Mat& in, cv::Mat* out) { cv::bitwise_and(in, cv::Scalar(240, 240, 240), *out); }},
      {"solarize", "threshold: 128", table},
      {"invert", "", [](const cv::Mat& in, cv::Mat* out) { cv::bitwise_not(in, *out); }, "a table for all point ops"},
      {"equalize", ""},
      {"autocontrast", ""},
      {"sharpness", "min: 1.5 max: 1.5"},
      {"gamma", "min: 0.7 max: 0.7", table},
      {"pca_lighting", ""},
      {"channel_shuffle", "", [](const cv::Mat& in, cv::Mat* out) { cv::cvtColor(in, *out, cv::COLOR_RGB2BGR); },
       "any of the six orders; OpenCV's swap is fixed"},
      {"gaussian_blur", "kernel_size: 9 sigma_min: 1.3 sigma_max: 1.3",
       [](const cv::Mat& in, cv::Mat* out) {
         cv::GaussianBlur(in, *out, {9, 9}, 1.3, 1.3, cv::BORDER_REFLECT_101);
       }},
      {"gaussian_noise", "sigma_min: 10 sigma_max: 10",
       [](const cv::Mat& in, cv::Mat* out) {
         cv::Mat noise(in.size(), CV_16SC3), wide;
         cv::randn(noise, 0, 10);
         in.convertTo(wide, CV_16S);
         cv::add(wide, noise, wide);
         wide.convertTo(*out, CV_8U);
       },
       "our own counter-based draws, the same on every machine"},
      {"jpeg_distortion", "quality_min: 50 quality_max: 50"},
      {"random_erasing", "probability: 1"},
      {"cutout", "size: 64"},
      {"grid_mask", "probability: 1 max_rotation_degrees: 45"},
      {"rotate", "min_degrees: 13.5 max_degrees: 13.5",
       [](const cv::Mat& in, cv::Mat* out) {
         cv::warpAffine(in, *out, cv::getRotationMatrix2D({111.5F, 111.5F}, 13.5, 1), in.size(), cv::INTER_LINEAR);
       },
       "Pillow's sampling positions and blend; OpenCV's are rounded to 1/32 pixel"},
      {"affine", "min_degrees: 13.5 max_degrees: 13.5 min_shear_x_degrees: 5 max_shear_x_degrees: 5",
       [](const cv::Mat& in, cv::Mat* out) {
         cv::warpAffine(in, *out, cv::getRotationMatrix2D({111.5F, 111.5F}, 13.5, 1), in.size(), cv::INTER_LINEAR);
       },
       "as rotate"},
      {"perspective", "probability: 1",
       [](const cv::Mat& in, cv::Mat* out) {
         const cv::Mat map = (cv::Mat_<double>(3, 3) << 0.9, 0.05, 6, 0.04, 0.95, 3, 0.0002, 0.0001, 1);
         cv::warpPerspective(in, *out, map, in.size(), cv::INTER_LINEAR);
       },
       "as rotate, and a division for each pixel"},
      {"zoom_out", "probability: 1 scale_min: 1.5 scale_max: 1.5",
       [](const cv::Mat& in, cv::Mat* out) { cv::copyMakeBorder(in, *out, 30, 82, 30, 82, cv::BORDER_CONSTANT); }},
      {"pad", "left: 16 top: 16 right: 16 bottom: 16 mode: REFLECT",
       [](const cv::Mat& in, cv::Mat* out) { cv::copyMakeBorder(in, *out, 16, 16, 16, 16, cv::BORDER_REFLECT_101); },
       "mirrored columns are copied pixel by pixel in every row"},
      {"random_crop", "height: 200 width: 200 padding: 4",
       [](const cv::Mat& in, cv::Mat* out) { in(cv::Rect(10, 12, 200, 200)).copyTo(*out); }, "pads first, on a copy"},
      {"center_crop", "height: 200 width: 200",
       [](const cv::Mat& in, cv::Mat* out) { in(cv::Rect(12, 12, 200, 200)).copyTo(*out); }},
      {"five_crop", "height: 112 width: 112"},
      {"ten_crop", "height: 112 width: 112"},
      {"random_horizontal_flip", "probability: 1", [](const cv::Mat& in, cv::Mat* out) { cv::flip(in, *out, 1); }},
      {"random_vertical_flip", "probability: 1", [](const cv::Mat& in, cv::Mat* out) { cv::flip(in, *out, 0); }},
      {"resize", "height: 160 width: 160",
       [](const cv::Mat& in, cv::Mat* out) {
         cv::resize(in, *out, {160, 160}, 0, 0, cv::INTER_LINEAR);
       },
       "antialiased: more source pixels for each of the result"},
      {"random_resized_crop", "height: 224 width: 224",
       [](const cv::Mat& in, cv::Mat* out) {
         cv::resize(in(cv::Rect(30, 30, 160, 160)), *out, {224, 224}, 0, 0, cv::INTER_LINEAR);
       },
       "two passes with Pillow's 22-bit weights"},
      {"normalize", "preset: 'imagenet'"},
      {"rand_augment", ""},
      {"trivial_augment_wide", ""},
      {"auto_augment", ""},
      {"augmix", ""},
  };
}

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "ops_bench: %s\n", message.c_str());
  std::exit(1);
}

// Returns the best nanoseconds per pixel.
double Measure(int turns, const std::function<void(uint64_t)>& work) {
  work(0);
  double best = 1e30;
  for (int turn = 0; turn < turns; ++turn) {
    const double begin = SecondsOf(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < kRepeats; ++i) work(static_cast<uint64_t>(i));
    best = std::min(best, (SecondsOf(CLOCK_THREAD_CPUTIME_ID) - begin) / kRepeats);
  }
  return best * 1e9 / (kSide * kSide);
}

std::string FlagOf(int argc, char** argv, const std::string& name, const std::string& otherwise) {
  const std::string prefix = "--" + name + "=";
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], prefix.c_str(), prefix.size()) == 0) return argv[i] + prefix.size();
  }
  return otherwise;
}

// Parses lines "OP NANOSECONDS".
std::map<std::string, double> RunPillow(const std::string& python, const std::string& script) {
  std::map<std::string, double> result;
  if (python.empty()) return result;
  FILE* pipe = popen((python + " " + script).c_str(), "r");
  if (pipe == nullptr) Die("cannot run " + python);
  char name[64];
  double value = 0;
  while (std::fscanf(pipe, "%63s %lf", name, &value) == 2) result[name] = value;
  if (pclose(pipe) != 0) Die(script + " failed (above)");
  return result;
}

double MeasureOurs(const Entry& entry, int turns, const image::ImageView& image) {
  v1::Op spec;
  if (!google::protobuf::TextFormat::ParseFromString(entry.name + " { " + entry.arguments + " }", &spec)) {
    Die(entry.name + ": no such op");
  }
  std::vector<std::string> errors;
  OpSetup setup;
  setup.spec = &spec;
  setup.input.shape = {kSide, kSide, 3};
  setup.path = setup.random_path = entry.name;
  setup.column = "image";
  setup.errors = &errors;
  ValueType output;
  const auto op = FindOp(entry.name)(setup, &output);
  if (op == nullptr) Die(errors.empty() ? entry.name : errors[0]);
  ImageTools tools;
  bool damaged = false;
  return Measure(turns, [&](uint64_t id) {
    tools.arena.Reset(size_t{8} << 20);
    Value value;
    value.image = LazyImage::InMemory(image);
    OpContext context;
    context.tools = &tools;
    context.key = {.seed = 3, .record_id = id};
    context.random = context.key.RandomOf(1);
    context.damaged = &damaged;
    absl::Status status = op->Apply(&context, &value);
    if (status.ok() && op->MakesImage()) status = value.image.Realize(&tools, &damaged);  // crops and flips are lazy
    if (!status.ok()) Die(entry.name + ": " + std::string(status.message()));
  });
}

int Main(int argc, char** argv) {
  cv::setNumThreads(1);
  const int turns = std::atoi(FlagOf(argc, argv, "turns", "15").c_str());
  std::vector<uint8_t> pixels(kBytes);
  SampleRandom random(1, 2, 3);
  for (int y = 0; y < kSide; ++y) {  // smooth, with some noise
    for (int x = 0; x < kSide * 3; ++x) {
      pixels[static_cast<size_t>(y * kSide * 3 + x)] =
          static_cast<uint8_t>(std::min(255, x / 6 + y / 2 + static_cast<int>(random.Below(20))));
    }
  }
  const image::ImageView image{pixels.data(), kSide, kSide, 3, kSide * 3};
  const cv::Mat mat(kSide, kSide, CV_8UC3, pixels.data());
  const auto pillow =
      RunPillow(FlagOf(argc, argv, "pillow", ""), FlagOf(argc, argv, "pillow_script", "bench/peers/pillow_ops.py"));
  std::printf("%-22s %8s %8s %8s %12s %12s\n", "ns a pixel", "ours", "Pillow", "OpenCV", "ours/Pillow", "ours/OpenCV");
  for (const Entry& entry : Entries()) {
    const double ours = MeasureOurs(entry, turns, image);
    double theirs = 0;
    if (entry.opencv != nullptr) {
      cv::Mat result;
      theirs = Measure(turns, [&](uint64_t) { entry.opencv(mat, &result); });
    }
    const auto found = pillow.find(entry.name);
    const double pil = found == pillow.end() ? 0 : found->second;
    const auto cell = [](double value) { return value > 0 ? cv::format("%.2f", value) : std::string("-"); };
    std::printf("%-22s %8.2f %8s %8s %12s %12s  %s\n", entry.name.c_str(), ours, cell(pil).c_str(),
                cell(theirs).c_str(), cell(pil > 0 ? ours / pil : 0).c_str(),
                cell(theirs > 0 ? ours / theirs : 0).c_str(), theirs > 0 && ours > theirs ? entry.why.c_str() : "");
  }
  return 0;
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) { return penstock::bench::Main(argc, argv); }
