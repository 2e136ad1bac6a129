#include "base/npy_header.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace {

absl::Status NoNpyHeader(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("no .npy header: ", what));
}

// Finds the text after 'key': in the header's dict, up to one of `ends`.
bool DictValue(absl::string_view dict, absl::string_view key, const char* ends, absl::string_view* value) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = absl::StrCat(std::string(1, quote), key, std::string(1, quote));
    const size_t at = dict.find(quoted);
    if (at == absl::string_view::npos) continue;
    absl::string_view rest = absl::StripLeadingAsciiWhitespace(dict.substr(at + quoted.size()));
    if (!absl::ConsumePrefix(&rest, ":")) return false;
    rest = absl::StripLeadingAsciiWhitespace(rest);
    const size_t stop = rest.find_first_of(ends);
    if (stop == absl::string_view::npos) return false;
    *value = absl::StripAsciiWhitespace(rest.substr(0, stop));
    return true;
  }
  return false;
}

bool ParseNpyShape(absl::string_view text, std::vector<int64_t>* shape) {
  if (!absl::ConsumePrefix(&text, "(")) return false;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    part = absl::StripAsciiWhitespace(part);
    absl::ConsumeSuffix(&part, "L");  // Python 2 wrote long integers with this suffix
    if (part.empty()) continue;
    int64_t extent = 0;
    if (!absl::SimpleAtoi(part, &extent) || extent < 0) return false;
    shape->push_back(extent);
  }
  return true;
}

uint64_t LittleEndianLength(std::string_view bytes) {
  uint64_t length = 0;
  for (size_t i = bytes.size(); i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  return length;
}

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view bytes) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (bytes.substr(0, kMagic.size()) != kMagic || bytes.size() < 12)
    return NoNpyHeader("it does not begin with \\x93NUMPY");
  const int major = bytes[6];
  if (major < 1 || major > 3) return NoNpyHeader("its version is none of 1, 2 and 3");
  const size_t begin = major == 1 ? 10 : 12;
  const uint64_t length = LittleEndianLength(bytes.substr(8, begin - 8));
  if (length > bytes.size() - begin) return NoNpyHeader("it is cut off, or longer than 64 KiB");
  const absl::string_view dict(bytes.data() + begin, length);
  NpyHeader header;
  header.data_offset = begin + length;
  absl::string_view descr, order, shape;
  if (!DictValue(dict, "descr", ",}", &descr) || !DictValue(dict, "fortran_order", ",}", &order) ||
      !DictValue(dict, "shape", ")", &shape)) {
    return NoNpyHeader("descr, fortran_order or shape is missing");
  }
  // The descr of a record array is a list, which callers reject.
  if (descr.size() > 2 && (descr[0] == '\'' || descr[0] == '"')) descr = descr.substr(1, descr.size() - 2);
  header.descr = std::string(descr);
  if (order != "True" && order != "False") return NoNpyHeader("fortran_order is neither True nor False");
  header.fortran_order = order == "True";
  if (!ParseNpyShape(shape, &header.shape)) return NoNpyHeader("its shape makes no sense");
  return header;
}

}  // namespace penstock
