// Reads a line of a JSONL file: one JSON object (RFC 8259).
#ifndef PENSTOCK_PIPELINE_RECORDS_JSON_LINE_H_
#define PENSTOCK_PIPELINE_RECORDS_JSON_LINE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace penstock::records {

// A value that is neither an array nor an object.
struct JsonToken {
  enum class Type : uint8_t { kNull, kBool, kNumber, kString };
  Type type = Type::kNull;
  std::string_view token;  // in the line, a string with its quotes
  size_t offset = 0;       // in the line
  // Content of a string. It is in the line if the string has no escapes. Otherwise it is valid only during the call.
  std::string_view text;
  bool is_in_line = false;
};

// Receives the values of a line in their order.
class JsonLineHandler {
 public:
  virtual ~JsonLineHandler() = default;
  // The name of the member whose value follows.
  virtual void OnKey(std::string_view name) = 0;
  virtual void OnScalar(const JsonToken& scalar) = 0;
  // An array or an object begins.
  virtual void OnOpen(bool is_array) = 0;
  // The array or object that began last ends. `text` is the whole of it in the line.
  virtual void OnClose(std::string_view text, size_t offset) = 0;
};

// Reads `line`. Calls of the handler before an error are valid. Numbers may have any size. Returns InvalidArgument with
// the offset in the line if it is no JSON object, has invalid UTF-8, a surrogate without its pair, or more than
// kMaxJsonDepth (json_fields.h) nested arrays and objects. Uses memory of about 8 times the length of the line, which
// the thread keeps for its next lines, up to 2 MiB.
absl::Status ReadJsonLine(std::string_view line, JsonLineHandler* handler);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_JSON_LINE_H_
