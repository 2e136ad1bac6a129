#include "pipeline/records/example_join.h"

#include <cstddef>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/wire.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/raw_fields.h"

namespace penstock::records {
namespace {

// Appends a map entry with `prefix` before its key. If the entry has several keys, the last one counts.
void AppendRenamed(std::string_view entry, std::string_view prefix, std::vector<RawField>* fields, std::string* out) {
  SplitFields(entry, fields);
  std::string_view key;
  for (const RawField& field : *fields) {
    if (IsLengthField(field, 1)) key = field.content;
  }
  std::string renamed;
  AppendLengthPrefixed(1, std::string(prefix).append(key), &renamed);
  for (const RawField& field : *fields) {
    if (!IsLengthField(field, 1)) renamed.append(field.whole);
  }
  AppendLengthPrefixed(1, renamed, out);
}

}  // namespace

absl::Status JoinExamples(std::string_view first, std::string_view second, std::string_view prefix, std::string* out) {
  // These calls reject malformed records.
  PS_ASSIGN_OR_RETURN(const std::vector<FeatureInfo> own, ListFeatures(first, RecordFormat::kExample));
  PS_ASSIGN_OR_RETURN(const std::vector<FeatureInfo> added, ListFeatures(second, RecordFormat::kExample));
  std::set<std::string> keys;
  for (const FeatureInfo& info : own) keys.insert(info.key);
  for (const FeatureInfo& info : added) {
    const std::string key = std::string(prefix) + info.key;
    if (keys.contains(key)) return absl::AlreadyExistsError(absl::StrCat("both have the feature '", key, "'"));
  }
  std::vector<RawField> pieces, entries, fields;
  std::string features;
  SplitFields(second, &pieces);
  for (const RawField& piece : pieces) {
    if (IsLengthField(piece, 2) && !piece.content.empty()) {
      return absl::InvalidArgumentError("it is a SequenceExample, whose feature lists cannot be joined to a record");
    }
    if (!IsLengthField(piece, 1)) continue;
    SplitFields(piece.content, &entries);
    for (const RawField& entry : entries) {
      if (IsLengthField(entry, 1)) AppendRenamed(entry.content, prefix, &fields, &features);
    }
  }
  // The features of a record may have several pieces. The last one gets the features.
  SplitFields(first, &pieces);
  size_t last = pieces.size();
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (IsLengthField(pieces[i], 1)) last = i;
  }
  out->clear();
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i == last) {
      AppendLengthPrefixed(1, std::string(pieces[i].content).append(features), out);
    } else {
      out->append(pieces[i].whole);
    }
  }
  if (last == pieces.size() && !features.empty()) AppendLengthPrefixed(1, features, out);
  return absl::OkStatus();
}

}  // namespace penstock::records
