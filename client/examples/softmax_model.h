// Softmax regression on reduced images: the model of the example, which learns within seconds.
#ifndef PENSTOCK_CLIENT_EXAMPLES_SOFTMAX_MODEL_H_
#define PENSTOCK_CLIENT_EXAMPLES_SOFTMAX_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

class SoftmaxModel {
 public:
  static constexpr int kSide = 16;  // images are averaged down to kSide x kSide
  static constexpr int kChannels = 3;
  static constexpr int kFeatures = kSide * kSide * kChannels + 1;  // and a constant

  struct Result {
    double loss = 0;  // sum over the rows, before the update
    uint64_t correct = 0;
    uint64_t rows = 0;
  };

  // With 0 classes, the model adds classes as their labels arrive.
  explicit SoftmaxModel(int classes) { GrowTo(classes); }

  // Makes one step of Adam on `rows` uint8 images of height x width x 3. Ignores rows with valid[i] == 0.
  Result Train(const uint8_t* images, const int64_t* labels, const uint8_t* valid, size_t rows, int height, int width);

 private:
  void GrowTo(int classes);

  int classes_ = 0;
  int64_t steps_ = 0;
  std::vector<float> weights_, first_, second_;  // classes x kFeatures
};

// Averages an image of height x width x 3 down to kSide x kSide numbers around 0, and appends the constant. Height and
// width must be at least kSide.
void PoolImage(const uint8_t* image, int height, int width, float* features);

#endif  // PENSTOCK_CLIENT_EXAMPLES_SOFTMAX_MODEL_H_
