// Fields of JSON answers and of JSON files.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_ANSWER_FIELDS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_ANSWER_FIELDS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/time/time.h"

namespace penstock::storage {

// Returns the string field `name`, or "" if it is missing or `json` is no object.
inline std::string TextOf(const nlohmann::json& json, const char* name) {
  if (!json.is_object()) return "";
  const auto found = json.find(name);
  return found == json.end() || !found->is_string() ? "" : found->get<std::string>();
}

// Parses a time of RFC 3339 and returns it in seconds since 1970, or 0 if it is malformed.
inline int64_t SecondsOf(const std::string& time) {
  absl::Time parsed;
  return absl::ParseTime(absl::RFC3339_full, time, &parsed, nullptr) ? absl::ToUnixSeconds(parsed) : 0;
}

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_ANSWER_FIELDS_H_
