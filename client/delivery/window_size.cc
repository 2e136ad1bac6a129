#include "client/delivery/window_size.h"

#include <algorithm>
#include <cmath>

namespace penstock::client {
namespace {

constexpr Nanos kStretch = 300 * kMillisecond;
constexpr size_t kMaxOpened = 1024;  // few streams never get an answer

}  // namespace

void WindowSize::Opened(uint64_t stream, Nanos now) {
  if (opened_.size() >= kMaxOpened) opened_.clear();
  opened_[stream] = now;
}

void WindowSize::Heard(uint64_t stream, Nanos now) {
  if (opened_.empty()) return;
  const auto it = opened_.find(stream);
  if (it == opened_.end()) return;
  farthest_ = std::max(farthest_, std::min(now - it->second, kLongestPath));
  opened_.erase(it);
}

void WindowSize::StepTaken(Nanos now) {
  if (stretch_began_ < 0) {
    stretch_began_ = now;
    return;
  }
  ++taken_;
  const Nanos length = now - stretch_began_;
  if (length < kStretch) return;
  const double during = static_cast<double>(taken_) * static_cast<double>(farthest_) / static_cast<double>(length);
  steps_ = std::clamp(static_cast<uint64_t>(std::ceil(2 * during)), steps_, std::max(steps_, most_));
  stretch_began_ = now;
  taken_ = 0;
}

}  // namespace penstock::client
