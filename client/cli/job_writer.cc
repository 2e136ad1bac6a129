#include "client/cli/job_writer.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "pipeline/batch/dtype.h"
#include "pipeline/import/job_text.h"
#include "pipeline/records/job_format.h"
#include "pipeline/records/record_parser.h"

namespace penstock::cli {
namespace {

constexpr char kTrainingOrder[] = "order { seed: 17 shuffle: CHUNKED }   # NONE | CHUNKED | FULL\n";
constexpr char kEvaluationOrder[] = "order { shuffle: NONE }                # the order of the files\n";

bool LooksLikeText(std::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return (code < 0x20 && c != '\t' && c != '\n' && c != '\r') || code == 0x7F;
  });
}

// A single value that some records lack needs a default.
bool NeedsDefault(const FeatureSummary& f, uint64_t records) {
  return !f.sequence && f.least_count == f.most_count && f.most_count == 1 && f.seen < records &&
         f.kind != records::FeatureKind::kNone && !(f.is_field && f.kind == records::FeatureKind::kBytes);
}

std::string DefaultOf(records::FeatureKind kind) {
  return kind == records::FeatureKind::kInt64   ? "ints: 0"
         : kind == records::FeatureKind::kFloat ? "floats: 0"
                                                : "bytes_values: \"\"";
}

// Bytes without a known format and with the same length in each record are probably numbers.
bool LooksLikeNumbers(const FeatureSummary& f, uint64_t records) {
  return f.kind == records::FeatureKind::kBytes && !f.sequence && f.most_count == 1 && f.least_count == 1 &&
         records > 1 && f.seen == records && f.same_byte_length && f.byte_length > 0 && !f.looks_like_text &&
         !f.looks_like_image;
}

// Returns the type of a column whose elements NumPy names `descr`, or "" if there is none.
std::string ColumnTypeOf(const std::string& descr) {
  for (int number = 1; batch::IsDType(number); ++number) {
    const auto dtype = static_cast<batch::DType>(number);
    if (!descr.empty() && descr == batch::DTypeNpyDescr(dtype)) {
      return absl::AsciiStrToUpper(std::string(batch::DTypeName(dtype)));
    }
  }
  return "";
}

// Returns the line of one feature. If `column` is empty, the key is the name. `of_boxes`: one value for each box.
std::string FeatureLine(const FeatureSummary& f, uint64_t records, const std::string& column, bool of_boxes) {
  // A list that some records lack has no fixed length. A single value gets a default.
  const bool partial = f.seen < records && f.most_count != 1;
  const bool varies = of_boxes || f.least_count != f.most_count || f.sequence || partial;
  std::string line = absl::StrCat("features { key: \"", absl::CEscape(f.key), "\"");
  if (!column.empty()) absl::StrAppend(&line, " column: \"", column, "\"");
  if (const std::string type = ColumnTypeOf(f.descr); !type.empty()) {
    absl::StrAppend(&line, " type: BYTES decode_raw: ", type);
    if (f.any_length) return line + " variable_length: true }";
    if (!f.shape.empty()) absl::StrAppend(&line, " shape: [", absl::StrJoin(f.shape, ", "), "]");
    return line + " }";
  }
  // An empty field may be text.
  const records::FeatureKind kind = f.kind == records::FeatureKind::kNone ? records::FeatureKind::kBytes : f.kind;
  absl::StrAppend(&line, " type: ", std::string(records::FeatureKindName(kind)));
  if (f.sequence) absl::StrAppend(&line, " sequence: true");
  if (!f.sequence && varies) absl::StrAppend(&line, " variable_length: true");
  if (f.sequence && f.least_count == f.most_count && f.most_count > 1) absl::StrAppend(&line, " shape: ", f.most_count);
  const int64_t elements = std::accumulate(f.shape.begin(), f.shape.end(), int64_t{1}, std::multiplies<>());
  if (!varies && !f.shape.empty() && static_cast<uint64_t>(elements) == f.most_count) {
    absl::StrAppend(&line, " shape: [", absl::StrJoin(f.shape, ", "), "]");
  } else if (!varies && f.most_count != 1) {
    absl::StrAppend(&line, " shape: ", f.most_count);
  }
  if (LooksLikeNumbers(f, records)) {
    return absl::StrCat(line, " }  # ", f.byte_length, " bytes each: decode_raw: UINT8 shape: ", f.byte_length,
                        " reads them as numbers");
  }
  if (of_boxes || !NeedsDefault(f, records)) return line + " }";
  return absl::StrCat(line, " default { ", DefaultOf(f.kind), " } }  # ", records - f.seen, " of ", records,
                      " records have none");
}

