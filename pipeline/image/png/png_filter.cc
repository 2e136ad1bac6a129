#include "pipeline/image/png/png_filter.h"

#include <cstdlib>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/image/png/png_filter.cc"
#include "hwy/foreach_target.h"
// Must follow foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace penstock::image {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
namespace hn = hwy::HWY_NAMESPACE;

// Each pixel depends on the previous one, so a vector holds one pixel.
constexpr hn::FixedTag<uint8_t, 8> kBytes;
constexpr hn::FixedTag<int16_t, 8> kShorts;
constexpr hn::FixedTag<uint8_t, 16> kMany;
using Shorts = hn::Vec<hn::FixedTag<int16_t, 8>>;

HWY_API Shorts LoadShorts(const uint8_t* from) { return hn::PromoteTo(kShorts, hn::LoadU(kBytes, from)); }

// Each store writes eight bytes; the next pixel overwrites the excess.
template <size_t kStep>
HWY_API void UndoSub(const uint8_t* filtered, size_t count, uint8_t* row) {
  auto left = hn::Zero(kBytes);
  for (size_t i = 0; i < count; i += kStep) {
    left = hn::Add(left, hn::LoadU(kBytes, filtered + i));
    hn::StoreU(left, kBytes, row + i);
  }
}

HWY_API void UndoUp(const uint8_t* filtered, const uint8_t* above, size_t count, uint8_t* row) {
  for (size_t i = 0; i < count; i += 16) {
    hn::StoreU(hn::Add(hn::LoadU(kMany, filtered + i), hn::LoadU(kMany, above + i)), kMany, row + i);
  }
}

template <size_t kStep>
HWY_API void UndoAverage(const uint8_t* filtered, const uint8_t* above, size_t count, uint8_t* row) {
  auto left = hn::Zero(kBytes);
  const auto one = hn::Set(kBytes, 1);
  for (size_t i = 0; i < count; i += kStep) {
    const auto up = hn::LoadU(kBytes, above + i);
    // The instruction rounds up, but the filter rounds down.
    const auto average = hn::Sub(hn::AverageRound(left, up), hn::And(hn::Xor(left, up), one));
    left = hn::Add(average, hn::LoadU(kBytes, filtered + i));
    hn::StoreU(left, kBytes, row + i);
  }
}

// Adds x to the one of left (a), above (b) and above left (c) that is nearest to a + b - c; ties go to the first. It
// computes all three sums in parallel, which keeps the dependency chain to the next pixel short.
HWY_API Shorts Paeth(Shorts a, Shorts b, Shorts c, Shorts x) {
  const Shorts mask = hn::Set(kShorts, 0xFF);
  const Shorts b_c = hn::Sub(b, c), a_c = hn::Sub(a, c);
  const Shorts to_a = hn::Abs(b_c), to_b = hn::Abs(a_c), to_c = hn::Abs(hn::Add(b_c, a_c));
  const Shorts least = hn::Min(to_c, hn::Min(to_a, to_b));
  const Shorts from_a = hn::And(hn::Add(a, x), mask), from_b = hn::And(hn::Add(b, x), mask),
               from_c = hn::And(hn::Add(c, x), mask);
  return hn::IfThenElse(hn::Eq(least, to_a), from_a, hn::IfThenElse(hn::Eq(least, to_b), from_b, from_c));
}

HWY_API void StoreShorts(Shorts shorts, uint8_t* to) { hn::StoreU(hn::DemoteTo(kBytes, shorts), kBytes, to); }

template <size_t kStep>
HWY_API void UndoPaeth(const uint8_t* filtered, const uint8_t* above, size_t count, uint8_t* row) {
  Shorts a = hn::Zero(kShorts), c = hn::Zero(kShorts);
  for (size_t i = 0; i < count; i += kStep) {
    const Shorts b = LoadShorts(above + i);
    a = Paeth(a, b, c, LoadShorts(filtered + i));
    c = b;
    StoreShorts(a, row + i);
  }
}

