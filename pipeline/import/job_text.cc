#include "pipeline/import/job_text.h"

#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace penstock {

std::string JobTextHead(const std::string& command, const std::string& name, const std::string& files) {
  return absl::StrCat(
      "# proto-file: penstock/v1/job.proto\n# proto-message: penstock.v1.JobSpec\n"
      "#\n# Written by `penstock ",
      command, "`: reads back what it wrote.\n\nname: \"", name, "\"\n\ndataset {\n  files: \"", absl::CEscape(files),
      "\"\n}\n\n");
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  if (shape.empty()) return "";
  return absl::StrCat(" shape: [", absl::StrJoin(shape, ", "), "]");
}

std::string RawFeatureText(const std::string& key, const std::string& column, DType dtype,
                           const std::vector<int64_t>& shape, bool ragged) {
  const std::string_view name = DTypeName(dtype);
  return absl::StrCat("features { key: \"", absl::CEscape(key), "\"",
                      column.empty() ? "" : absl::StrCat(" column: \"", absl::CEscape(column), "\""),
                      " type: BYTES decode_raw: ", absl::AsciiStrToUpper({name.data(), name.size()}), ShapeText(shape),
                      ragged ? " variable_length: true" : "", " }");
}

std::string JobName(const std::string& text) {
  std::string name;
  for (const char c : text.substr(0, 128)) {
    name += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' ? c : '-';
  }
  while (!name.empty() && (name.front() == '-' || name.front() == '.')) name.erase(0, 1);
  return name.empty() ? "my-job" : name;
}

}  // namespace penstock
