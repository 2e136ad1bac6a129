#include "base/json.h"

#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/utf8.h"

namespace penstock {

std::string JsonEscaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8SequenceLength(text, i);
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (length == 0) {
      out += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i];
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof(buffer), "\\u%04x", static_cast<unsigned>(c));
      out += buffer;
    } else {
      out += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return out;
}

Json& Json::Field(std::string_view key, std::string_view value) { return Raw(key, Quote(value)); }
Json& Json::Field(std::string_view key, uint64_t value) { return Raw(key, absl::StrCat(value)); }
Json& Json::Field(std::string_view key, int value) { return Raw(key, absl::StrCat(value)); }
Json& Json::Field(std::string_view key, double value) {
  return Raw(key, std::isfinite(value) ? absl::StrFormat("%.6g", value) : "null");
}
Json& Json::Field(std::string_view key, bool value) { return Raw(key, value ? "true" : "false"); }
Json& Json::Raw(std::string_view key, std::string_view json) {
  absl::StrAppend(&body_, body_.empty() ? "" : ", ", Quote(key), ": ");
  body_ += json;
  return *this;
}

std::string Json::Object() const { return absl::StrCat("{", body_, "}"); }

std::string Json::Quote(std::string_view text) { return absl::StrCat("\"", JsonEscaped(text), "\""); }

std::string Json::Array(const std::vector<std::string>& items) {
  return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
}

std::string Json::QuotedArray(const std::vector<std::string>& texts) {
  std::vector<std::string> items;
  for (const std::string& text : texts) items.push_back(Quote(text));
  return Array(items);
}

}  // namespace penstock
