// The records of existing TFRecord shards, with their images' bytes prepared anew.
#ifndef PENSTOCK_PIPELINE_IMPORT_RECORD_FILES_SOURCE_H_
#define PENSTOCK_PIPELINE_IMPORT_RECORD_FILES_SOURCE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/import/image_preparer.h"
#include "pipeline/import/record_source.h"
#include "pipeline/loader/dataset_reader.h"

namespace penstock {

// Item i is record i of the snapshot. Without `prepare` records keep all their bytes, whatever they are. With it they
// are Examples (or SequenceExamples, whose context counts) with an encoded image under `image_key`, which is prepared;
// a resized one also has its image/height, image/width and image/format set, where `image_key` is image/encoded. All
// else in them stays, byte for byte.
std::unique_ptr<RecordSource> NewRecordFilesSource(std::shared_ptr<DatasetReader> reader,
                                                   const std::optional<PrepareOptions>& prepare,
                                                   const std::string& image_key);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_RECORD_FILES_SOURCE_H_
