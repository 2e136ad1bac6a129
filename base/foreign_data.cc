#include "base/foreign_data.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace penstock {
namespace {

struct Kind {
  size_t offset;
  std::string_view bytes, name;
};

constexpr Kind kKinds[] = {
    {0, "PAR1", "a Parquet file"},
    {0, "ARROW1", "an Arrow file"},
    {0, "\xFF\xFF\xFF\xFF", "an Arrow stream"},  // the format of Hugging Face's data sets
    {0, "\x89HDF\r\n", "an HDF5 file"},
    {0, "\x83\xAF\x70\xD1\x0D\x88\x4A\x3F", "an ArrayRecord file"},  // its container, Riegeli
    {16, "\xDE\xC0\xEF\xBE", "an LMDB"},
};

constexpr char kMds[] = "an MDS data set", kLitData[] = "a LitData data set";

// The starts of an index.json, as the writers of the formats and Mosaic's merge_index() make it.
constexpr Kind kIndexes[] = {
    {0, "{\"shards\": [", kMds},
    {0, "{\"version\": 2, \"shards\": [", kMds},
    {0, "{\"chunks\": [", kLitData},
};

}  // namespace

std::string_view ConvertibleKind(std::string_view first_bytes) {
  for (const Kind& kind : kKinds) {
    if (first_bytes.size() >= kind.offset && first_bytes.substr(kind.offset, kind.bytes.size()) == kind.bytes) {
      return kind.name;
    }
  }
  return "";
}

std::string_view ConvertibleFolder(const std::string& folder) {
  constexpr size_t kStart = 32;
  std::string start(kStart, '\0');
  std::ifstream(folder + "/index.json", std::ios::binary).read(start.data(), kStart);
  for (const Kind& kind : kIndexes) {
    if (start.substr(0, kind.bytes.size()) == kind.bytes) return kind.name;
  }
  return "";
}

bool IsConvertibleUrl(std::string_view path) { return path.substr(0, 5) == "hf://"; }

std::string ConvertHint(std::string_view source) {
  const bool plain = std::all_of(source.begin(), source.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string_view("/._-:@%+=,").find(static_cast<char>(c)) != std::string_view::npos;
  });
  const absl::string_view text(source.data(), source.size());
  return absl::StrCat("`penstock convert ",
                      plain ? std::string(source) : absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'"),
                      " --out shards` makes shards of it");
}

}  // namespace penstock
