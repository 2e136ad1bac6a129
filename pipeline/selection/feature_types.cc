#include "pipeline/selection/feature_types.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/status_place.h"
#include "pipeline/batch/dtype.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/records/job_format.h"
#include "pipeline/records/json_path.h"
#include "pipeline/records/json_record_parser.h"
#include "pipeline/records/record_parser.h"
#include "pipeline/records/sample_parser.h"
#include "pipeline/sources/file_access.h"
#include "pipeline/sources/index_job.h"
#include "pipeline/sources/record_walker.h"

namespace penstock::selection {
namespace {

constexpr char kSampleKey[] = "__key__";
// The same numbers as in loader/check_keys.h.
constexpr size_t kFirstFiles = 8;
constexpr uint64_t kFirstRecords = 32, kFirstBytes = uint64_t{64} << 20;

records::FeatureKind KindOf(v1::Feature::Type type) {
  switch (type) {
    case v1::Feature::BYTES:
      return records::FeatureKind::kBytes;
    case v1::Feature::INT64:
      return records::FeatureKind::kInt64;
    case v1::Feature::FLOAT:
      return records::FeatureKind::kFloat;
    default:
      return records::FeatureKind::kNone;
  }
}

v1::Feature::Type TypeOf(records::FeatureKind kind) {
  switch (kind) {
    case records::FeatureKind::kInt64:
      return v1::Feature::INT64;
    case records::FeatureKind::kFloat:
      return v1::Feature::FLOAT;
    default:
      return v1::Feature::BYTES;
  }
}

// Adds the first records of the file. Sets *first_error to the first error of a record, if it is OK.
absl::Status AddFirstRecords(const RandomAccessFile& file, const sources::IndexOptions& options, FeatureTypes* types,
                             uint64_t* records, absl::Status* first_error) {
  PS_ASSIGN_OR_RETURN(const auto walker,
                      sources::RecordWalker::Start(&file, {.compression = options.compression,
                                                           .container = options.container,
                                                           .windows = options.windows,
                                                           .files = options.files,
                                                           .max_record_bytes = options.max_record_bytes}));
  std::string record;
  uint64_t bytes = 0;
  for (uint64_t k = 0; k < kFirstRecords && bytes < kFirstBytes; ++k) {
    PS_ASSIGN_OR_RETURN(const auto step, walker->Next(&record));
    if (step == sources::RecordWalker::Step::kEnd) break;
    if (step == sources::RecordWalker::Step::kBroken) return walker->BrokenStatus();
    bytes += record.size();
    const absl::Status added = walker->data_is_right() ? types->AddRecord(file.path(), walker->kind().container, record)
                                                       : walker->BrokenStatus();
    if (added.ok()) {
      ++*records;
    } else if (first_error->ok()) {
      *first_error = walker->data_is_right() ? AtPlace(absl::StrCat(file.path(), ", record ", k), added) : added;
    }
  }
  return absl::OkStatus();
}

// Returns the fields of JSON members of a sample, with the keys by which SampleParser reads them.
std::vector<records::FeatureInfo> JsonFieldsOf(const std::vector<records::FeatureInfo>& members) {
  std::vector<records::FeatureInfo> fields;
  for (const records::FeatureInfo& member : members) {
    if (!records::IsJsonExtension(member.key)) continue;
    absl::StatusOr<std::vector<records::FeatureInfo>> values = records::ListJsonValues(member.first_bytes);
    if (!values.ok()) continue;  // no object: only the whole member is a feature
    for (records::FeatureInfo& value : *values) {
      const absl::StatusOr<std::vector<std::string>> names = records::SplitJsonPath(value.key);
      if (!names.ok()) continue;
      value.key = member.key;
      for (const std::string& name : *names) {
        absl::StrAppend(&value.key, "/", absl::StrReplaceAll(name, {{"~", "~0"}, {"/", "~1"}}));
      }
      fields.push_back(std::move(value));
    }
  }
  return fields;
}

bool IsJsonField(records::RecordFormat format, std::string_view key) {
  return format == records::RecordFormat::kSample && key.find('/') != std::string_view::npos;
}

std::string NameOf(records::FeatureKind kind) { return std::string(records::FeatureKindName(kind)); }

}  // namespace

FeatureTypes::FeatureTypes(const v1::Selection& selection) : format_(records::FormatOf(selection.format())) {
  for (const v1::SelectedFeature& feature : selection.features()) {
    known_.emplace(feature.key(), Known{.kind = KindOf(feature.type()),
                                        .sequence = feature.sequence(),
                                        .element_bytes = feature.element_bytes()});
  }
}

absl::StatusOr<FeatureTypes> FeatureTypes::Find(storage::Storage* storage, const v1::JobSpec& job,
                                                const std::vector<std::string>& paths) {
  FeatureTypes types;
  const v1::RecordFormat format = plan::DatasetOf(job).format();
  if (format == v1::RAW) return types;
  if (format == v1::SEQUENCE_EXAMPLE) types.SetFormat(records::RecordFormat::kSequenceExample);
  uint64_t records = 0;
  absl::Status first_error;
  sources::IndexOptions options = sources::IndexOptionsOf(job);
  options.files = sources::AccessTo(storage, {});  // no types are in the files that records name
  const size_t count = std::min(kFirstFiles, paths.size());
  for (size_t i = 0; i < count; ++i) {
    const std::string& path = paths[count == 1 ? 0 : i * (paths.size() - 1) / (count - 1)];
    const absl::StatusOr<std::unique_ptr<storage::StoredFile>> file = storage->OpenAndWait(path);
    const absl::Status added =
        file.ok() ? AddFirstRecords(**file, options, &types, &records, &first_error) : file.status();
    if (!added.ok() && first_error.ok()) first_error = added;
  }
  if (records == 0 && !first_error.ok()) return first_error;
  types.AddJob(job);
  return types;
}

absl::Status FeatureTypes::AddRecord(const std::string& path, sources::ContainerKind container,
                                     std::string_view record) {
  if (records::FormatOf(container) != records::RecordFormat::kExample) {
    format_ = records::FormatOf(container);
  } else if (!format_) {
    PS_ASSIGN_OR_RETURN(format_, records::GuessFormat(record));
  }
  PS_ASSIGN_OR_RETURN(std::vector<records::FeatureInfo> infos, records::ListValues(record, *format_));
  if (format_ == records::RecordFormat::kSample) {
    std::vector<records::FeatureInfo> fields = JsonFieldsOf(infos);
    std::move(fields.begin(), fields.end(), std::back_inserter(infos));
    infos.push_back({.key = kSampleKey, .kind = records::FeatureKind::kBytes});
  }
  for (const records::FeatureInfo& info : infos) {
    const bool is_field = info.is_field;
    if (info.kind == records::FeatureKind::kNone && !is_field) continue;
    const Known shown{
        .kind = info.kind, .sequence = info.sequence, .is_field = is_field, .path = path, .last_path = path};
    Known& known = known_.emplace(info.key, shown).first->second;
    if (known.kind == records::FeatureKind::kNone) known.kind = info.kind;
    if (is_field && info.kind == records::FeatureKind::kNone) continue;
    const records::RecordFormat rules = IsJsonField(*format_, info.key) ? records::RecordFormat::kJson : *format_;
    const records::FeatureKind common = records::CommonKind(rules, info.kind, known.kind);
    if (common != records::FeatureKind::kNone) {
      known.kind = common;
      known.last_path = path;
      continue;
    }
    if (known.last_path == path) continue;
    known.last_path = path;
    if (known.other != records::FeatureKind::kNone) continue;
    known.other = info.kind;
    known.other_path = path;
  }
  return absl::OkStatus();
}

void FeatureTypes::AddJob(const v1::JobSpec& job) {
  const v1::Pack* const pack = plan::PackOf(plan::DatasetOf(job));
  for (const v1::Feature& feature : job.features()) {
    const records::FeatureKind kind = KindOf(feature.type());
    if (kind == records::FeatureKind::kNone) continue;
    Known& known = known_.emplace(feature.key(), Known{.kind = kind, .sequence = feature.sequence()}).first->second;
    if (pack != nullptr && std::count(pack->features().begin(), pack->features().end(), feature.key()) > 0) {
      // Arrays show the type of their numbers, whatever the job makes of them.
      const bool is_raw = known.kind == records::FeatureKind::kBytes && batch::IsDType(feature.decode_raw());
      if (is_raw) {
        known.element_bytes = static_cast<uint32_t>(batch::DTypeSize(static_cast<batch::DType>(feature.decode_raw())));
      }
      // A later record may have fractions.
      const bool is_json = format() == records::RecordFormat::kJson || format() == records::RecordFormat::kFileRow ||
                           IsJsonField(format(), feature.key());
      if (is_json && kind == records::FeatureKind::kFloat) known.kind = kind;
    }
    // A field of text has the type that the job reads: digits may be text.
    if (known.is_field) known.kind = kind;
  }
}

std::map<std::string, select::ColumnType> FeatureTypes::Columns() const {
  std::map<std::string, select::ColumnType> columns;
  for (const auto& [name, known] : known_) {
    columns[name] = known.kind == records::FeatureKind::kInt64   ? select::ColumnType::kInt64
                    : known.kind == records::FeatureKind::kFloat ? select::ColumnType::kFloat
                                                                 : select::ColumnType::kBytes;
  }
  return columns;
}

records::FeatureRequest FeatureTypes::RequestOf(const std::string& feature) const {
  const auto found = known_.find(feature);
  PS_CHECK(found != known_.end());
  // A column of CSV may be empty in the first records.
  const records::FeatureKind kind = found->second.kind;
  return {.key = feature,
          .kind = kind == records::FeatureKind::kNone ? records::FeatureKind::kBytes : kind,
          .element_bytes = found->second.element_bytes,
          .sequence = found->second.sequence};
}

uint32_t FeatureTypes::ElementBytesOf(const std::string& feature) const {
  const auto found = known_.find(feature);
  return found == known_.end() ? 0 : found->second.element_bytes;
}

void FeatureTypes::AddTo(std::span<const select::Operand> operands, v1::Selection* selection) const {
  selection->set_format(records::JobFormatOf(format()));
  for (const select::Operand& operand : operands) {
    const auto same = [&](const v1::SelectedFeature& feature) { return feature.key() == operand.feature; };
    if (std::any_of(selection->features().begin(), selection->features().end(), same)) continue;
    const Known& known = known_.at(operand.feature);
    v1::SelectedFeature* const feature = selection->add_features();
    feature->set_element_bytes(known.element_bytes);
    feature->set_key(operand.feature);
    feature->set_type(TypeOf(known.kind));
    feature->set_sequence(known.sequence);
  }
}

absl::Status FeatureTypes::CheckSameTypes(std::span<const select::Operand> operands) const {
  for (const select::Operand& operand : operands) {
    const Known& known = known_.at(operand.feature);
    if (known.other == records::FeatureKind::kNone) continue;
    return absl::InvalidArgumentError(absl::StrCat("the feature '", operand.feature, "' is ", NameOf(known.kind),
                                                   " in ", known.path, " and ", NameOf(known.other), " in ",
                                                   known.other_path, "; select from files in which it has one type"));
  }
  return absl::OkStatus();
}

}  // namespace penstock::selection
