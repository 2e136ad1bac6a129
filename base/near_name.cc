#include "base/near_name.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// Returns the Levenshtein distance, ignoring case. A swap of adjacent letters counts once (optimal string alignment).
size_t Distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

constexpr size_t kLeastPart = 4;

// Returns true if `word` is a sequence of whole words of `name`, which are separated by '_': "horizontal_flip" in
// "random_horizontal_flip".
bool HasWords(std::string_view name, std::string_view word) {
  const std::string within = absl::StrCat("_", std::string(name), "_");
  return within.find(absl::StrCat("_", std::string(word), "_")) != std::string::npos;
}

}  // namespace

std::string NearName(std::string_view word, const std::vector<std::string>& names) {
  if (word.empty() || word.size() > 100) return "";
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& name : names) {
    const size_t distance = Distance(word, name);
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  if (!best.empty() || word.size() < kLeastPart) return best;
  for (const std::string& name : names) {
    if (HasWords(name, word) && (best.empty() || name.size() < best.size())) best = name;
  }
  return best;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& names) {
  const std::string near = NearName(word, names);
  return near.empty() ? "" : absl::StrCat(" (did you mean '", near, "'?)");
}

}  // namespace penstock
