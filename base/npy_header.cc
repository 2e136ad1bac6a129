#include "base/npy_header.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/utf8.h"

namespace penstock {
namespace {

constexpr uint64_t kMaxDictBytes = 64 << 10;

absl::Status NoNpyHeader(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("no .npy header: ", what));
}

// Reads Python's literals: strings, integers, tuples and lists. Each function skips spaces first, and returns false if
// the text continues with something else.
class Literals {
 public:
  explicit Literals(absl::string_view text) : text_(text) {}

  bool Take(char c) {
    if (!Sees(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool Sees(char c) {
    text_ = absl::StripLeadingAsciiWhitespace(text_);
    return !text_.empty() && text_.front() == c;
  }
  bool SeesString() { return Sees('\'') || Sees('"'); }

  // A string without backslashes.
  bool TakeString(std::string* out) {
    if (!SeesString()) return false;
    const size_t end = text_.find(text_.front(), 1);
    if (end == absl::string_view::npos) return false;
    *out = std::string(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return out->find('\\') == std::string::npos;
  }
  bool TakeWord(std::string* out) {
    text_ = absl::StripLeadingAsciiWhitespace(text_);
    size_t length = 0;
    while (length < text_.size() && absl::ascii_isalnum(static_cast<unsigned char>(text_[length]))) ++length;
    *out = std::string(text_.substr(0, length));
    text_.remove_prefix(length);
    return length > 0;
  }
  // An integer of at least 0. Python 2 wrote long ones with an L.
  bool TakeExtent(std::vector<int64_t>* shape) {
    std::string word;
    if (!TakeWord(&word)) return false;
    if (word.back() == 'L') word.pop_back();
    int64_t extent = 0;
    if (!absl::SimpleAtoi(word, &extent) || extent < 0) return false;
    shape->push_back(extent);
    return true;
  }
  // A tuple of integers.
  bool TakeShape(std::vector<int64_t>* shape) {
    if (!Take('(')) return false;
    while (!Take(')')) {
      if (!TakeExtent(shape) || (!Take(',') && !Sees(')'))) return false;
    }
    return true;
  }
  // A list with any content.
  bool TakeList(std::string* out) {
    if (!Sees('[')) return false;
    size_t depth = 0, at = 0;
    for (; at < text_.size(); ++at) {
      const char c = text_[at];
      if (c == '\'' || c == '"') {
        at = text_.find(c, at + 1);
        if (at == absl::string_view::npos) return false;
      } else if (c == '[') {
        ++depth;
      } else if (c == ']' && --depth == 0) {
        *out = std::string(text_.substr(0, at + 1));
        text_.remove_prefix(at + 1);
        return true;
      }
    }
    return false;
  }

 private:
  absl::string_view text_;
};

// Reads (name, descr) or (name, descr, shape). A name may be a tuple of a title and a name.
bool TakeField(Literals* in, NpyField* field) {
  if (!in->Take('(')) return false;
  if (in->Take('(')) {
    std::string title;
    if (!in->TakeString(&title) || !in->Take(',') || !in->TakeString(&field->name) || !in->Take(')')) return false;
  } else if (!in->TakeString(&field->name)) {
    return false;
  }
  if (!in->Take(',')) return false;
  if (!(in->SeesString() ? in->TakeString(&field->descr) : in->TakeList(&field->descr))) return false;
  if (in->Take(',') && !in->Sees(')')) {
    if (!(in->Sees('(') ? in->TakeShape(&field->shape) : in->TakeExtent(&field->shape))) return false;
    in->Take(',');
  }
  return in->Take(')');
}

bool ParseFields(absl::string_view list, std::vector<NpyField>* fields) {
  Literals in(list);
  if (!in.Take('[')) return false;
  while (!in.Take(']')) {
    if (!TakeField(&in, &fields->emplace_back()) || (!in.Take(',') && !in.Sees(']'))) return false;
  }
  return true;
}

std::string Utf8OfLatin1(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xC0 | code >> 6);
      out += static_cast<char>(0x80 | (code & 0x3F));
    }
  }
  return out;
}

uint64_t LittleEndianLength(std::string_view bytes) {
  uint64_t length = 0;
  for (size_t i = bytes.size(); i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  return length;
}

bool TakeDescr(Literals* in, NpyHeader* header) {
  if (in->SeesString()) return in->TakeString(&header->descr);
  return in->TakeList(&header->descr) && ParseFields(header->descr, &header->fields);
}

bool TakeOrder(Literals* in, NpyHeader* header) {
  std::string word;
  if (!in->TakeWord(&word)) return false;
  header->fortran_order = word == "True";
  return header->fortran_order || word == "False";
}

// Reads the dict of a header. Returns what is wrong with it, or null.
const char* ReadDict(Literals* in, NpyHeader* header) {
  static constexpr char kNoDict[] = "it has no dict of descr, fortran_order and shape, each once";
  bool has_descr = false, has_order = false, has_shape = false;
  if (!in->Take('{')) return kNoDict;
  while (!in->Take('}')) {
    std::string key;
    if (!in->TakeString(&key) || !in->Take(':')) return kNoDict;
    bool* const has = key == "descr" ? &has_descr : key == "fortran_order" ? &has_order : &has_shape;
    if (*has || (has == &has_shape && key != "shape")) return kNoDict;
    *has = true;
    if (has == &has_descr && !TakeDescr(in, header)) return "its descr is neither a type nor a list of fields";
    if (has == &has_order && !TakeOrder(in, header)) return "fortran_order is neither True nor False";
    if (has == &has_shape && !in->TakeShape(&header->shape)) return "its shape makes no sense";
    if (!in->Take(',') && !in->Sees('}')) return kNoDict;
  }
  return has_descr && has_order && has_shape ? nullptr : "descr, fortran_order or shape is missing";
}

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view bytes) {
  if (!bytes.starts_with(kNpyMagic) || bytes.size() < 12) return NoNpyHeader("it does not begin with \\x93NUMPY");
  const int major = bytes[6];
  if (major < 1 || major > 3) return NoNpyHeader("its version is none of 1, 2 and 3");
  const size_t begin = major == 1 ? 10 : 12;
  const uint64_t length = LittleEndianLength(bytes.substr(8, begin - 8));
  if (length > kMaxDictBytes || length > bytes.size() - begin) {
    return NoNpyHeader("it is cut off, or longer than 64 KiB");
  }
  const absl::string_view stored(bytes.data() + begin, length);
  if (major == 3 && !IsUtf8({stored.data(), stored.size()})) return NoNpyHeader("it is no UTF-8");
  const std::string dict = major < 3 ? Utf8OfLatin1(stored) : std::string(stored);
  Literals in(dict);
  NpyHeader header;
  header.data_offset = begin + length;
  if (const char* const wrong = ReadDict(&in, &header); wrong != nullptr) return NoNpyHeader(wrong);
  return header;
}

std::string NpyHeaderText(std::string_view descr, const std::vector<int64_t>& shape) {
  constexpr size_t kAlignment = 64;
  const std::string type(descr);
  std::string dict = absl::StrCat("{'descr': ", descr.starts_with('[') ? type : absl::StrCat("'", type, "'"),
                                  ", 'fortran_order': False, 'shape': (", absl::StrJoin(shape, ", "),
                                  shape.size() == 1 ? "," : "", "), }");
  const bool is_ascii =
      std::all_of(dict.begin(), dict.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  const bool is_first_version = is_ascii && dict.size() + kAlignment <= UINT16_MAX;
  const size_t length_bytes = is_first_version ? 2 : 4;
  const size_t fixed = kNpyMagic.size() + 2 + length_bytes;
  dict.append((kAlignment - (fixed + dict.size() + 1) % kAlignment) % kAlignment, ' ');
  dict += '\n';
  std::string out(kNpyMagic);
  out += is_first_version ? '\1' : '\3';
  out += '\0';
  for (size_t i = 0; i < length_bytes; ++i) out += static_cast<char>(dict.size() >> (8 * i) & 0xFF);
  return out + dict;
}

}  // namespace penstock
