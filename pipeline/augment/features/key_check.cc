#include "pipeline/augment/features/key_check.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/near_name.h"
#include "pipeline/augment/features/annotations.h"
#include "pipeline/augment/features/features.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/json_record_parser.h"
#include "pipeline/records/record_parser.h"
#include "pipeline/records/sample_parser.h"
#include "pipeline/sources/pack_frame.h"

namespace penstock::augment {

using records::RecordFormat;

namespace {

constexpr size_t kMaxKeysShown = 24;

std::string Quoted(const std::string& key) { return absl::StrCat("\"", absl::CHexEscape(key), "\""); }

// Returns the first keys and the number of the others.
std::string Listed(const std::vector<std::string>& keys) {
  std::string out;
  for (size_t i = 0; i < std::min(keys.size(), kMaxKeysShown); ++i) {
    absl::StrAppend(&out, i == 0 ? "" : ", ", absl::CHexEscape(keys[i]));
  }
  if (keys.size() > kMaxKeysShown) absl::StrAppend(&out, " and ", keys.size() - kMaxKeysShown, " more");
  return out;
}

}  // namespace

KeyCheck::KeyCheck(const v1::JobSpec& job)
    : format_(ParserFormatOf(job)), is_packed_(plan::MakesRows(plan::DatasetOf(job))) {
  if (RecordFormatOf(job) == v1::RAW) return;
  for (int i = 0; i < job.features_size(); ++i) {
    const v1::Feature& feature = job.features(i);
    // A default of a CSV column stands for an empty field. The row of names still has the column.
    if (feature.has_default_() && !records::HasFields(format_)) continue;
    wanted_.push_back(
        {absl::StrCat("features[", i, "].key"), feature.key(), feature.sequence(), feature.variable_length()});
  }
  if (!job.annotations().has_boxes()) return;
  for (const BoxKey& box : BoxKeysOf(job.annotations().boxes())) {
    wanted_.push_back({absl::StrCat("annotations.boxes.", box.field), box.key});
  }
}

void KeyCheck::AddSample(std::string_view record) {
  const absl::StatusOr<std::vector<records::FeatureInfo>> members = records::ListMembers(record);
  if (!members.ok()) return;
  ++records_;
  for (const records::FeatureInfo& member : *members) context_.insert(member.key);
  std::erase_if(wanted_, [&](const Wanted& wanted) {
    if (wanted.key == "__key__") return true;
    for (const absl::string_view alternative : absl::StrSplit(wanted.key, ';')) {
      const absl::string_view extension = alternative.substr(0, alternative.find('/'));
      if (context_.contains(absl::AsciiStrToLower(extension))) return true;
    }
    return false;
  });
}

void KeyCheck::AddValues(std::string_view record) {
  const absl::StatusOr<std::vector<records::FeatureInfo>> values = records::ListValues(record, format_);
  if (!values.ok()) return;
  ++records_;
  for (const records::FeatureInfo& value : *values) context_.insert(value.key);
  const bool is_json = format_ == RecordFormat::kJson ||
                       (format_ == RecordFormat::kFileRow && !values->empty() && !values->front().is_field);
  std::erase_if(wanted_, [&](const Wanted& wanted) {
    return is_json ? records::HasJsonPath(*values, wanted.key) : context_.contains(wanted.key);
  });
}

void KeyCheck::Add(std::string_view record) {
  if (!is_packed_) return AddSingle(record);
  std::vector<sources::FramedPart> parts;
  if (!sources::ParsePack(record, &parts).ok()) return;
  for (const sources::FramedPart& part : parts) AddSingle(part.record);
}

void KeyCheck::AddSingle(std::string_view record) {
  if (format_ == RecordFormat::kSample) return AddSample(record);
  if (format_ != RecordFormat::kExample && format_ != RecordFormat::kSequenceExample) return AddValues(record);
  // An Example is a SequenceExample without lists, so this parser accepts both.
  absl::StatusOr<std::vector<records::FeatureInfo>> features =
      records::ListFeatures(record, records::RecordFormat::kSequenceExample);
  const bool sequence_examples = format_ == RecordFormat::kSequenceExample;
  if (!features.ok() && !sequence_examples) features = records::ListFeatures(record, records::RecordFormat::kExample);
  if (!features.ok()) return;
  ++records_;
  for (records::FeatureInfo& feature : *features) (feature.sequence ? lists_ : context_).insert(std::move(feature.key));
  std::erase_if(wanted_, [&](const Wanted& wanted) {
    return wanted.sequence ? sequence_examples && lists_.contains(wanted.key) : context_.contains(wanted.key);
  });
}

std::string KeyCheck::Mistake(const Wanted& wanted, const std::string& where) const {
  const std::string head = absl::StrCat(wanted.path, ": ");
  if (!wanted.sequence && lists_.contains(wanted.key)) {
    const std::string is = absl::StrCat(head, Quoted(wanted.key), " is a feature list of the records");
    if (format_ != RecordFormat::kSequenceExample) {
      return absl::StrCat(is,
                          ", which are tf.train.SequenceExamples and are read as Examples: write dataset { format: "
                          "SEQUENCE_EXAMPLE }, and sequence: true here");
    }
    return absl::StrCat(is, " and not in their context: write sequence: true",
                        wanted.variable_length ? " in the place of variable_length" : "");
  }
  if (wanted.sequence && context_.contains(wanted.key)) {
    return absl::StrCat(head, Quoted(wanted.key),
                        " is in the records' context and is no feature list: leave out sequence (any number of values: "
                        "variable_length: true)");
  }
  const std::set<std::string>& among = wanted.sequence ? lists_ : context_;
  std::vector<std::string> keys(among.begin(), among.end());
  std::string out = absl::StrCat(head, "none of ", where, " has ", wanted.sequence ? "a feature list " : "a key ",
                                 Quoted(wanted.key), DidYouMean(wanted.key, keys));
  for (const std::string& list : lists_) {
    if (!wanted.sequence) keys.push_back(absl::StrCat(list, " (a feature list)"));
  }
  if (keys.empty()) {
    absl::StrAppend(&out, "; they have no ", wanted.sequence ? "feature lists" : "keys", " at all");
  } else {
    absl::StrAppend(&out, "; they have: ", Listed(keys));
  }
  return absl::StrCat(out, ". If this is intended, ",
                      records::HasFields(format_) ? "" : "give the feature a default, or ", "use --allow-missing");
}

std::vector<std::string> KeyCheck::Mistakes(const std::string& where) const {
  std::vector<std::string> out;
  for (const Wanted& wanted : wanted_) out.push_back(Mistake(wanted, where));
  return out;
}

}  // namespace penstock::augment
