#include "bench/plain_loop.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <thread>

#include "base/hash.h"
#include "base/philox.h"
#include "pipeline/augment/ops/geometry/resized_crop.h"
#include "pipeline/image/image_header.h"
#include "pipeline/image/jpeg/jpeg_decoder.h"

namespace penstock::bench {
namespace {

constexpr size_t kRing = 512;  // slots for rows, as many as in a few batches

}  // namespace

uint64_t SumOfRow(const uint8_t* pixels, size_t bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i + 8 <= bytes; i += 8) {
    uint64_t word;
    std::memcpy(&word, pixels + i, 8);
    sum = sum * 31 + word;
  }
  return sum;
}

uint64_t RunPlainLoop(const std::vector<std::string>& jpegs, const v1::JobSpec& job, uint64_t epoch, int threads,
                      bool sum_up) {
  cv::setNumThreads(1);
  const int height = static_cast<int>(job.ops(1).random_resized_crop().height());
  const int width = static_cast<int>(job.ops(1).random_resized_crop().width());
  const size_t row_bytes = static_cast<size_t>(height) * width * 3;
  static std::vector<uint8_t> ring(kRing * row_bytes);  // kept between runs, like the loader's batches
  ring.resize(kRing * row_bytes);
  std::atomic<uint64_t> next{0}, total{0};
  const auto work = [&] {
    image::JpegDecoder decoder;
    std::vector<uint8_t> pixels;
    cv::Mat resized(height, width, CV_8UC3);
    uint64_t sum = 0;
    for (uint64_t i = next.fetch_add(1); i < jpegs.size(); i = next.fetch_add(1)) {
      const auto header = image::ProbeImage(jpegs[i]);
      if (!header.ok()) std::abort();
      SampleRandom crop_random(HashWords({job.order().seed(), epoch, Hash64("1")}), i, 0);
      SampleRandom flip_random(HashWords({job.order().seed(), epoch, Hash64("2")}), i, 0);
      const image::Rect crop =
          augment::DrawResizedCrop(augment::CropDraw(), header->width, header->height, &crop_random);
      const bool flip = flip_random.Chance(0.5);
      const size_t stride = static_cast<size_t>(crop.width) * 3;
      pixels.resize(std::max(pixels.size(), stride * static_cast<size_t>(crop.height)));
      if (!decoder.Decode(jpegs[i], crop, image::JpegOptions(), pixels.data(), stride).ok()) std::abort();
      const cv::Mat source(crop.height, crop.width, CV_8UC3, pixels.data(), stride);
      uint8_t* slot = ring.data() + i % kRing * row_bytes;
      cv::Mat out(height, width, CV_8UC3, slot);
      if (flip) {
        cv::resize(source, resized, out.size(), 0, 0, cv::INTER_LINEAR);
        cv::flip(resized, out, 1);
      } else {
        cv::resize(source, out, out.size(), 0, 0, cv::INTER_LINEAR);
      }
      if (sum_up) sum += SumOfRow(slot, row_bytes);
    }
    total.fetch_add(sum);
  };
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) pool.emplace_back(work);
  for (std::thread& thread : pool) thread.join();
  return total.load();
}

}  // namespace penstock::bench
