#include "softmax_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

void PoolImage(const uint8_t* image, int height, int width, float* features) {
  constexpr int kSide = SoftmaxModel::kSide;
  for (int y = 0; y < kSide; ++y) {
    const int top = y * height / kSide, bottom = (y + 1) * height / kSide;
    for (int x = 0; x < kSide; ++x) {
      const int left = x * width / kSide, right = (x + 1) * width / kSide;
      uint32_t sum[3] = {};
      for (int row = top; row < bottom; ++row) {
        const uint8_t* pixel = image + (static_cast<size_t>(row) * width + left) * 3;
        for (int column = left; column < right; ++column, pixel += 3) {
          sum[0] += pixel[0];
          sum[1] += pixel[1];
          sum[2] += pixel[2];
        }
      }
      const float scale = 1.0f / (127.5f * static_cast<float>((bottom - top) * (right - left)));
      for (const uint32_t channel : sum) *features++ = static_cast<float>(channel) * scale - 1.0f;
    }
  }
  *features = 1.0f;
}

void SoftmaxModel::GrowTo(int classes) {
  if (classes <= classes_) return;
  classes_ = classes;
  for (std::vector<float>* v : {&weights_, &first_, &second_}) v->resize(static_cast<size_t>(classes) * kFeatures);
}

SoftmaxModel::Result SoftmaxModel::Train(const uint8_t* images, const int64_t* labels, const uint8_t* valid,
                                         size_t rows, int height, int width) {
  for (size_t i = 0; i < rows; ++i) {
    if (valid[i] != 0) GrowTo(static_cast<int>(labels[i]) + 1);
  }
  Result result;
  std::vector<float> gradient(weights_.size());
  std::vector<float> features(kFeatures);
  std::vector<float> scores(classes_);
  for (size_t i = 0; i < rows; ++i) {
    if (valid[i] == 0) continue;
    PoolImage(images + i * height * width * kChannels, height, width, features.data());
    for (int c = 0; c < classes_; ++c) {
      const float* w = &weights_[static_cast<size_t>(c) * kFeatures];
      float score = 0;
      for (int f = 0; f < kFeatures; ++f) score += w[f] * features[f];
      scores[c] = score;
    }
    const int best = static_cast<int>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    const float highest = scores[best];
    float total = 0;
    for (float& score : scores) total += score = std::exp(score - highest);
    const int label = static_cast<int>(labels[i]);
    result.loss -= std::log(std::max(scores[label] / total, 1e-30f));
    result.correct += best == label ? 1 : 0;
    ++result.rows;
    for (int c = 0; c < classes_; ++c) {
      const float error = scores[c] / total - (c == label ? 1.0f : 0.0f);
      float* g = &gradient[static_cast<size_t>(c) * kFeatures];
      for (int f = 0; f < kFeatures; ++f) g[f] += error * features[f];
    }
  }
  if (result.rows == 0) return result;

  // Adam (Kingma and Ba, 2015), with its usual constants.
  constexpr float kRate = 0.003f, kBeta1 = 0.9f, kBeta2 = 0.999f, kEpsilon = 1e-8f;
  ++steps_;
  const float correct1 = 1.0f - static_cast<float>(std::pow(kBeta1, steps_));
  const float correct2 = 1.0f - static_cast<float>(std::pow(kBeta2, steps_));
  for (size_t i = 0; i < weights_.size(); ++i) {
    const float g = gradient[i] / static_cast<float>(result.rows);
    first_[i] = kBeta1 * first_[i] + (1 - kBeta1) * g;
    second_[i] = kBeta2 * second_[i] + (1 - kBeta2) * g * g;
    weights_[i] -= kRate * (first_[i] / correct1) / (std::sqrt(second_[i] / correct2) + kEpsilon);
  }
  return result;
}
