#include "pipeline/import/job_text.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pipeline/plan/fitting_batch.h"

namespace penstock::imports {

std::string JobTextHead(const std::string& command, const std::string& name) {
  return absl::StrCat(
      "# proto-file: penstock/v1/job.proto\n# proto-message: penstock.v1.JobSpec\n"
      "#\n# Written by `penstock ",
      command, "`: reads back what it wrote.\n\nname: \"", name, "\"\n\n");
}

std::string DatasetText(const std::string& files) {
  return absl::StrCat("dataset {\n  files: \"", absl::CEscape(files), "\"\n}\n\n");
}

bool LooksLikeImage(std::string_view bytes) {
  const absl::string_view b(bytes.data(), bytes.size());
  return absl::StartsWith(b, "\xFF\xD8\xFF") || absl::StartsWith(b, "\x89PNG\r\n") ||
         (absl::StartsWith(b, "RIFF") && b.size() > 12 && b.substr(8, 4) == "WEBP") ||
         (absl::StartsWith(b, "BM") && b.size() > 54) || absl::StartsWith(b, "GIF87a") || absl::StartsWith(b, "GIF89a");
}

bool LooksLikeLabel(std::string_view key) {
  const absl::string_view k(key.data(), key.size());
  return absl::StrContains(k, "label") || k == "y" || k == "cls" || absl::EndsWith(k, "class") ||
         absl::EndsWith(k, "target");
}

std::string ImageRecipeText(const std::string& column) {
  return absl::StrCat("ops { ", column, "decode_image { channels: RGB } }\n", "ops { ", column,
                      "random_resized_crop { height: 224 width: 224 } }\n", "ops { ", column,
                      "random_horizontal_flip { probability: 0.5 } }\n");
}

std::string EvaluationRecipeText() {
  return "ops { decode_image { channels: RGB } }\n"
         "ops { resize { shorter_side: 256 } }\n"
         "ops { center_crop { height: 224 width: 224 } }\n";
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  if (shape.empty()) return "";
  return absl::StrCat(" shape: [", absl::StrJoin(shape, ", "), "]");
}

std::string RawFeatureText(const std::string& key, const std::string& column, batch::DType dtype,
                           const std::vector<int64_t>& shape, bool ragged) {
  const std::string_view name = batch::DTypeName(dtype);
  return absl::StrCat("features { key: \"", absl::CEscape(key), "\"",
                      column.empty() ? "" : absl::StrCat(" column: \"", absl::CEscape(column), "\""),
                      " type: BYTES decode_raw: ", absl::AsciiStrToUpper({name.data(), name.size()}), ShapeText(shape),
                      ragged ? " variable_length: true" : "", " }");
}

std::string BatchText(uint64_t rows, const std::string& last) {
  const std::string batch = absl::StrCat("batch { size: ", plan::FittingBatch(rows), " last: ", last, " }");
  return absl::StrCat(batch, std::string(39 - std::min<size_t>(batch.size(), 38), ' '),
                      "# over all ranks; DROP | PAD | PARTIAL\n");
}

std::string JobName(const std::string& text) {
  std::string name;
  for (const char c : text.substr(0, 128)) {
    name += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' ? c : '-';
  }
  while (!name.empty() && (name.front() == '-' || name.front() == '.')) name.erase(0, 1);
  return name.empty() ? "my-job" : name;
}

}  // namespace penstock::imports
