#include "pipeline/import/bake_source.h"

#include <google/protobuf/text_format.h>

#include <cstddef>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/little_endian.h"
#include "base/status_macros.h"
#include "pipeline/augment/pipeline.h"
#include "pipeline/image/jpeg/jpeg_encoder.h"
#include "pipeline/import/job_text.h"
#include "pipeline/import/records_ahead.h"
#include "pipeline/records/example_builder.h"

namespace penstock::imports {
namespace {

// Features that bake adds.
constexpr char kRecord[] = "bake/record", kVariant[] = "bake/variant", kDataset[] = "bake/dataset";

bool IsImage(const batch::ColumnSpec& column) {
  return column.dtype == batch::DType::kUint8 && !column.ragged && column.shape.size() == 3 &&
         (column.shape[2] == 1 || column.shape[2] == 3);
}

template <typename T>
std::vector<T> Elements(std::string_view bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(T));
  return elements;
}

// Returns the strings of a ragged kString value (see RowSlot), which stores their lengths and then their bytes.
std::vector<std::string_view> Strings(std::string_view encoded) {
  const auto count = LoadLittleEndian<uint32_t>(encoded.data());
  std::vector<std::string_view> strings;
  size_t at = 4 + size_t{4} * count;
  for (uint32_t i = 0; i < count; ++i) {
    const auto length = LoadLittleEndian<uint32_t>(encoded.data() + 4 + size_t{4} * i);
    strings.push_back(encoded.substr(at, length));
    at += length;
  }
  return strings;
}

class BakeMaker final : public RecordMaker {
 public:
  BakeMaker(const loader::LoadJob& job, ItemsAhead* ahead, const BakeOptions& options, const std::vector<bool>& jpeg)
      : job_(job), ahead_(ahead), options_(options), jpeg_(jpeg), schema_(job.schema()) {
    fixed_.resize(schema_.columns.size());
    slot_.fixed.resize(schema_.columns.size(), nullptr);
    slot_.ragged.resize(schema_.columns.size());
    for (size_t c = 0; c < fixed_.size(); ++c) {
      const batch::ColumnSpec& column = schema_.columns[c];
      if (column.ragged) continue;
      fixed_[c].resize(column.Bytes());
      slot_.fixed[c] = fixed_[c].data();
    }
  }

  absl::Status Make(uint64_t item, MadeRecord* out) override {
    const uint64_t records = job_.num_records();
    const uint64_t record = item % records, variant = item / records;
    PS_ASSIGN_OR_RETURN(const std::string_view bytes,
                        TakeRecord(&job_.reader(), ahead_, item, record, &fetched_, &buffer_));
    const SampleKey key = loader::SampleKeyOf(job_.order().RowOf(record, options_.epoch + variant));
    if (absl::Status made = job_.PipelineOf(record).MakeRow(bytes, key, &slot_, &scratch_); !made.ok()) {
      // A limit of the job was exceeded. Training with the job would also reject the record.
      const auto code = absl::IsResourceExhausted(made) ? absl::StatusCode::kInvalidArgument : made.code();
      return absl::Status(code, absl::StrCat(job_.reader().Describe(record), ": ", made.message()));
    }
    records::ExampleBuilder example;
    for (size_t c = 0; c < schema_.columns.size(); ++c) PS_RETURN_IF_ERROR(AddColumn(c, &example));
    example.Int64(kRecord, static_cast<int64_t>(record)).Int64(kVariant, static_cast<int64_t>(variant));
    const plan::DataOrder& order = job_.order();
    if (order.has_names()) example.Bytes(kDataset, order.set_name(order.SetOfRecord(record)));
    out->bytes = example.Serialize();
    out->treatment = ImageTreatment::kReencoded;
    return absl::OkStatus();
  }

