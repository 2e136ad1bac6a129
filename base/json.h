// Writes JSON.
#ifndef PENSTOCK_BASE_JSON_H_
#define PENSTOCK_BASE_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Returns the content of a JSON string between its quotes (RFC 8259, section 7). Replaces each byte that is not part of
// a UTF-8 sequence (RFC 3629) by U+FFFD. File names may contain such bytes.
std::string JsonEscaped(std::string_view text);

// Writes one object member by member: `Json().Field("job", name).Field("rows", rows).Object()`. The caller must use
// distinct keys.
class Json {
 public:
  Json& Field(std::string_view key, std::string_view value);
  Json& Field(std::string_view key, const char* value) { return Field(key, std::string_view(value)); }
  Json& Field(std::string_view key, uint64_t value);
  Json& Field(std::string_view key, int value);
  // Writes six significant digits, for display and plots, or null for NaN and infinity.
  Json& Field(std::string_view key, double value);
  Json& Field(std::string_view key, bool value);
  // `json` must be a JSON value.
  Json& Raw(std::string_view key, std::string_view json);
  std::string Object() const;

  // Return a value for Raw: a quoted text, an array of JSON values, and an array of quoted texts.
  static std::string Quote(std::string_view text);
  static std::string Array(const std::vector<std::string>& items);
  static std::string QuotedArray(const std::vector<std::string>& texts);

 private:
  std::string body_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_JSON_H_
