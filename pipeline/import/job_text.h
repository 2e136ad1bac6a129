// Parts of job files that read the written shards.
#ifndef PENSTOCK_PIPELINE_IMPORT_JOB_TEXT_H_
#define PENSTOCK_PIPELINE_IMPORT_JOB_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/batch/dtype.h"

namespace penstock::imports {

// Returns the head of a job file: schema, command that wrote it, and name.
std::string JobTextHead(const std::string& command, const std::string& name);

// Returns the data set of a job file. `files` is its glob.
std::string DatasetText(const std::string& files);

// Returns "features { key: "data" column: "image" type: BYTES decode_raw: UINT8 shape: [32, 32, 3] }", for a value
// whose bytes are a tensor. If `column` is empty, the column is named as the key. `ragged`: any number of elements of
// that shape.
std::string RawFeatureText(const std::string& key, const std::string& column, batch::DType dtype,
                           const std::vector<int64_t>& shape, bool ragged = false);

// Returns whether the first bytes are those of a JPEG, PNG, WebP, BMP or GIF file.
bool LooksLikeImage(std::string_view bytes);

// Returns whether an integer of this key is probably a class.
bool LooksLikeLabel(std::string_view key);

// Returns the ops of a training recipe. `column` is empty, or `column: "..." ` if the image is in another column.
std::string ImageRecipeText(const std::string& column = "");

// Returns the ops of an evaluation: the whole image resized, and its center.
std::string EvaluationRecipeText();

// Returns " shape: [2, 3]", or "" for a scalar.
std::string ShapeText(const std::vector<int64_t>& shape);

// Returns "batch { size: 256 last: DROP }" with a comment. The size fits an epoch of `rows`.
std::string BatchText(uint64_t rows, const std::string& last = "DROP");

// Returns a valid job name made of the first 128 bytes of `text`: invalid characters become '-', and '-' and '.' at the
// front are removed. Returns "my-job" if nothing is left.
std::string JobName(const std::string& text);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_JOB_TEXT_H_