std::string WindowText(const v1::Window& window) {
  if (window.has_end()) return absl::StrCat("  window { end: ", window.end(), " }\n");
  if (window.size() == 0) return "";
  const std::string stride = window.stride() == 0 ? "" : absl::StrCat(" stride: ", window.stride());
  return absl::StrCat("  window { size: ", window.size(), stride, " }\n");
}

std::string ManifestText(const v1::Manifest& manifest) {
  if (manifest.file().empty()) return "";
  std::string text = absl::StrCat("  manifest { file: \"", absl::CEscape(manifest.file()), "\"");
  if (!manifest.offset().empty()) absl::StrAppend(&text, " offset: \"", absl::CEscape(manifest.offset()), "\"");
  if (!manifest.length().empty()) absl::StrAppend(&text, " length: \"", absl::CEscape(manifest.length()), "\"");
  return text + " }\n";
}

}  // namespace

absl::Status JobWriter::Add(sources::ContainerKind container, std::string_view record) {
  const bool is_example = records::FormatOf(container) == records::RecordFormat::kExample;
  if (!is_example) {
    format_ = records::FormatOf(container);
  } else if (records_ == 0) {
    PS_ASSIGN_OR_RETURN(format_, records::GuessFormat(record));
  }
  PS_ASSIGN_OR_RETURN(std::vector<records::FeatureInfo> infos, records::ListValues(record, format_));
  if (is_example) boxes_.AddRecord(record, infos);
  if (!infos.empty() && infos.front().is_field) RemoveUnnamed(&infos);
  AddFeatures(infos);
  return absl::OkStatus();
}

void JobWriter::RemoveUnnamed(std::vector<records::FeatureInfo>* columns) {
  std::map<std::string, int> times;
  for (const records::FeatureInfo& column : *columns) ++times[column.key];
  std::erase_if(*columns, [&](const records::FeatureInfo& column) {
    const bool unnamed = column.key.empty(), twice = times[column.key] > 1;
    if (unnamed) left_out_.insert("a column without a name is left out; name it in the first row of the file");
    if (twice && !unnamed) {
      left_out_.insert(absl::StrCat("several columns have the name '", column.key, "' and are left out; rename them"));
    }
    return unnamed || twice;
  });
}

void JobWriter::AddFeatures(const std::vector<records::FeatureInfo>& infos) {
  for (const records::FeatureInfo& info : infos) {
    const bool is_field = info.is_field;
    // An array of JSON without elements has no type, but a length. An empty field of CSV has no type, but a column.
    if (info.kind == records::FeatureKind::kNone && format_ != records::RecordFormat::kJson && !is_field) continue;
    FeatureSummary& f = features_[absl::StrCat(info.sequence ? "1" : "0", info.key)];
    const uint64_t count = is_field        ? 1
                           : info.sequence ? (info.list_length == 0 ? 1 : info.count / info.list_length)
                                           : info.count;
    if (f.seen == 0) {
      f.key = info.key;
      f.sequence = info.sequence;
      f.is_field = is_field;
      f.any_length = window_.has_end() || source_ == v1::Source::MEGATRON;
      f.descr = info.descr;
      f.shape = info.shape;
      f.least_count = f.most_count = count;
    }
    if (is_field && info.kind == records::FeatureKind::kNone) continue;
    const records::FeatureKind common = records::CommonKind(format_, f.kind, info.kind);
    if (common != records::FeatureKind::kNone) f.kind = common;
    if (f.kind == records::FeatureKind::kNone) {
      f.kind = info.kind;
      f.byte_length = info.first_bytes.size();
      f.looks_like_image = info.kind == records::FeatureKind::kBytes && imports::LooksLikeImage(info.first_bytes);
    }
    ++f.seen;
    f.least_count = std::min(f.least_count, count);
    f.most_count = std::max(f.most_count, count);
    if (info.kind == records::FeatureKind::kInt64 && !info.sequence && info.count > 0) {
      const bool first = !f.any_integer;
      f.least = first ? info.least : std::min(f.least, info.least);
      f.most = first ? info.most : std::max(f.most, info.most);
      f.any_integer = true;
    }
    f.same_byte_length = f.same_byte_length && f.byte_length == info.first_bytes.size();
    f.looks_like_image = f.looks_like_image && imports::LooksLikeImage(info.first_bytes);
    f.looks_like_text = f.looks_like_text && LooksLikeText(info.first_bytes);
  }
  ++records_;
}

