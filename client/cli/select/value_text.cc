#include "client/cli/select/value_text.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/utf8.h"

namespace penstock::cli {
namespace {

constexpr size_t kShownValues = 8, kShownBytes = 60;

// Returns the start of a text in quotes, or only the length of bytes that are no text.
std::string BytesText(std::string_view bytes) {
  size_t end = 0;
  while (end < bytes.size()) {
    const size_t length = Utf8SequenceLength(bytes, end);
    const bool control = length == 1 && static_cast<unsigned char>(bytes[end]) < 0x20 && bytes[end] != '\n' &&
                         bytes[end] != '\t' && bytes[end] != '\r';
    if (length == 0 || control) return absl::StrCat("(", bytes.size(), " bytes)");
    if (end + length > kShownBytes) break;
    end += length;
  }
  return absl::StrCat(Json::Quote(bytes.substr(0, end)),
                      end < bytes.size() ? absl::StrCat("... (", bytes.size(), " bytes)") : "");
}

}  // namespace

std::string ValueText(const records::FeatureValue& value) {
  if (value.count() == 0) return "none";
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(value.count(), kShownValues); ++i) {
    if (!value.ints.empty()) {
      shown.push_back(absl::StrCat(value.ints[i]));
    } else if (!value.floats.empty()) {
      shown.push_back(absl::StrCat(value.floats[i]));
    } else {
      shown.push_back(BytesText(value.bytes[i]));
    }
  }
  return absl::StrCat(absl::StrJoin(shown, " "),
                      value.count() > kShownValues ? absl::StrCat(" ... (", value.count(), " values)") : "");
}

}  // namespace penstock::cli
