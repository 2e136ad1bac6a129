#include "pipeline/sources/container.h"

#include "pipeline/sources/lines/line_container.h"
#include "pipeline/sources/manifest/manifest_container.h"
#include "pipeline/sources/npy/npy_container.h"
#include "pipeline/sources/tar/tar_container.h"
#include "pipeline/sources/tfrecord/tfrecord_container.h"

namespace penstock::sources {

const Container& Container::Of(ContainerKind kind) {
  static const TfRecordContainer tfrecord;
  static const TarContainer tar;
  static const JsonlContainer jsonl;
  static const TextContainer text;
  static const CsvContainer csv(ContainerKind::kCsv), tsv(ContainerKind::kTsv);
  static const NpyContainer npy;
  static const ManifestContainer manifest;
  switch (kind) {
    case ContainerKind::kTar:
      return tar;
    case ContainerKind::kJsonl:
      return jsonl;
    case ContainerKind::kText:
      return text;
    case ContainerKind::kCsv:
      return csv;
    case ContainerKind::kTsv:
      return tsv;
    case ContainerKind::kNpy:
      return npy;
    case ContainerKind::kManifest:
      return manifest;
    case ContainerKind::kTfRecord:
      break;
  }
  return tfrecord;
}

std::vector<ByteRange> Container::RangesOf(const ShardIndex& index, uint64_t k,
                                           const RequestedFeatures& features) const {
  return {{index.RecordOffset(k), index.StoredBytes(k)}};
}

}  // namespace penstock::sources
