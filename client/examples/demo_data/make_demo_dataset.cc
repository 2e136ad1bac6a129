// make_demo_dataset DIR [IMAGES [SHARDS]]: generates a data set for the demo and for experiments.
//
// Writes class-sorted TFRecord shards of JPEGs, one class per shard (ten classes; shard s has class s * 10 / SHARDS).
// Images have the sizes and the bytes per pixel of photographs (long side 375 to 600, about 0.6 bytes per pixel), and
// noise at every scale. Their colors and shapes identify the class, so that a linear model on small images learns.
// Existing shards stay. The content depends only on the arguments.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "base/cgroup.h"
#include "base/philox.h"
#include "base/status_macros.h"
#include "pipeline/image/jpeg/jpeg_encoder.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/sources/tfrecord/tfrecord_writer.h"
#include "pipeline/storage/posix_storage.h"

namespace penstock {
namespace {

constexpr int kClasses = 10;
constexpr int kTextureSide = 1024;
constexpr uint64_t kSeed = 20;

// These values result in 0.59 bytes per pixel on average, as in photographs for the web.
constexpr double kGrain = 9.0;
constexpr int kQuality = 94;

// Noise with equal contrast per octave, as natural images have (D. Field, 1987), about 0 with deviation about 1.
// Computed once. Each image is a part of it.
cv::Mat MakeTexture(uint64_t number) {
  cv::RNG rng(kSeed * 1000 + number);
  cv::Mat sum = cv::Mat::zeros(kTextureSide, kTextureSide, CV_32FC3);
  for (int side = 4; side <= kTextureSide; side *= 2) {
    cv::Mat noise(side, side, CV_32FC3), large;
    rng.fill(noise, cv::RNG::NORMAL, 0, 0.35);
    cv::resize(noise, large, sum.size(), 0, 0, cv::INTER_CUBIC);
    sum += large;
  }
  return sum;
}

cv::Scalar ClassColor(int label, double value) {
  const cv::Mat hsv(1, 1, CV_8UC3, cv::Scalar(label * 180.0 / kClasses, 110, value));
  cv::Mat bgr;
  cv::cvtColor(hsv, bgr, cv::COLOR_HSV2BGR);
  const cv::Vec3b color = bgr.at<cv::Vec3b>(0, 0);
  return {double(color[0]), double(color[1]), double(color[2])};
}

// Draws shapes of the class in the class's next color.
void DrawShapes(int label, SampleRandom* random, cv::Mat* image) {
  const int count = 2 + static_cast<int>(random->Below(4));
  for (int i = 0; i < count; ++i) {
    const int size = image->rows / 10 + static_cast<int>(random->Below(image->rows / 5));
    const cv::Point at(static_cast<int>(random->Below(image->cols)), static_cast<int>(random->Below(image->rows)));
    const cv::Scalar color = ClassColor((label * 3 + 4) % kClasses, random->Uniform(90, 230));
    const cv::Point reach(size, static_cast<int>(size * random->Uniform(0.5, 1.0)));
    switch (label % 3) {
      case 0:
        cv::ellipse(*image, at, cv::Size(reach), random->Uniform(0, 180), 0, 360, color, cv::FILLED, cv::LINE_AA);
        break;
      case 1:
        cv::rectangle(*image, at - reach, at + reach, color, cv::FILLED);
        break;
      default:
        cv::line(*image, at - 2 * reach, at + 2 * reach, color, std::max(2, size / 4), cv::LINE_AA);
    }
  }
}

cv::Mat MakeImage(int label, const std::vector<cv::Mat>& textures, SampleRandom* random) {
  static constexpr double kAspects[] = {4.0 / 3, 4.0 / 3, 3.0 / 2, 3.0 / 4, 1.0};
  const double aspect = kAspects[random->Below(5)];
  const int longer = 375 + static_cast<int>(random->Below(226));
  const int width = aspect >= 1 ? longer : static_cast<int>(longer * aspect);
  const int height = aspect >= 1 ? static_cast<int>(longer / aspect) : longer;

  cv::Mat image(height, width, CV_8UC3, ClassColor(label, random->Uniform(100, 220)));
  DrawShapes(label, random, &image);

  const cv::Mat& texture = textures[random->Below(static_cast<uint32_t>(textures.size()))];
  const cv::Rect window(static_cast<int>(random->Below(kTextureSide - width)),
                        static_cast<int>(random->Below(kTextureSide - height)), width, height);
  cv::Mat noisy;
  image.convertTo(noisy, CV_32FC3);
  noisy += texture(window) * random->Uniform(14, 34);
  const cv::Mat& grain = textures[random->Below(static_cast<uint32_t>(textures.size()))];
  // The difference of neighbors leaves only the finest scale: a camera's noise.
  const cv::Rect beside(window.x ? window.x - 1 : 1, window.y, width, height);
  noisy += (grain(window) - grain(beside)) * (kGrain * random->Uniform(0.6, 1.4));
  noisy.convertTo(image, CV_8UC3);
  return image;
}

absl::Status WriteShard(const std::string& path, int shard, int shards, int64_t images,
                        const std::vector<cv::Mat>& textures, std::atomic<uint64_t>* bytes) {
  PS_ASSIGN_OR_RETURN(std::unique_ptr<sources::TFRecordWriter> writer,
                      sources::TFRecordWriter::Open(storage::LocalFiles(), path));
  const int label = static_cast<int>(int64_t{shard} * kClasses / shards);
  const int64_t first = images * shard / shards, last = images * (shard + 1) / shards;
  for (int64_t number = first; number < last; ++number) {
    SampleRandom random(kSeed, static_cast<uint64_t>(number), 0);
    cv::Mat rgb;
    cv::cvtColor(MakeImage(label, textures, &random), rgb, cv::COLOR_BGR2RGB);
    PS_ASSIGN_OR_RETURN(const std::string encoded, image::EncodeJpeg({rgb.data, rgb.cols, rgb.rows, 3, rgb.step},
                                                                     {.quality = kQuality, .optimize = false}));
    *bytes += encoded.size();
    PS_RETURN_IF_ERROR(writer->Write(records::ExampleBuilder()
                                         .Bytes("image/encoded", encoded)
                                         .Int64("image/class/label", label)
                                         .Bytes("image/filename", absl::StrFormat("%06d.jpg", number))
                                         .Serialize()));
  }
  return writer->Close();
}

int Run(const std::string& folder, int64_t images, int shards) {
  cv::setNumThreads(1);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    absl::FPrintF(stderr, "make_demo_dataset: %s: %s\n", folder, error.message());
    return 1;
  }

