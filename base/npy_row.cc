#include "base/npy_row.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace penstock {
namespace {

constexpr uint64_t kMaxRowBytes = uint64_t{1} << 40;

// Adds a field at the end of the row.
absl::Status AddField(const NpyField& field, NpyRow* row) {
  NpyRowField added{.name = field.name, .descr = field.descr, .type = {}, .shape = field.shape, .offset = row->bytes};
  PS_ASSIGN_OR_RETURN(added.type, ParseNpyType(field.descr));
  added.elements = 1;
  uint64_t bytes = added.type.bytes;
  for (const int64_t extent : field.shape) {
    const auto factor = static_cast<uint64_t>(extent);
    if (bytes != 0 && factor > kMaxRowBytes / bytes)
      return absl::InvalidArgumentError("a row of it has more than 2^40 bytes");
    bytes *= factor;
    added.elements *= factor;
  }
  row->bytes += bytes;
  if (row->bytes > kMaxRowBytes) return absl::InvalidArgumentError("a row of it has more than 2^40 bytes");
  row->fields.push_back(std::move(added));
  return absl::OkStatus();
}

// Removes the unit at the end of the size of a time, as in "8[ns]" or "8[25s]". Returns false if it is no unit.
bool TakeUnit(absl::string_view* size) {
  const size_t begin = size->find('[');
  if (begin == absl::string_view::npos) return true;
  const absl::string_view unit = size->substr(begin + 1);
  *size = size->substr(0, begin);
  return unit.size() > 1 && unit.back() == ']' &&
         std::all_of(unit.begin(), unit.end() - 1, [](unsigned char c) { return absl::ascii_isalnum(c); });
}

}  // namespace

absl::StatusOr<NpyType> ParseNpyType(std::string_view descr) {
  const auto wrong = [&descr] {
    return absl::InvalidArgumentError(
        absl::StrCat("its elements have the type ", Json::Quote(descr), "; save the array with one number type"));
  };
  if (descr.starts_with('[')) return wrong();
  if (descr.find('O') != std::string_view::npos) {
    return absl::InvalidArgumentError("its elements are Python objects; save the array with one number type");
  }
  if (descr.size() > 1 && descr[0] == '>') {
    return absl::InvalidArgumentError("it is big-endian; save array.astype(array.dtype.newbyteorder('<'))");
  }
  if (descr.size() < 3 || (descr[0] != '<' && descr[0] != '|')) return wrong();
  NpyType type{.letter = descr[1], .bytes = 0};
  absl::string_view size(descr.data() + 2, descr.size() - 2);
  const bool is_time = type.letter == 'M' || type.letter == 'm';
  if (is_time && !TakeUnit(&size)) return wrong();
  uint32_t count = 0;
  if (!absl::SimpleAtoi(size, &count) || count == 0) return wrong();
  type.bytes = count;
  constexpr uint64_t kLargestNumber = 32;
  switch (type.letter) {
    case 'b':
      return type.bytes == 1 ? type : absl::StatusOr<NpyType>(wrong());
    case 'i':
    case 'u':
    case 'f':
    case 'c': {
      const uint64_t largest = type.letter == 'i' || type.letter == 'u' ? sizeof(int64_t) : kLargestNumber;
      return std::has_single_bit(type.bytes) && type.bytes <= largest ? type : absl::StatusOr<NpyType>(wrong());
    }
    case 'M':
    case 'm':
      return type.bytes == sizeof(int64_t) ? type : absl::StatusOr<NpyType>(wrong());
    case 'U':
      type.bytes *= sizeof(char32_t);
      return type;
    case 'S':
    case 'V':
      return type;
    default:
      return wrong();
  }
}

absl::StatusOr<NpyRow> NpyRowOf(const NpyHeader& header, const std::vector<int64_t>& row_shape) {
  NpyRow row;
  if (header.fields.empty()) {
    PS_RETURN_IF_ERROR(AddField({.name = {}, .descr = header.descr, .shape = row_shape}, &row));
  } else if (!row_shape.empty()) {
    return absl::InvalidArgumentError("it has fields and several dimensions; save array.reshape(-1)");
  }
  for (const NpyField& field : header.fields) {
    const absl::Status added = AddField(field, &row);
    if (!added.ok())
      return absl::InvalidArgumentError(absl::StrCat("field ", Json::Quote(field.name), ": ", added.message()));
    if (field.name.empty()) row.fields.pop_back();  // padding
  }
  if (row.bytes == 0) return absl::InvalidArgumentError("its rows are empty: a dimension is 0");
  return row;
}

}  // namespace penstock
