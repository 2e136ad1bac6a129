#include "pipeline/records/npy_elements.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/half.h"
#include "base/npy_header.h"
#include "base/status_macros.h"
#include "pipeline/records/request_check.h"

namespace penstock::records {
namespace {

// Calls visit(value) for each element, with its C++ type. T is the type of the elements in memory.
template <typename T, typename Visit>
void VisitElements(const NpyElements& elements, const Visit& visit) {
  for (uint64_t i = 0; i < elements.count; ++i) {
    T value;  // little-endian, like every machine that Penstock runs on
    std::memcpy(&value, elements.data.data() + i * sizeof(T), sizeof(T));
    visit(value);
  }
}

// Requires that elements.kind() is kInt64.
template <typename Visit>
void VisitIntegers(const NpyElements& elements, const Visit& visit) {
  const bool is_signed = elements.type.letter != 'u' && elements.type.letter != 'b';
  switch (elements.type.bytes) {
    case 1:
      return is_signed ? VisitElements<int8_t>(elements, visit) : VisitElements<uint8_t>(elements, visit);
    case 2:
      return is_signed ? VisitElements<int16_t>(elements, visit) : VisitElements<uint16_t>(elements, visit);
    case 4:
      return is_signed ? VisitElements<int32_t>(elements, visit) : VisitElements<uint32_t>(elements, visit);
    default:
      return is_signed ? VisitElements<int64_t>(elements, visit) : VisitElements<uint64_t>(elements, visit);
  }
}

bool HasLargeInteger(const NpyElements& elements) {
  bool found = false;
  if (elements.type == NpyType{'u', 8}) {
    VisitElements<uint64_t>(elements, [&](uint64_t value) { found |= value >> 63 != 0; });
  }
  return found;
}

bool HasStrings(const NpyType& type) { return type.letter == 'S' || type.letter == 'U'; }

// Appends UTF-8. Returns false if `code` is no character.
bool AppendUtf8(uint32_t code, std::vector<char>* out) {
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
  const auto tail = [&](int shift) { out->push_back(static_cast<char>(0x80 | (code >> shift & 0x3F))); };
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xC0 | code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | code >> 12));
    tail(6);
    tail(0);
  } else {
    out->push_back(static_cast<char>(0xF0 | code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
  return true;
}

// Adds each element of S or U as a value.
absl::Status ReadStrings(const FeatureRequest& request, const NpyElements& elements, ValueBudget* budget,
                         FeatureValue* out) {
  const bool is_text = elements.type.letter == 'U';
  PS_RETURN_IF_ERROR(budget->Spend(request, elements.count, sizeof(std::string_view)));
  // A character takes at most its 4 bytes of UTF-32, so `own` keeps its place.
  if (is_text) {
    PS_RETURN_IF_ERROR(budget->Spend(request, elements.data.size(), 1));
    out->own.reserve(elements.data.size());
  }
  for (uint64_t i = 0; i < elements.count; ++i) {
    std::string_view element = elements.data.substr(i * elements.type.bytes, elements.type.bytes);
    if (is_text) {
      const size_t begin = out->own.size();
      NpyElements characters{
          .type = {'u', sizeof(char32_t)}, .count = element.size() / sizeof(char32_t), .data = element};
      bool is_unicode = true;
      VisitElements<uint32_t>(characters,
                              [&](uint32_t code) { is_unicode = AppendUtf8(code, &out->own) && is_unicode; });
      if (!is_unicode) return BadValue(request, Fault::kOther, "its text is no Unicode");
      element = {out->own.data() + begin, out->own.size() - begin};
    }
    element = element.substr(0, element.find_last_not_of('\0') + 1);
    PS_RETURN_IF_ERROR(CheckElements(request, element));
    out->bytes.push_back(element);
  }
  return absl::OkStatus();
}

}  // namespace

FeatureKind NpyElements::kind() const {
  switch (type.letter) {
    case 'f':
      return type.bytes >= 2 && type.bytes <= 8 ? FeatureKind::kFloat : FeatureKind::kBytes;
    case 'i':
    case 'u':
    case 'b':
    case 'M':
    case 'm':
      return FeatureKind::kInt64;
    default:
      return FeatureKind::kBytes;
  }
}

absl::StatusOr<NpyElements> ParseNpyElements(std::string_view file) {
  PS_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(file));
  NpyElements out;
  PS_ASSIGN_OR_RETURN(out.type, ParseNpyType(header.descr));
  if (header.fortran_order && header.shape.size() > 1) {
    return absl::InvalidArgumentError("it is in Fortran order; save numpy.ascontiguousarray(array)");
  }
  out.data = file.substr(header.data_offset);
  out.count = 1;
  const bool is_empty = std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end();
  for (const int64_t extent : header.shape) {
    if (is_empty) out.count = 0;
    const auto factor = static_cast<uint64_t>(extent);
    if (out.count != 0 && factor > out.data.size() / out.count) {
      return absl::InvalidArgumentError("it is cut off: its header declares more elements than bytes follow");
    }
    out.count *= factor;
  }
  if (out.data.size() % out.type.bytes == 0 && out.data.size() / out.type.bytes == out.count) return out;
  return absl::InvalidArgumentError(absl::StrCat("its header declares ", out.count, " elements of ", out.type.bytes,
                                                 " bytes, but ", out.data.size(), " bytes follow it"));
}

