// Records of existing shards, with re-prepared images.
#ifndef PENSTOCK_PIPELINE_IMPORT_RECORD_FILES_SOURCE_H_
#define PENSTOCK_PIPELINE_IMPORT_RECORD_FILES_SOURCE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/import/image_preparer.h"
#include "pipeline/import/record_source.h"
#include "pipeline/loader/dataset_reader.h"

namespace penstock::imports {

// Makes a source whose item i is record i of the snapshot. A sample of a tar shard becomes an Example. Without
// `prepare`, TFRecords of any content keep all their bytes. With it, records must be Examples (or SequenceExamples, of
// which the context is used) with an encoded image under `image_key`, which is prepared. If `image_key` is
// image/encoded, a resized image also sets image/height, image/width and image/format. All other bytes stay the same.
std::unique_ptr<RecordSource> NewRecordFilesSource(std::shared_ptr<loader::DatasetReader> reader,
                                                   const std::optional<PrepareOptions>& prepare,
                                                   const std::string& image_key);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_RECORD_FILES_SOURCE_H_