  std::vector<std::string> paths(shards);
  std::vector<int> missing;
  for (int shard = 0; shard < shards; ++shard) {
    paths[shard] = absl::StrFormat("%s/demo-%05d-of-%05d", folder, shard, shards);
    if (!std::filesystem::exists(paths[shard])) missing.push_back(shard);
  }
  std::vector<cv::Mat> textures;
  for (uint64_t number = 0; !missing.empty() && number < 8; ++number) textures.push_back(MakeTexture(number));

  std::atomic<size_t> next{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<bool> failed{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < std::min<int>(AvailableCpus(), static_cast<int>(missing.size())); ++i) {
    threads.emplace_back([&] {
      for (size_t at; !failed && (at = next++) < missing.size();) {
        const int shard = missing[at];
        absl::Status status;
        try {
          status = WriteShard(paths[shard], shard, shards, images, textures, &bytes);
        } catch (const cv::Exception& exception) {
          status = absl::InternalError(exception.what());
        }
        if (!status.ok()) {
          failed = true;
          absl::FPrintF(stderr, "make_demo_dataset: %s: %s\n", paths[shard], std::string(status.message()));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failed) return 1;
  absl::PrintF("%d images in %d shards (%d of them new, %d MB) in %s\n", images, shards,
               static_cast<int>(missing.size()), bytes.load() / 1000000, folder);
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  int64_t images = 3000;
  int shards = 10;
  const bool good = argc >= 2 && argc <= 4 && argv[1][0] != '-' && (argc < 3 || absl::SimpleAtoi(argv[2], &images)) &&
                    (argc < 4 || absl::SimpleAtoi(argv[3], &shards)) && images >= shards && shards >= 1 &&
                    shards <= 99999;
  if (!good) {
    std::fputs("usage: make_demo_dataset DIR [IMAGES [SHARDS]]   (3000 images in 10 shards; IMAGES >= SHARDS)\n",
               stderr);
    return 2;
  }
  return penstock::Run(argv[1], images, shards);
}
