#include "pipeline/pack/pack_schema.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "pipeline/import/job_text.h"

namespace penstock::pack {
namespace {

bool IsArray(const PackedValue& value) { return value.array != batch::DType::kString; }

std::string Describe(const PackedValue& value) {
  if (!IsArray(value)) return std::string(records::FeatureKindName(value.kind));
  return absl::StrCat("an array of ", std::string(batch::DTypeName(value.array)), " (n",
                      value.inner_shape.empty() ? "" : ", ", absl::StrJoin(value.inner_shape, ", "), ")");
}

absl::Status Damaged(std::string_view line) {
  return absl::DataLossError(
      absl::StrCat("the line '", absl::CHexEscape({line.data(), line.size()}), "' is no part of a schema"));
}

}  // namespace

absl::Status PackSchema::Combine(std::string_view key, const PackedValue& now, const Count& more) {
  auto it = fields_.find(key);
  if (it == fields_.end()) {
    Field& field = fields_.emplace(key, Field{more, now}).first->second;
    field.kind.first_bytes = {};
    return absl::OkStatus();
  }
  PackedValue& then = it->second.kind;
  Count& count = it->second;
  if (then.kind != now.kind || then.array != now.array || then.inner_shape != now.inner_shape) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", std::string(key), "' is ", Describe(now), " in this record and was ", Describe(then),
        " before; all records hold the same under a key",
        IsArray(then) && IsArray(now) && then.array == now.array ? ", and arrays may differ in their first axis" : ""));
  }
  then.single = then.single && now.single;
  count.seen += more.seen;
  count.least = std::min(count.least, more.least);
  count.most = std::max(count.most, more.most);
  count.image = count.image && more.image;
  return absl::OkStatus();
}

absl::Status PackSchema::Add(std::string_view key, const PackedValue& value) {
  if (key.empty()) return absl::InvalidArgumentError("a feature without a name");
  if (IsArray(value) && std::count(value.inner_shape.begin(), value.inner_shape.end(), 0) > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", std::string(key), "' is ", Describe(value), ": only the first axis may be 0"));
  }
  const bool image = value.kind == records::FeatureKind::kBytes && !IsArray(value) && value.count == 1 &&
                     imports::LooksLikeImage(value.first_bytes);
  return Combine(key, value, {.seen = 1, .least = value.count, .most = value.count, .image = image});
}

absl::Status PackSchema::AddExample(std::string_view record) {
  const auto infos = records::ListFeatures(record, records::RecordFormat::kExample);
  if (!infos.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("record ", records_, " is no serialized tf.train.Example: ", infos.status().message()));
  }
  for (const records::FeatureInfo& info : *infos) {
    if (info.kind == records::FeatureKind::kNone) continue;
    PackedValue value;
    value.kind = info.kind;
    value.single = info.count == 1;
    value.count = info.count;
    value.first_bytes = info.first_bytes;
    PS_RETURN_IF_ERROR(Add(info.key, value));
  }
  EndRecord();
  return absl::OkStatus();
}

absl::Status PackSchema::AddRecord(const std::vector<std::pair<std::string_view, PackedValue>>& values) {
  for (const auto& [key, value] : values) PS_RETURN_IF_ERROR(Add(key, value));
  EndRecord();
  return absl::OkStatus();
}

absl::Status PackSchema::Merge(const PackSchema& other) {
  for (const auto& [key, field] : other.fields_) PS_RETURN_IF_ERROR(Combine(key, field.kind, field));
  records_ += other.records_;
  return absl::OkStatus();
}

std::string PackSchema::Serialize() const {
  std::string out = absl::StrCat("records ", records_, "\n");
  for (const auto& [key, field] : fields_) {
    absl::StrAppend(
        &out,
        absl::StrJoin({static_cast<uint64_t>(field.kind.kind), static_cast<uint64_t>(field.kind.array),
                       uint64_t{field.kind.single}, field.seen, field.least, field.most, uint64_t{field.image}},
                      " "),
        " [", absl::StrJoin(field.kind.inner_shape, ","), "] ", absl::CEscape(key), "\n");
  }
  return out;
}