 private:
  absl::Status AddColumn(size_t c, records::ExampleBuilder* example) const {
    const batch::ColumnSpec& column = schema_.columns[c];
    std::string_view elements;
    if (column.ragged) {
      if (column.dtype == batch::DType::kString) {
        example->BytesList(column.name, Strings(slot_.ragged[c]));
        return absl::OkStatus();
      }
      elements = std::string_view(slot_.ragged[c]).substr(4);  // the elements follow the count
    } else {
      elements = {reinterpret_cast<const char*>(fixed_[c].data()), fixed_[c].size()};
    }
    if (jpeg_[c]) {
      const int height = static_cast<int>(column.shape[0]), width = static_cast<int>(column.shape[1]);
      const int channels = static_cast<int>(column.shape[2]);
      PS_ASSIGN_OR_RETURN(const std::string jpeg,
                          image::EncodeJpeg({reinterpret_cast<const uint8_t*>(elements.data()), width, height, channels,
                                             static_cast<size_t>(width) * static_cast<size_t>(channels)},
                                            {.quality = options_.quality}));
      example->Bytes(column.name, jpeg);
    } else if (column.dtype == batch::DType::kInt64) {
      example->Int64List(column.name, Elements<int64_t>(elements));
    } else if (column.dtype == batch::DType::kFloat32) {
      example->FloatList(column.name, Elements<float>(elements));
    } else {
      example->Bytes(column.name, elements);
    }
    return absl::OkStatus();
  }

