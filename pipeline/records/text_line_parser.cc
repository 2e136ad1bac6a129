#include "pipeline/records/text_line_parser.h"

#include <cstddef>

#include "base/status_macros.h"
#include "pipeline/records/request_check.h"

namespace penstock::records {

absl::StatusOr<TextLineParser> TextLineParser::Create(std::vector<FeatureRequest> requests) {
  for (const FeatureRequest& request : requests) {
    PS_RETURN_IF_ERROR(CheckRequest(request));
    if (request.key == kLineKey && request.kind != FeatureKind::kBytes) {
      return BadRequest(request, "is a line of text, so its type must be BYTES");
    }
  }
  return TextLineParser(std::move(requests));
}

absl::Status TextLineParser::Parse(std::string_view record, ParsedExample* out) const {
  out->resize(requests_.size());
  for (size_t i = 0; i < requests_.size(); ++i) {
    FeatureValue& value = (*out)[i];
    value.Clear();
    if (requests_[i].key != kLineKey) continue;
    PS_RETURN_IF_ERROR(CheckElements(requests_[i], record));
    value.missing = false;
    value.bytes.push_back(record);
  }
  return absl::OkStatus();
}

std::vector<FeatureInfo> ListTextLine(std::string_view record) {
  return {{.key = kLineKey, .kind = FeatureKind::kBytes, .count = 1, .first_bytes = record}};
}

}  // namespace penstock::records
