#include "pipeline/sources/tar/tar_header.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace penstock::sources {
namespace {

constexpr char kSparse[] = "a sparse member; write it whole (tar without --sparse)";

constexpr uint64_t kMaxTarSize = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

// Fields of a header.
struct TarField {
  size_t offset, size;
};
constexpr TarField kNameField{0, 100}, kSizeField{124, 12}, kChecksumField{148, 8}, kMagicField{257, 8},
    kPrefixField{345, 155};
constexpr size_t kTypeOffset = 156;
constexpr std::string_view kGnuMagic("ustar  ", 8);  // with the zero byte

std::string_view FieldOf(const char* block, TarField field) { return {block + field.offset, field.size}; }

// Returns the text of a field up to its first zero byte.
std::string_view TextOf(const char* block, TarField field) {
  const std::string_view text = FieldOf(block, field);
  return text.substr(0, text.find('\0'));
}

enum class NumberState { kValid, kNoNumber, kNegative, kTooLarge };

// Reads octal digits between white space, or a base-256 number: a first byte of 0x80 (or 0xFF if the number is
// negative) and then a big-endian integer.
NumberState ReadNumber(const char* block, TarField field, uint64_t* value) {
  *value = 0;
  const std::string_view bytes = FieldOf(block, field);
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (first == 0xFF) return NumberState::kNegative;
  if (first >= 0x80) {
    if (first != 0x80) return NumberState::kTooLarge;
    for (const char c : bytes.substr(1)) {
      if (*value > kMaxTarSize >> 8) return NumberState::kTooLarge;
      *value = *value << 8 | static_cast<unsigned char>(c);
    }
    return NumberState::kValid;
  }
  constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";
  std::string_view digits = TextOf(block, field);
  digits.remove_prefix(std::min(digits.find_first_not_of(kWhiteSpace), digits.size()));
  digits = digits.substr(0, digits.find_last_not_of(kWhiteSpace) + 1);
  if (digits.size() > 1 && digits[0] == '-') return NumberState::kNegative;
  for (const char c : digits) {  // at most 12 digits of 3 bits
    if (c < '0' || c > '7') return NumberState::kNoNumber;
    *value = *value << 3 | static_cast<uint64_t>(c - '0');
  }
  return NumberState::kValid;
}

bool IsZero(const char* block) { return block[0] == '\0' && std::memcmp(block, block + 1, kTarBlockBytes - 1) == 0; }

absl::Status BadMember(std::string_view name, absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("member ", Json::Quote(name), ": ", reason));
}

void StripSlashes(std::string* name) { name->erase(name->find_last_not_of('/') + 1); }

bool IsExtension(char type) { return type == 'x' || type == 'X' || type == 'g' || type == 'L' || type == 'K'; }

absl::Status MalformedPax(std::string_view name, size_t offset) {
  return BadMember(
      name, absl::StrCat("a malformed pax header: its byte ", offset, " begins no record \"length key=value\\n\""));
}

// Splits the first record, "length key=value\n", off `rest`. The length counts the whole record.
bool NextPaxRecord(std::string_view* rest, std::string_view* key, std::string_view* value) {
  const size_t space = rest->find(' ');
  constexpr size_t kMostDigits = 7;  // a payload has at most 1 MiB
  if (space == 0 || space > kMostDigits) return false;
  size_t length = 0;
  for (const char c : rest->substr(0, space)) {
    if (c < '0' || c > '9') return false;
    length = 10 * length + static_cast<size_t>(c - '0');
  }
  if (length <= space + 1 || length > rest->size() || (*rest)[length - 1] != '\n') return false;
  const std::string_view pair = rest->substr(space + 1, length - space - 2);
  const size_t equals = pair.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  *key = pair.substr(0, equals);
  *value = pair.substr(equals + 1);
  rest->remove_prefix(length);
  return true;
}

}  // namespace

bool IsTarHeader(const char* block) {
  uint64_t expected = 0;
  if (ReadNumber(block, kChecksumField, &expected) != NumberState::kValid) return false;
  int64_t sum = 0, signed_sum = 0;
  for (size_t i = 0; i < kTarBlockBytes; ++i) {
    sum += static_cast<unsigned char>(block[i]);
    signed_sum += static_cast<signed char>(block[i]);
  }
  // The checksum counts its own field as spaces.
  for (const char c : FieldOf(block, kChecksumField)) {
    sum += ' ' - static_cast<unsigned char>(c);
    signed_sum += ' ' - static_cast<signed char>(c);
  }
  // The sum of a zero block is that of the 8 spaces, and its checksum 0.
  return expected == static_cast<uint64_t>(sum) || expected == static_cast<uint64_t>(signed_sum);
}