  const loader::LoadJob& job_;
  ItemsAhead* const ahead_;  // null if the reader answers at once
  const BakeOptions& options_;
  const std::vector<bool>& jpeg_;
  const batch::RowSchema& schema_;
  std::vector<std::vector<std::byte>> fixed_;
  batch::RowSlot slot_;
  augment::RowScratch scratch_;
  FetchedItem fetched_;
  loader::RecordBuffer buffer_;
};

std::string FeatureText(const batch::ColumnSpec& column) {
  const bool list = column.ragged && !column.scalar;
  if (column.dtype == batch::DType::kInt64 || column.dtype == batch::DType::kFloat32 ||
      column.dtype == batch::DType::kString) {
    return absl::StrCat("features { key: \"", absl::CEscape(column.name), "\" type: ",
                        column.dtype == batch::DType::kInt64     ? "INT64"
                        : column.dtype == batch::DType::kFloat32 ? "FLOAT"
                                                                 : "BYTES",
                        ShapeText(column.shape), list ? " variable_length: true" : "", " }");
  }
  return RawFeatureText(column.name, "", column.dtype, column.shape, list);
}

// Returns the data sets of a blend for a job that reads the baked records, which are all in `files`.
std::string BlendedDatasetsText(const v1::JobSpec& spec, const std::string& files) {
  std::string text;
  for (const v1::Dataset& dataset : spec.dataset()) {
    v1::Dataset baked;
    baked.set_name(dataset.name());
    if (dataset.has_weight()) baked.set_weight(dataset.weight());
    baked.set_repeats(dataset.repeats());
    baked.add_files(files);
    baked.add_select()->set_filter(absl::StrCat("col('", kDataset, "') == '", dataset.name(), "'"));
    v1::JobSpec one;
    *one.add_dataset() = std::move(baked);
    std::string printed;
    google::protobuf::TextFormat::PrintToString(one, &printed);
    absl::StrAppend(&text, printed, "\n");
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> BakeOptions::Arguments() const {
  std::vector<std::pair<std::string, std::string>> all = {
      {"variants", absl::StrCat(variants)},
      {"epoch", absl::StrCat(epoch)},
      {"format",
       jpeg_columns.empty() ? std::string("raw") : absl::StrCat("jpeg of ", absl::StrJoin(jpeg_columns, ", "))}};
  if (!jpeg_columns.empty()) all.emplace_back("quality", absl::StrCat(quality));
  return all;
}

absl::StatusOr<std::unique_ptr<BakeSource>> BakeSource::Create(std::shared_ptr<const loader::LoadJob> job,
                                                               const BakeOptions& options) {
  const batch::RowSchema& schema = job->schema();
  if (options.variants == 0) return absl::InvalidArgumentError("0 variants of each record; at least 1 is made");
  if (options.variants > (uint64_t{1} << 32))
    return absl::InvalidArgumentError("more than 2^32 variants of each record");
  std::vector<bool> jpeg(schema.columns.size(), false);
  for (const std::string& name : options.jpeg_columns) {
    const int column = schema.Find(name);
    std::vector<std::string> images;
    for (const batch::ColumnSpec& spec : schema.columns) {
      if (IsImage(spec)) images.push_back(spec.name);
    }
    if (column < 0 || !IsImage(schema.columns[static_cast<size_t>(column)])) {
      return absl::InvalidArgumentError(
          absl::StrCat("column '", name, "' ", column < 0 ? "is not there" : "is no image",
                       ": JPEG is for uint8 of height x width x ",
                       "1 or 3; such columns of this job: ", images.empty() ? "none" : absl::StrJoin(images, ", ")));
    }
    jpeg[static_cast<size_t>(column)] = true;
  }
  if (!options.jpeg_columns.empty() && (options.quality < 1 || options.quality > 100)) {
    return absl::InvalidArgumentError(absl::StrCat("a JPEG quality of ", options.quality, "; 1 to 100 are possible"));
  }
  for (const char* own : {kRecord, kVariant, kDataset}) {
    if (schema.Find(own) >= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("a column is called '", own, "', which bake writes itself; give that feature another column"));
    }
  }
  return std::unique_ptr<BakeSource>(new BakeSource(std::move(job), options, std::move(jpeg)));
}

BakeSource::BakeSource(std::shared_ptr<const loader::LoadJob> job, const BakeOptions& options, std::vector<bool> jpeg)
    : job_(std::move(job)),
      options_(options),
      jpeg_(std::move(jpeg)),
      ahead_(NewRecordsAhead(&job_->reader(), job_->num_records())) {}

uint64_t BakeSource::size() const { return job_->num_records() * options_.variants; }

uint64_t BakeSource::fingerprint() const {
  const uint64_t snapshot = job_->reader().snapshot().Fingerprint();
  const uint64_t pipelines = job_->pipelines().fingerprint(), seed = job_->plan_options().seed;
  if (job_->order().groups() == nullptr) return HashWords({snapshot, pipelines, seed});
  return HashWords({snapshot, pipelines, seed, job_->order().Fingerprint(snapshot)});  // groups decide the draws
}

std::unique_ptr<RecordMaker> BakeSource::NewMaker() const {
  return std::make_unique<BakeMaker>(*job_, ahead_.get(), options_, jpeg_);
}

std::string BakeSource::JobText(const std::string& name, const std::string& files) const {
  const batch::RowSchema& schema = job_->schema();
  const bool has_names = job_->order().has_names();
  std::string text = JobTextHead("bake", name), ops;
  text += has_names ? BlendedDatasetsText(job_->spec(), files) : DatasetText(files);
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const batch::ColumnSpec& column = schema.columns[c];
    if (!jpeg_[c]) {
      absl::StrAppend(&text, FeatureText(column), "\n");
      continue;
    }
    const std::string quoted = absl::StrCat("\"", absl::CEscape(column.name), "\"");
    absl::StrAppend(&text, "features { key: ", quoted, " type: BYTES }\n");
    absl::StrAppend(&ops, "ops { column: ", quoted, " decode_image { channels: ", column.shape[2] == 1 ? "GRAY" : "RGB",
                    " } }\n");
    // The image already has this size. The op only states it, because an encoded image could have any.
    absl::StrAppend(&ops, "ops { column: ", quoted, " center_crop { height: ", column.shape[0],
                    " width: ", column.shape[1], " } }\n");
  }
  absl::StrAppend(&text,
                  "\n# Also there, where the row came from:\n"
                  "# features { key: \"bake/record\" type: INT64 }\n"
                  "# features { key: \"bake/variant\" type: INT64 }\n",
                  has_names ? "# features { key: \"bake/dataset\" type: BYTES }\n" : "", ops.empty() ? "" : "\n", ops);
  v1::JobSpec rest = job_->spec();
  rest.clear_name();
  rest.clear_dataset();
  rest.clear_features();
  rest.clear_ops();
  rest.clear_annotations();
  rest.clear_errors();
  if (rest.has_blend()) rest.mutable_blend()->clear_start();  // the rows of baked data sets count from 0
  std::string rest_text;
  google::protobuf::TextFormat::PrintToString(rest, &rest_text);
  absl::StrAppend(&text, "\n# As in the job that was baked:\n", rest_text);
  return text;
}

}  // namespace penstock::imports
