#include "pipeline/plan/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "base/hash.h"

namespace penstock::plan {
namespace {

TEST(Permutation, IsABijectionForEveryN) {
  std::vector<uint64_t> sizes;
  for (uint64_t n = 1; n <= 130; ++n) sizes.push_back(n);
  for (const uint64_t n : {251, 255, 256, 257, 4093, 65535, 65536, 65537, 262145}) {
    sizes.push_back(n);
  }
  for (const uint64_t n : sizes) {
    const Permutation permutation(n, HashWords({n}));
    std::vector<bool> seen(n);
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t value = permutation.Permute(i);
      ASSERT_LT(value, n);
      ASSERT_FALSE(seen[value]) << "n = " << n << ", value " << value;
      seen[value] = true;
      ASSERT_EQ(permutation.Invert(value), i) << "n = " << n;
    }
  }
}

TEST(Permutation, InvertsForHugeN) {
  for (const uint64_t n :
       {(uint64_t{1} << 31) + 11, uint64_t{1'000'000'000'000}, (uint64_t{1} << 62) - 57, Permutation::kMaxSize}) {
    const Permutation permutation(n, HashWords({n, 1}));
    for (uint64_t k = 0; k < 2000; ++k) {
      const uint64_t i = HashWords({n, k}) % n;
      ASSERT_LT(permutation.Permute(i), n);
      ASSERT_EQ(permutation.Invert(permutation.Permute(i)), i);
    }
    EXPECT_EQ(permutation.Invert(permutation.Permute(0)), 0u);
    EXPECT_EQ(permutation.Invert(permutation.Permute(n - 1)), n - 1);
  }
}

// Chi-square of `counts`, with `samples` samples over `cells` equally likely cells, in standard deviations from the
// expected value.
double Deviation(const std::map<uint64_t, int>& counts, double samples, double cells) {
  const double expected = samples / cells;
  double chi = (cells - static_cast<double>(counts.size())) * expected;
  for (const auto& [cell, count] : counts) chi += (count - expected) * (count - expected) / expected;
  return (chi - (cells - 1)) / std::sqrt(2 * (cells - 1));
}

// Over random keys, all triples of distinct values are equally likely as the images of three elements. For n <= 4 these
// images determine the whole order. Whole orders of more elements are not quite equally likely: a Feistel network whose
// halves have at least two bits is an even permutation of its domain.
TEST(Permutation, ImagesOfThreeElementsAreUniformForSmallN) {
  for (const uint64_t n : {2, 3, 4, 5, 6, 7, 8, 9, 15, 17, 20}) {
    std::map<uint64_t, int> counts;
    const int keys = 100'000;
    for (int k = 0; k < keys; ++k) {
      const Permutation permutation(n, HashWords({99, static_cast<uint64_t>(k)}));
      const uint64_t third = n > 2 ? permutation.Permute(n - 1) : 0;
      ++counts[permutation.Permute(0) << 16 | permutation.Permute(1) << 8 | third];
    }
    const double cells = static_cast<double>(n * (n - 1) * (n > 2 ? n - 2 : 1));
    EXPECT_LT(Deviation(counts, keys, cells), 5) << n;
  }
}

// The place of an element and the distance between two neighbors are uniform over keys.
TEST(Permutation, PlacesAndDistancesAreUniform) {
  for (const uint64_t n : {20, 100, 1000, 65536}) {
    const int keys = 20'000;
    std::vector<int> places(20), distances(20);
    for (int k = 0; k < keys; ++k) {
      const Permutation permutation(n, HashWords({7, n, static_cast<uint64_t>(k)}));
      const uint64_t a = permutation.Permute(n / 3), b = permutation.Permute(n / 3 + 1);
      ++places[a * 20 / n];
      // The distance around the circle is from 1 to n - 1.
      ++distances[(b + n - a - 1) % n * 20 / n];
    }
    double chi_places = 0, chi_distances = 0;
    for (int bin = 0; bin < 20; ++bin) {
      // The last bin of the distances lacks the distance 0.
      const double share_places = 1.0 / 20;
      const double cells = static_cast<double>(n) / 20 - (bin == 19 ? 1 : 0);
      const double share_distances = cells / static_cast<double>(n - 1);
      chi_places += std::pow(places[bin] - keys * share_places, 2) / (keys * share_places);
      if (cells > 0) {
        chi_distances += std::pow(distances[bin] - keys * share_distances, 2) / (keys * share_distances);
      } else {
        EXPECT_EQ(distances[bin], 0);
      }
    }
    EXPECT_LT(chi_places, 19 + 5 * std::sqrt(38.0)) << n;
    EXPECT_LT(chi_distances, 19 + 5 * std::sqrt(38.0)) << n;
  }
}

TEST(Permutation, DependsOnEveryBitOfTheKey) {
  const uint64_t n = 1'281'167;
  const Permutation base(n, 0);
  for (int bit = 0; bit < 64; ++bit) {
    const Permutation other(n, uint64_t{1} << bit);
    int same = 0;
    for (uint64_t i = 0; i < 1000; ++i) same += base.Permute(i) == other.Permute(i);
    EXPECT_LT(same, 5) << bit;
  }
}

}  // namespace
}  // namespace penstock::plan
