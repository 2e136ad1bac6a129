#include "pipeline/records/manifest_fields.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/records/file_row_parser.h"

namespace penstock::records {
namespace {

const std::vector<std::string>& UsualNames() {
  static const std::vector<std::string> names = {"file", "file_name", "filename", "path", "url"};
  return names;
}

class FieldFinder final : public sources::RowFiles {
 public:
  explicit FieldFinder(const ManifestFields& fields)
      : fields_(fields),
        names_(fields.file.empty() ? UsualNames() : std::vector<std::string>{fields.file}),
        parser_(RowParser::Create(Requests(), {})) {}

  uint64_t id() const override {
    return HashWords({Hash64(fields_.file), Hash64(fields_.offset), Hash64(fields_.length)});
  }

  absl::StatusOr<sources::NamedFile> FileOf(sources::FramedFile::Text text, std::string_view row) const override {
    if (!parser_.ok()) return parser_.status();
    ParsedExample parsed;
    PS_RETURN_IF_ERROR(parser_->Parse(text, row, &parsed));
    size_t at = 0;
    while (at < names_.size() && parsed[at].missing) ++at;
    if (at == names_.size()) {
      return absl::InvalidArgumentError(
          fields_.file.empty()
              ? absl::StrCat("the row has no field ", absl::StrJoin(names_, ", "),
                             "; name the field with the file: dataset { manifest { file: \"NAME\" } }, or --manifest "
                             "NAME")
              : absl::StrCat("the row has no field '", fields_.file, "', which manifest.file names"));
    }
    if (parsed[at].bytes.size() != 1) {
      return absl::InvalidArgumentError(absl::StrCat("the field '", names_[at], "' has ", parsed[at].bytes.size(),
                                                     " values, not the name of a file"));
    }
    sources::NamedFile named{.name = std::string(parsed[at].bytes[0])};
    at = names_.size();
    if (!fields_.offset.empty()) {
      PS_ASSIGN_OR_RETURN(named.offset, NumberIn(parsed[at++], fields_.offset));
    }
    if (!fields_.length.empty()) {
      PS_ASSIGN_OR_RETURN(named.length, NumberIn(parsed[at], fields_.length));
    }
    return named;
  }

 private:
  std::vector<FeatureRequest> Requests() const {
    std::vector<FeatureRequest> requests;
    for (const std::string& name : names_) requests.push_back({.key = name, .kind = FeatureKind::kBytes});
    for (const std::string& name : {fields_.offset, fields_.length}) {
      if (!name.empty()) requests.push_back({.key = name, .kind = FeatureKind::kInt64});
    }
    return requests;
  }

  static absl::StatusOr<uint64_t> NumberIn(const FeatureValue& value, const std::string& name) {
    if (value.ints.size() == 1 && value.ints[0] >= 0) return static_cast<uint64_t>(value.ints[0]);
    return absl::InvalidArgumentError(absl::StrCat("the field '", name, "' has no number of bytes"));
  }

  const ManifestFields fields_;
  const std::vector<std::string> names_;
  const absl::StatusOr<RowParser> parser_;
};

}  // namespace

std::shared_ptr<const sources::RowFiles> RowFilesOf(const ManifestFields& fields) {
  return std::make_shared<const FieldFinder>(fields);
}

}  // namespace penstock::records
