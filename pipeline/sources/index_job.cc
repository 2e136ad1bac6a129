#include "pipeline/sources/index_job.h"

#include "pipeline/records/manifest_fields.h"

namespace penstock::sources {

Compression CompressionOf(v1::Dataset::Compression compression) {
  switch (compression) {
    case v1::Dataset::NONE:
      return Compression::kNone;
    case v1::Dataset::GZIP:
      return Compression::kGzip;
    case v1::Dataset::ZLIB:
      return Compression::kZlib;
    default:
      return Compression::kAuto;
  }
}

std::string NumberTypeOf(v1::Source::Kind source) {
  switch (source) {
    case v1::Source::UINT16:
      return "<u2";
    case v1::Source::UINT32:
      return "<u4";
    case v1::Source::INT32:
      return "<i4";
    default:
      return "";
  }
}

IndexOptions IndexOptionsOf(v1::Dataset::Compression compression, v1::Source::Kind source, uint64_t max_record_bytes,
                            const v1::Window& window, const v1::Manifest& manifest) {
  IndexOptions options;
  options.compression = CompressionOf(compression);
  if (source == v1::Source::TFRECORD) options.container = ContainerKind::kTfRecord;
  if (source == v1::Source::TAR) options.container = ContainerKind::kTar;
  if (source == v1::Source::JSONL) options.container = ContainerKind::kJsonl;
  if (source == v1::Source::TEXT) options.container = ContainerKind::kText;
  if (source == v1::Source::CSV) options.container = ContainerKind::kCsv;
  if (source == v1::Source::TSV) options.container = ContainerKind::kTsv;
  if (source == v1::Source::NPY) options.container = ContainerKind::kNpy;
  if (source == v1::Source::MANIFEST) {
    options.container = ContainerKind::kManifest;
    options.row_files =
        records::RowFilesOf({.file = manifest.file(), .offset = manifest.offset(), .length = manifest.length()});
  }
  options.windows = {.size = window.size(), .stride = window.stride() != 0 ? window.stride() : window.size()};
  options.windows.type = NumberTypeOf(source);
  options.windows.is_megatron = source == v1::Source::MEGATRON;
  if (options.windows.is_megatron) options.container = ContainerKind::kNpy;
  if (window.has_end()) options.windows.end = window.end();
  if (!options.windows.type.empty()) options.container = ContainerKind::kNpy;
  if (max_record_bytes != 0) options.max_record_bytes = max_record_bytes;
  return options;
}

IndexOptions IndexOptionsOf(const v1::JobSpec& job, int set) {
  const v1::Dataset& dataset = set < job.dataset_size() ? job.dataset(set) : v1::Dataset::default_instance();
  return IndexOptionsOf(dataset.compression(), dataset.source(), job.limits().max_record_bytes(), dataset.window(),
                        dataset.manifest());
}

}  // namespace penstock::sources
