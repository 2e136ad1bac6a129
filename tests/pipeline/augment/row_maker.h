// Runs pipelines on records in tests.
#ifndef PENSTOCK_TESTS_PIPELINE_AUGMENT_ROW_MAKER_H_
#define PENSTOCK_TESTS_PIPELINE_AUGMENT_ROW_MAKER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/augment/pipeline.h"

namespace penstock::augment {

// Returns a job from textproto. Ends the process if the text does not parse.
v1::JobSpec ParseJob(const std::string& text);

// A job with features image (image/encoded) and label (image/class/label), and these ops.
v1::JobSpec ImageJob(const std::string& ops);

// Builds the pipeline. Ends the process if the build fails.
std::unique_ptr<const Pipeline> BuildPipeline(const v1::JobSpec& job);

// A record for ImageJob.
std::string ImageRecord(std::string_view encoded, int64_t label = 7);

// Returns the pixels that decode_image and `ops` make of a record for ImageJob. `ops` must fix the image's size.
std::vector<uint8_t> ImageAfter(const std::string& ops, const std::string& record);

// A slot with its own memory, filled with 0xCD.
struct OwnedRow {
  explicit OwnedRow(const batch::RowSchema& schema);
  std::vector<std::vector<std::byte>> memory;
  batch::RowSlot slot;
  // Column c as elements of T.
  template <typename T>
  std::vector<T> As(size_t c) const {
    const T* data = reinterpret_cast<const T*>(memory[c].data());
    return {data, data + memory[c].size() / sizeof(T)};
  }
};

}  // namespace penstock::augment

#endif  // PENSTOCK_TESTS_PIPELINE_AUGMENT_ROW_MAKER_H_
