// Writing JSON.
#ifndef PENSTOCK_BASE_JSON_H_
#define PENSTOCK_BASE_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// What stands between the quotes of a JSON string (RFC 8259, section 7). Bytes that are no UTF-8 (RFC 3629), as names
// of files may have, become U+FFFD each.
std::string JsonEscaped(std::string_view text);

// One object, written member by member: `Json().Field("job", name).Field("rows", rows).Object()`. Keys are the
// caller's to keep distinct.
class Json {
 public:
  Json& Field(std::string_view key, std::string_view value);
  Json& Field(std::string_view key, const char* value) { return Field(key, std::string_view(value)); }
  Json& Field(std::string_view key, uint64_t value);
  Json& Field(std::string_view key, int value);
  // Six digits, for people's eyes and plots; null where it is no number.
  Json& Field(std::string_view key, double value);
  Json& Field(std::string_view key, bool value);
  // `json` is a value that is JSON already.
  Json& Raw(std::string_view key, std::string_view json);
  std::string Object() const;

  // Values, for Raw: a text with its quotes; an array of values; an array of texts.
  static std::string Quote(std::string_view text);
  static std::string Array(const std::vector<std::string>& items);
  static std::string QuotedArray(const std::vector<std::string>& texts);

 private:
  std::string body_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_JSON_H_