// Processes two rows, the lower one a pixel later, so that two dependency chains overlap.
template <size_t kStep>
HWY_API void UndoPaethTwice(const uint8_t* upper, const uint8_t* lower, const uint8_t* above, size_t count,
                            uint8_t* row, uint8_t* below) {
  Shorts a = hn::Zero(kShorts), c = hn::Zero(kShorts), lower_a = hn::Zero(kShorts), lower_c = hn::Zero(kShorts);
  for (size_t i = 0; i < count; i += kStep) {
    const Shorts b = LoadShorts(above + i), left = a;
    a = Paeth(a, b, c, LoadShorts(upper + i));
    c = b;
    StoreShorts(a, row + i);
    if (i > 0) {
      lower_a = Paeth(lower_a, left, lower_c, LoadShorts(lower + i - kStep));
      lower_c = left;
      StoreShorts(lower_a, below + i - kStep);
    }
  }
  const size_t last = count - kStep;
  StoreShorts(Paeth(lower_a, a, lower_c, LoadShorts(lower + last)), below + last);
}

template <size_t kStep>
HWY_API void UndoByPixels(uint8_t filter, const uint8_t* filtered, const uint8_t* above, size_t count, uint8_t* row) {
  if (filter == 1) {
    UndoSub<kStep>(filtered, count, row);
  } else if (filter == 3) {
    UndoAverage<kStep>(filtered, above, count, row);
  } else {
    UndoPaeth<kStep>(filtered, above, count, row);
  }
}

// Returns whether the filter was reversed.
bool UndoFilter(uint8_t filter, size_t step, const uint8_t* filtered, const uint8_t* above, size_t count,
                uint8_t* row) {
  if (filter == 2) {
    UndoUp(filtered, above, count, row);
  } else if (step == 3) {
    UndoByPixels<3>(filter, filtered, above, count, row);
  } else if (step == 4) {
    UndoByPixels<4>(filter, filtered, above, count, row);
  } else {
    return false;
  }
  return true;
}

bool UndoTwice(size_t step, const uint8_t* upper, const uint8_t* lower, const uint8_t* above, size_t count,
               uint8_t* row, uint8_t* below) {
  if (step == 3) {
    UndoPaethTwice<3>(upper, lower, above, count, row, below);
  } else if (step == 4) {
    UndoPaethTwice<4>(upper, lower, above, count, row, below);
  } else {
    return false;
  }
  return true;
}
#else
bool UndoFilter(uint8_t, size_t, const uint8_t*, const uint8_t*, size_t, uint8_t*) { return false; }
bool UndoTwice(size_t, const uint8_t*, const uint8_t*, const uint8_t*, size_t, uint8_t*, uint8_t*) { return false; }
#endif

}  // namespace HWY_NAMESPACE
}  // namespace penstock::image
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::image {

HWY_EXPORT(UndoFilter);
HWY_EXPORT(UndoTwice);

void UndoPngFilters(size_t step, const uint8_t* upper, const uint8_t* lower, const uint8_t* above, size_t count,
                    uint8_t* row, uint8_t* below) {
  constexpr uint8_t kPaeth = 4;
  if (*upper == kPaeth && *lower == kPaeth &&
      HWY_DYNAMIC_DISPATCH(UndoTwice)(step, upper + 1, lower + 1, above, count, row, below)) {
    return;
  }
  UndoPngFilter(*upper, step, upper + 1, above, count, row);
  UndoPngFilter(*lower, step, lower + 1, row, count, below);
}

void UndoPngFilter(uint8_t filter, size_t step, const uint8_t* filtered, const uint8_t* above, size_t count,
                   uint8_t* row) {
  if (filter == 0 || !HWY_DYNAMIC_DISPATCH(UndoFilter)(filter, step, filtered, above, count, row)) {
    UndoPngFilterScalar(filter, step, filtered, above, count, row);
  }
}

void UndoPngFilterScalar(uint8_t filter, size_t step, const uint8_t* filtered, const uint8_t* above, size_t count,
                         uint8_t* row) {
  if (filter == 0) {
    std::memcpy(row, filtered, count);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const int a = i < step ? 0 : row[i - step], b = above[i], c = i < step ? 0 : above[i - step];
    int guess = a;
    if (filter == 2) {
      guess = b;
    } else if (filter == 3) {
      guess = (a + b) / 2;
    } else if (filter == 4) {
      const int to_a = std::abs(b - c), to_b = std::abs(a - c), to_c = std::abs(a + b - 2 * c);
      guess = to_a <= to_b && to_a <= to_c ? a : to_b <= to_c ? b : c;
    }
    row[i] = static_cast<uint8_t>(filtered[i] + guess);
  }
}

}  // namespace penstock::image
#endif  // HWY_ONCE