uint64_t TarPaddedBytes(uint64_t size) { return (size + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes; }

absl::StatusOr<TarAssembler::Next> TarAssembler::AddHeader(const char* block) {
  if (IsZero(block)) {
    if (awaits_member_) {
      return absl::InvalidArgumentError("the archive ends between an extension header and its member");
    }
    return Next::kEnd;
  }
  if (!IsTarHeader(block)) return absl::InvalidArgumentError("no tar header: its checksum is wrong");
  const char type = block[kTypeOffset];
  std::string name(TextOf(block, kNameField));
  // The headers of GNU tar have dates where ustar has the prefix.
  const std::string_view prefix = TextOf(block, kPrefixField);
  if (!prefix.empty() && FieldOf(block, kMagicField) != kGnuMagic && type != 'L' && type != 'K' && type != 'S') {
    name = absl::StrCat(std::string(prefix), "/", name);
  }
  if (!IsExtension(type)) {
    if (name_.has_value()) name = *std::move(name_);
    if (!problem_.empty()) return BadMember(name, problem_);
  }

  uint64_t size = 0;
  switch (ReadNumber(block, kSizeField, &size)) {
    case NumberState::kValid:
      break;
    case NumberState::kNoNumber:
      return BadMember(name, "its size is no octal number");
    case NumberState::kNegative:
      return BadMember(name, "its size is negative");
    case NumberState::kTooLarge:
      return BadMember(name, "its size exceeds 2^63 - 1 bytes");
  }

  if (IsExtension(type)) {
    if (size > kMaxTarExtensionBytes) {
      return BadMember(name, absl::StrCat("an extension header of ", size, " bytes; the limit is ",
                                          kMaxTarExtensionBytes, " bytes"));
    }
    extension_type_ = type;
    extension_bytes_ = size;
    extension_name_ = std::move(name);
    if (type != 'g') awaits_member_ = true;
    if (size > 0) return Next::kExtension;
    PS_RETURN_IF_ERROR(AddExtension({}));
    return Next::kHeader;
  }

  if (type == 'S') return BadMember(name, kSparse);
  member_.size = size_.value_or(size);
  name_.reset();
  size_.reset();
  awaits_member_ = false;
  // Before ustar, a folder was a file whose name ends with a slash.
  const bool is_folder = type == '5' || (type == '\0' && !name.empty() && name.back() == '/');
  member_.is_file = (type == '0' || type == '\0' || type == '7') && !is_folder;
  if (is_folder) StripSlashes(&name);
  if (is_folder || (type >= '1' && type <= '6')) member_.size = 0;
  member_.name = std::move(name);
  return Next::kMember;
}

absl::Status TarAssembler::AddExtension(std::string_view payload) {
  switch (extension_type_) {
    case 'L':
      if (!name_.has_value()) name_ = payload.substr(0, payload.find('\0'));
      return absl::OkStatus();
    case 'K':  // target of a link
      return absl::OkStatus();
    default:
      return AddPaxHeader(payload, extension_type_ == 'g');
  }
}

absl::Status TarAssembler::AddPaxHeader(std::string_view payload, bool global) {
  // The last of several records with one key wins.
  std::optional<std::string_view> path, size;
  bool sparse = false;
  std::string_view rest = payload, key, value;
  while (!rest.empty()) {
    if (!NextPaxRecord(&rest, &key, &value)) return MalformedPax(extension_name_, payload.size() - rest.size());
    const bool is_sparse = key.substr(0, 11) == "GNU.sparse.";
    if (global && (key == "path" || key == "size" || is_sparse)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a global pax header sets ", std::string(key), ", which would hold for all members"));
    }
    if (key == "path" || key == "GNU.sparse.name") path = value;
    if (key == "size") size = value;
    sparse |= is_sparse;
  }
  if (path.has_value() && !name_.has_value()) name_ = std::string(*path);
  if (sparse && problem_.empty()) problem_ = kSparse;
  if (!size.has_value()) return absl::OkStatus();
  uint64_t bytes = 0;
  const absl::string_view digits(size->data(), size->size());
  const bool is_number = !digits.empty() && digits.find_first_not_of("0123456789") == absl::string_view::npos;
  std::string problem;
  if (!is_number) {
    problem = absl::StrCat("its pax header sets the size ", Json::Quote(*size), ", which is no decimal number from 0");
  } else if (!absl::SimpleAtoi(digits, &bytes) || bytes > kMaxTarSize) {
    problem = "the size in its pax header exceeds 2^63 - 1 bytes";
  }
  if (problem_.empty()) problem_ = std::move(problem);
  if (!size_.has_value()) size_ = bytes;
  return absl::OkStatus();
}

}  // namespace penstock::sources
