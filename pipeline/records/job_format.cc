#include "pipeline/records/job_format.h"

#include <utility>

namespace penstock::records {
namespace {

constexpr std::pair<v1::RecordFormat, RecordFormat> kFormats[] = {
    {v1::EXAMPLE, RecordFormat::kExample},  {v1::SEQUENCE_EXAMPLE, RecordFormat::kSequenceExample},
    {v1::SAMPLE, RecordFormat::kSample},    {v1::JSON, RecordFormat::kJson},
    {v1::LINE, RecordFormat::kLine},        {v1::CSV_ROW, RecordFormat::kCsv},
    {v1::TSV_ROW, RecordFormat::kTsv},      {v1::ARRAY_ROW, RecordFormat::kArrayRow},
    {v1::FILE_ROW, RecordFormat::kFileRow},
};

}  // namespace

RecordFormat FormatOf(v1::RecordFormat format) {
  for (const auto& [job, parser] : kFormats) {
    if (job == format) return parser;
  }
  return RecordFormat::kExample;
}

v1::RecordFormat JobFormatOf(RecordFormat format) {
  for (const auto& [job, parser] : kFormats) {
    if (parser == format) return job;
  }
  return v1::EXAMPLE;
}

RecordFormat FormatOf(sources::ContainerKind container) {
  switch (container) {
    case sources::ContainerKind::kTar:
      return RecordFormat::kSample;
    case sources::ContainerKind::kJsonl:
      return RecordFormat::kJson;
    case sources::ContainerKind::kText:
      return RecordFormat::kLine;
    case sources::ContainerKind::kCsv:
      return RecordFormat::kCsv;
    case sources::ContainerKind::kTsv:
      return RecordFormat::kTsv;
    case sources::ContainerKind::kNpy:
      return RecordFormat::kArrayRow;
    case sources::ContainerKind::kManifest:
      return RecordFormat::kFileRow;
    case sources::ContainerKind::kTfRecord:
      break;
  }
  return RecordFormat::kExample;
}

}  // namespace penstock::records