JobWriter::Chosen JobWriter::Choose() const {
  Chosen chosen;
  for (const auto& [key, f] : features_) {
    if (chosen.image == nullptr && f.looks_like_image && !f.sequence && f.most_count == 1) chosen.image = &f;
    const bool integer = f.kind == records::FeatureKind::kInt64 && f.most_count == 1 && !f.sequence;
    if (chosen.label == nullptr && integer && imports::LooksLikeLabel(f.key)) chosen.label = &f;
  }
  if (chosen.image == nullptr || !boxes_.found()) return chosen;
  chosen.boxes = true;
  for (const auto& [key, f] : features_) {
    if (f.sequence || &f == chosen.image) continue;
    if (boxes_.IsSide(f.key)) chosen.sides.insert(&f);
    if (boxes_.IsCompanion(f.key)) chosen.of_boxes.insert(&f);
  }
  if (chosen.of_boxes.contains(chosen.label)) chosen.label = nullptr;
  return chosen;
}

std::vector<std::string> JobWriter::Notes() const {
  std::vector<std::string> notes(left_out_.begin(), left_out_.end());
  const Chosen chosen = Choose();
  for (const auto& [key, f] : features_) {
    if (!chosen.Takes(f) || chosen.of_boxes.contains(&f) || !NeedsDefault(f, records_)) continue;
    notes.push_back(absl::StrCat(records_ - f.seen, " of ", records_, " records have no '", f.key,
                                 "': they get the default ", f.kind == records::FeatureKind::kBytes ? "\"\"" : "0"));
  }
  return notes;
}

std::string JobWriter::LabelRange() const {
  const FeatureSummary* const label = Choose().label;
  if (label == nullptr) return "";
  return absl::StrCat(label->key, ": integers from ", label->least, " to ", label->most, " in the first ", records_,
                      records_ == 1 ? " record" : " records");
}

std::string JobWriter::Write(const std::string& name, const std::string& files, uint64_t rows, Recipe recipe) const {
  const bool evaluation = recipe == Recipe::kEvaluation;
  const Chosen chosen = Choose();
  const FeatureSummary *const image = chosen.image, *const label = chosen.label;
  std::string out = absl::StrCat(
      "# proto-file: penstock/v1/job.proto\n# proto-message: penstock.v1.JobSpec\n"
      "#\n# Written by `penstock init",
      evaluation ? " --eval" : "", "` from the first ", records_, records_ == 1 ? " record" : " records",
      ".\n\nname: \"", name, "\"\n\ndataset {\n  files: \"", absl::CEscape(files), "\"\n",
      source_ == v1::Source::AUTO ? "" : absl::StrCat("  source: ", v1::Source::Kind_Name(source_), "\n"),
      WindowText(window_), ManifestText(manifest_),
      format_ == records::RecordFormat::kSequenceExample ? "  format: SEQUENCE_EXAMPLE\n" : "", "}\n\n");
  std::string unused;
  for (const auto& [key, f] : features_) {
    if (chosen.sides.contains(&f)) continue;                             // the annotations read them
    if (f.kind == records::FeatureKind::kNone && !f.is_field) continue;  // only empty arrays of JSON
    const bool wanted = chosen.Takes(f), of_boxes = chosen.of_boxes.contains(&f);
    const std::string column = &f == image ? "image" : &f == label ? "label" : "";
    const std::string line = FeatureLine(f, records_, column, of_boxes);
    const bool label_line = &f == label && !absl::StrContains(line, "  # ");
    absl::StrAppend(wanted ? &out : &unused, wanted ? "" : "# ", line,
                    label_line ? absl::StrCat("  # ", f.least, " to ", f.most, " so far") : "", "\n");
  }
  if (!unused.empty()) absl::StrAppend(&out, "\n# Also there:\n", unused);
  if (chosen.boxes) {
    absl::StrAppend(
        &out,
        "\n# A column \"boxes\": xmin, ymin, xmax, ymax in pixels of the finished image. Boxes outside of the\n"
        "# image are dropped. The values of these boxes in other columns, such as labels, are dropped too.\n",
        boxes_.AnnotationsText());
  } else if (image != nullptr && boxes_.found_integers()) {
    absl::StrAppend(&out,
                    "\n# The boxes are integers. Only FLOAT boxes can be annotations, which move with the image.\n"
                    "# The ops below move the image but not these boxes, so the boxes would be wrong.\n");
  }
  if (image != nullptr) {
    absl::StrAppend(&out, "\n", evaluation ? imports::EvaluationRecipeText() : imports::ImageRecipeText());
  }
  absl::StrAppend(&out, "\n", evaluation ? kEvaluationOrder : kTrainingOrder,
                  imports::BatchText(rows, evaluation ? "PAD" : "DROP"),
                  "errors { policy: FAIL }                # FAIL | SUBSTITUTE | MASK\n");
  return out;
}

}  // namespace penstock::cli
