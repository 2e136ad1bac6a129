#include "pipeline/records/json_line.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "pipeline/records/json_fields.h"

namespace penstock::records {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr size_t kLeastCapacity = 4096;
constexpr size_t kKeptCapacity = 256 << 10;  // longest line whose memory the thread keeps

// The parser of a thread, and the copy of the line after which it may read.
struct Scratch {
  ondemand::parser parser;
  std::string padded;
};

absl::Status BadLine(std::string_view reason, size_t offset) {
  return WithFault(Fault::kOther,
                   absl::InvalidArgumentError(absl::StrCat(absl::string_view(reason.data(), reason.size()),
                                                           " at offset ", offset, " of the line")));
}

// Finds the place of a syntax error. nlohmann::json::sax_parse calls the functions.
struct ErrorPlace {
  // NOLINTBEGIN(readability-identifier-naming)
  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(int64_t) { return true; }
  bool number_unsigned(uint64_t) { return true; }
  bool number_float(double, const std::string&) { return true; }
  bool string(const std::string&) { return true; }
  bool binary(const nlohmann::json::binary_t&) { return true; }
  bool start_object(size_t) { return true; }
  bool start_array(size_t) { return true; }
  bool end_object() { return true; }
  bool end_array() { return true; }
  bool key(const std::string&) { return true; }
  template <typename Error>
  bool parse_error(size_t position, const std::string&, const Error&) {
    // Any other error is that of a number that is too large for a double.
    const bool is_syntax = std::is_same_v<Error, nlohmann::json::parse_error>;
    if (is_syntax) offset = position == 0 ? 0 : position - 1;  // the position is one past the last byte read
    return false;
  }
  // NOLINTEND(readability-identifier-naming)
  std::optional<size_t> offset;
};

// Returns the error of a line that simdjson rejects at `offset` or before it.
absl::Status InvalidJson(std::string_view line, size_t offset) {
  for (size_t i = 0; i < line.size();) {
    const size_t length = Utf8SequenceLength(line, i);
    if (length == 0) return BadLine("invalid UTF-8", i);
    i += length;
  }
  ErrorPlace place;
  nlohmann::json::sax_parse(line.begin(), line.end(), &place);
  return BadLine("invalid JSON", place.offset.value_or(offset));
}

// Returns whether the text is a number of RFC 8259, section 6.
bool IsNumber(std::string_view text) {
  const auto skip_digits = [&text] {
    const size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
  };
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool has_leading_zero = text.starts_with('0');
  const size_t digits = skip_digits();
  if (digits == 0 || (has_leading_zero && digits > 1)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (skip_digits() == 0) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (skip_digits() == 0) return false;
  }
  return text.empty();
}

class LineReader {
 public:
  LineReader(std::string_view line, const char* copy, JsonLineHandler* handler)
      : line_(line), copy_(copy), handler_(handler) {}

  // Reads the root.
  absl::Status Read(ondemand::document* document) {
    document_ = document;
    ondemand::object object;
    if (document->get_object().get(object) != simdjson::SUCCESS) {
      const absl::string_view text = absl::StripLeadingAsciiWhitespace(absl::string_view(line_.data(), line_.size()));
      if (text.empty() || !nlohmann::json::accept(line_.begin(), line_.end())) return Invalid();
      return BadLine("no JSON object", line_.size() - text.size());
    }
    handler_->OnOpen(/*is_array=*/false);
    PS_RETURN_IF_ERROR(ReadMembers(&object, 1));
    const char* rest = nullptr;
    if (document->current_location().get(rest) == simdjson::SUCCESS) return Invalid();
    handler_->OnClose(line_, 0);
    return absl::OkStatus();
  }

 private:
  size_t OffsetOf(const char* in_copy) const { return static_cast<size_t>(in_copy - copy_); }

  absl::Status Invalid() const {
    const char* place = nullptr;
    const bool known = document_->current_location().get(place) == simdjson::SUCCESS;
    return InvalidJson(line_, known ? std::min(OffsetOf(place), line_.size()) : line_.size());
  }

  absl::Status ReadMembers(ondemand::object* object, size_t depth) {
    for (auto member : *object) {
      ondemand::field field;
      std::string_view name;
      if (std::move(member).get(field) != simdjson::SUCCESS || field.unescaped_key().get(name) != simdjson::SUCCESS) {
        return Invalid();
      }
      handler_->OnKey(name);
      PS_RETURN_IF_ERROR(ReadValue(std::move(field).value(), depth));
    }
    return absl::OkStatus();
  }