absl::StatusOr<PackSchema> ParsePackSchema(std::string_view text) {
  PackSchema schema;
  bool first = true;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n', absl::SkipEmpty())) {
    if (std::exchange(first, false)) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      if (words.size() != 2 || words[0] != "records" || !absl::SimpleAtoi(words[1], &schema.records_)) {
        return Damaged({line.data(), line.size()});
      }
      continue;
    }
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 8));
    std::string key;
    uint64_t numbers[7];
    if (words.size() != 9 || words[7].size() < 2 || !absl::CUnescape(words[8], &key))
      return Damaged({line.data(), line.size()});
    for (size_t i = 0; i < 7; ++i) {
      if (!absl::SimpleAtoi(words[i], &numbers[i])) return Damaged({line.data(), line.size()});
    }
    if (numbers[0] > 3 || !batch::IsDType(static_cast<int>(numbers[1]))) return Damaged({line.data(), line.size()});
    PackSchema::Field field;
    field.kind.kind = static_cast<records::FeatureKind>(numbers[0]);
    field.kind.array = static_cast<batch::DType>(numbers[1]);
    field.kind.single = numbers[2] != 0;
    field.seen = numbers[3];
    field.least = numbers[4];
    field.most = numbers[5];
    field.image = numbers[6] != 0;
    for (const auto& word : absl::StrSplit(words[7].substr(1, words[7].size() - 2), ',', absl::SkipEmpty())) {
      int64_t extent = 0;
      if (!absl::SimpleAtoi(word, &extent)) return Damaged({line.data(), line.size()});
      field.kind.inner_shape.push_back(extent);
    }
    schema.fields_.emplace(std::move(key), std::move(field));
  }
  if (first) return Damaged("");
  return schema;
}

bool PackSchema::Whole(const Field& field) const {
  return field.seen == records_ && field.least == field.most && field.most > 0;
}

std::string PackSchema::Line(const std::string& key, const Field& field, const std::string& column) const {
  const bool whole = Whole(field);
  if (IsArray(field.kind)) {
    std::vector<int64_t> shape = field.kind.inner_shape;
    if (whole && !field.kind.single) shape.insert(shape.begin(), static_cast<int64_t>(field.most));
    return imports::RawFeatureText(key, column, field.kind.array, shape, !whole) + "\n";
  }
  const bool scalar = whole && field.kind.single;
  return absl::StrCat(
      "features { key: \"", absl::CEscape(key), "\"", column.empty() ? "" : absl::StrCat(" column: \"", column, "\""),
      " type: ", std::string(records::FeatureKindName(field.kind.kind)),
      whole && !scalar ? absl::StrCat(" shape: ", field.most) : "", whole ? "" : " variable_length: true", " }\n");
}

std::string PackSchema::JobText(const std::string& name, const std::string& files, const std::string& command,
                                const std::map<std::string, batch::DType>& casts) const {
  std::string image, label;
  for (const auto& [key, field] : fields_) {
    const bool scalar = Whole(field) && field.kind.single;
    if (image.empty() && scalar && field.image) image = key;
    if (label.empty() && scalar && field.kind.kind == records::FeatureKind::kInt64 && imports::LooksLikeLabel(key))
      label = key;
  }
  // A name that another feature uses stays with that feature.
  if (image.empty() || fields_.count("label") > 0) label.clear();
  const std::string image_column = fields_.count("image") > 0 ? image : "image";
  std::string text = imports::JobTextHead(command, name) + imports::DatasetText(files);
  std::string conversions;
  for (const auto& [key, field] : fields_) {
    const std::string column = key == image ? image_column : key == label ? "label" : "";
    absl::StrAppend(&text, Line(key, field, column));
    const auto cast = casts.find(key);
    if (cast == casts.end() || !Whole(field)) continue;
    absl::StrAppend(&conversions, "ops { column: \"", absl::CEscape(column.empty() ? key : column),
                    "\" cast { to: ", absl::AsciiStrToUpper(std::string(batch::DTypeName(cast->second))), " } }\n");
  }
  if (!conversions.empty()) absl::StrAppend(&text, "\n", conversions);
  if (!image.empty()) {
    const std::string column = image_column == "image" ? "" : absl::StrCat("column: \"", absl::CEscape(image), "\" ");
    absl::StrAppend(&text, "\n", imports::ImageRecipeText(column));
  }
  absl::StrAppend(&text, "\norder { seed: 17 shuffle: CHUNKED }   # NONE | CHUNKED | FULL\n",
                  imports::BatchText(records_));
  return text;
}

}  // namespace penstock::pack
