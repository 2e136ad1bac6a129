#include "tests/pipeline/augment/row_maker.h"

#include <cstdio>

#include "base/check.h"
#include "google/protobuf/text_format.h"
#include "pipeline/records/example_builder.h"

namespace penstock::augment {

v1::JobSpec ParseJob(const std::string& text) {
  v1::JobSpec job;
  PS_CHECK(google::protobuf::TextFormat::ParseFromString(text, &job));
  return job;
}

v1::JobSpec ImageJob(const std::string& ops) {
  return ParseJob(
      "features { key: 'image/encoded' column: 'image' type: BYTES }\n"
      "features { key: 'image/class/label' column: 'label' type: INT64 }\n" +
      ops);
}

std::unique_ptr<const Pipeline> BuildPipeline(const v1::JobSpec& job) {
  auto pipeline = Pipeline::Create(job);
  if (!pipeline.ok()) std::fprintf(stderr, "%s\n", pipeline.status().ToString().c_str());
  PS_CHECK(pipeline.ok());
  return *std::move(pipeline);
}

std::string ImageRecord(std::string_view encoded, int64_t label) {
  return records::ExampleBuilder().Bytes("image/encoded", encoded).Int64("image/class/label", label).Serialize();
}

std::vector<uint8_t> ImageAfter(const std::string& ops, const std::string& record) {
  const auto pipeline = BuildPipeline(ImageJob("ops { decode_image { } } " + ops));
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const absl::Status status = pipeline->MakeRow(record, {}, &row.slot, &scratch);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  PS_CHECK(status.ok());
  return row.As<uint8_t>(0);
}

OwnedRow::OwnedRow(const batch::RowSchema& schema) {
  for (const batch::ColumnSpec& column : schema.columns) {
    memory.emplace_back(column.ragged ? 0 : column.Bytes(), std::byte{0xCD});
    slot.fixed.push_back(column.ragged ? nullptr : memory.back().data());
    slot.ragged.emplace_back();
  }
}

}  // namespace penstock::augment