  absl::Status ReadElements(ondemand::array* array, size_t depth) {
    for (auto element : *array) {
      ondemand::value value;
      if (std::move(element).get(value) != simdjson::SUCCESS) return Invalid();
      PS_RETURN_IF_ERROR(ReadValue(std::move(value), depth));
    }
    return absl::OkStatus();
  }

  // `depth` counts the arrays and objects around the value.
  absl::Status ReadValue(ondemand::value value, size_t depth) {
    ondemand::json_type type;
    if (value.type().get(type) != simdjson::SUCCESS) return Invalid();
    const std::string_view raw = value.raw_json_token();
    const size_t offset = OffsetOf(raw.data());
    const bool is_array = type == ondemand::json_type::array;
    if (!is_array && type != ondemand::json_type::object) {
      const absl::string_view token = absl::StripTrailingAsciiWhitespace(absl::string_view(raw.data(), raw.size()));
      return ReadScalar(&value, type, line_.substr(offset, token.size()), offset);
    }
    if (depth >= kMaxJsonDepth) {
      return BadLine(absl::StrCat("more than ", kMaxJsonDepth, " nested arrays and objects"), offset);
    }
    handler_->OnOpen(is_array);
    if (is_array) {
      ondemand::array array;
      if (value.get_array().get(array) != simdjson::SUCCESS) return Invalid();
      PS_RETURN_IF_ERROR(ReadElements(&array, depth + 1));
    } else {
      ondemand::object object;
      if (value.get_object().get(object) != simdjson::SUCCESS) return Invalid();
      PS_RETURN_IF_ERROR(ReadMembers(&object, depth + 1));
    }
    // The next token is that after the value: a comma or the end of the array or object around it.
    const char* next = nullptr;
    if (document_->current_location().get(next) != simdjson::SUCCESS || OffsetOf(next) > line_.size()) return Invalid();
    const std::string_view text = line_.substr(offset, OffsetOf(next) - offset);
    handler_->OnClose(text.substr(0, text.find_last_not_of(" \t\r\n") + 1), offset);
    return absl::OkStatus();
  }

  absl::Status ReadScalar(ondemand::value* value, ondemand::json_type type, std::string_view token, size_t offset) {
    JsonToken scalar{.token = token, .offset = offset, .text = {}};
    switch (type) {
      case ondemand::json_type::string:
        scalar.type = JsonToken::Type::kString;
        if (value->get_string().get(scalar.text) != simdjson::SUCCESS) return Invalid();
        scalar.is_in_line = token.size() == scalar.text.size() + 2;  // each escape is longer than its character
        if (scalar.is_in_line) scalar.text = token.substr(1, scalar.text.size());
        break;
      case ondemand::json_type::number:
        scalar.type = JsonToken::Type::kNumber;
        if (!IsNumber(token)) return InvalidJson(line_, offset);
        break;
      case ondemand::json_type::boolean:
        scalar.type = JsonToken::Type::kBool;
        if (token != "true" && token != "false") return InvalidJson(line_, offset);
        break;
      default:
        if (token != "null") return InvalidJson(line_, offset);
    }
    handler_->OnScalar(scalar);
    return absl::OkStatus();
  }

  const std::string_view line_;
  const char* const copy_;
  JsonLineHandler* const handler_;
  ondemand::document* document_ = nullptr;
};

}  // namespace

absl::Status ReadJsonLine(std::string_view line, JsonLineHandler* handler) {
  thread_local Scratch scratch;
  std::string& padded = scratch.padded;
  padded.reserve(line.size() + simdjson::SIMDJSON_PADDING);
  padded.assign(line);
  padded.append(simdjson::SIMDJSON_PADDING, '\0');
  if (scratch.parser.capacity() < line.size() || scratch.parser.capacity() == 0) {
    const size_t capacity = std::max(line.size(), std::min(2 * scratch.parser.capacity(), kKeptCapacity));
    if (scratch.parser.allocate(std::max(capacity, kLeastCapacity)) != simdjson::SUCCESS) {
      return absl::ResourceExhaustedError(absl::StrCat("no memory to parse a line of ", line.size(), " bytes"));
    }
  }
  absl::Status read;
  ondemand::document document;
  const simdjson::padded_string_view view(padded.data(), line.size(), padded.size());
  if (scratch.parser.iterate(view).get(document) != simdjson::SUCCESS) {
    read = InvalidJson(line, line.size());
  } else {
    read = LineReader(line, padded.data(), handler).Read(&document);
  }
  if (scratch.parser.capacity() > kKeptCapacity) scratch = Scratch();
  return read;
}

}  // namespace penstock::records