absl::Status ReadElements(const FeatureRequest& request, const NpyElements& elements, ValueBudget* budget,
                          FeatureValue* out) {
  if (request.kind == FeatureKind::kBytes) {
    if (HasStrings(elements.type) && request.element_bytes == 0) return ReadStrings(request, elements, budget, out);
    PS_RETURN_IF_ERROR(budget->Spend(request, 1, sizeof(std::string_view)));
    out->bytes.push_back(elements.data);
    return CheckElements(request, elements.data);
  }
  if (elements.kind() != request.kind) {
    return WrongValueKind(request, absl::StrCat(std::string(FeatureKindName(elements.kind())), " (a NumPy array of ",
                                                std::string(1, elements.type.letter), elements.type.bytes, ")"));
  }
  if (request.kind == FeatureKind::kInt64) {
    if (HasLargeInteger(elements)) return WrongValueKind(request, "an integer over 2^63 - 1");
    PS_RETURN_IF_ERROR(budget->Spend(request, elements.count, sizeof(int64_t)));
    out->ints.reserve(elements.count);
    VisitIntegers(elements, [&](auto value) { out->ints.push_back(static_cast<int64_t>(value)); });
    return absl::OkStatus();
  }
  PS_RETURN_IF_ERROR(budget->Spend(request, elements.count, sizeof(float)));
  out->floats.reserve(elements.count);
  if (elements.type.bytes == 2) {
    VisitElements<uint16_t>(elements, [&](uint16_t half) { out->floats.push_back(HalfToFloat(half)); });
  } else if (elements.type.bytes == 4) {
    VisitElements<float>(elements, [&](float value) { out->floats.push_back(value); });
  } else {  // rounded; infinity if it is over float's range, as NumPy converts it
    VisitElements<double>(elements, [&](double value) { out->floats.push_back(static_cast<float>(value)); });
  }
  return absl::OkStatus();
}

void DescribeElements(const NpyElements& elements, FeatureInfo* info) {
  info->kind = HasLargeInteger(elements) ? FeatureKind::kBytes : elements.kind();
  info->count = info->kind == FeatureKind::kBytes && !HasStrings(elements.type) ? 1 : elements.count;
  if (info->kind != FeatureKind::kInt64 || info->count == 0) return;
  info->least = std::numeric_limits<int64_t>::max();
  info->most = std::numeric_limits<int64_t>::min();
  VisitIntegers(elements, [&](auto element) {
    const auto value = static_cast<int64_t>(element);
    info->least = std::min(info->least, value);
    info->most = std::max(info->most, value);
  });
}

}  // namespace penstock::records
