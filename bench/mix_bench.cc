// The cost of mixing: CPU time per row of 224 x 224 x 3, on one thread, over rows that exceed the CPU's caches.
//   mix_bench [ROWS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "pipeline/batch/mix_rows.h"

namespace {

using penstock::batch::DType;
using penstock::batch::MixDraw;

constexpr size_t kSide = 224, kElements = kSide * kSide * 3, kClasses = 1000;

// CPU time of this thread, so that other work on the machine counts less.
double CpuMicroseconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

double MicrosecondsPerRow(DType dtype, const MixDraw& draw, size_t rows) {
  const size_t bytes = kElements * penstock::batch::DTypeSize(dtype);
  std::vector<std::byte> images(rows * bytes), labels(rows * kClasses * 4);
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<std::byte>(i * 2654435761u >> 27);
  penstock::batch::MixTensors tensors;
  tensors.image = dtype;
  tensors.image_elements = kElements;
  tensors.pixels = {1, kSide, kSide, 3 * penstock::batch::DTypeSize(dtype)};
  tensors.classes = kClasses;
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const double begin = CpuMicroseconds();
    for (size_t row = 0; row + 1 < rows; row += 2) {
      std::byte* const image_rows[] = {images.data() + row * bytes, images.data() + (row + 1) * bytes};
      std::byte* const label_rows[] = {labels.data() + row * kClasses * 4, labels.data() + (row + 1) * kClasses * 4};
      penstock::batch::MixGroup(tensors, draw, image_rows, label_rows);
    }
    best = std::min(best, (CpuMicroseconds() - begin) / static_cast<double>(rows));
  }
  return best;
}

double CopyMicroseconds(size_t rows) {
  std::vector<std::byte> from(rows * kElements), to(rows * kElements);
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    std::memset(from.data(), round, from.size());
    const double begin = CpuMicroseconds();
    std::memcpy(to.data(), from.data(), from.size());
    best = std::min(best, (CpuMicroseconds() - begin) / static_cast<double>(rows));
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t rows = argc > 1 ? static_cast<size_t>(std::atoi(argv[1])) : 256;
  MixDraw mixup, cutmix;
  mixup.kind = MixDraw::Kind::kMixup;
  mixup.lambda = 0.3;
  cutmix.kind = MixDraw::Kind::kCutmix;  // the mean box of alpha 1 is half the image
  cutmix.lambda = 0.5;
  cutmix.box = {33, 33, 191, 191};
  std::printf("224 x 224 x 3, %zu rows, us per row (the best of 5)\n", rows);
  std::printf("  memcpy of a uint8 row   %7.1f\n", CopyMicroseconds(rows));
  for (const DType dtype : {DType::kUint8, DType::kFloat32, DType::kFloat16, DType::kBfloat16}) {
    std::printf("  mixup  %-16s %7.1f\n", std::string(penstock::batch::DTypeName(dtype)).c_str(),
                MicrosecondsPerRow(dtype, mixup, rows));
  }
  std::printf("  cutmix %-16s %7.1f\n", "uint8", MicrosecondsPerRow(DType::kUint8, cutmix, rows));
}
