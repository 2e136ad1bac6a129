// Pieces of the job files that read back what was written.
#ifndef PENSTOCK_PIPELINE_IMPORT_JOB_TEXT_H_
#define PENSTOCK_PIPELINE_IMPORT_JOB_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/batch/dtype.h"

namespace penstock {

// The head of a job file: its schema's name, which command wrote it, name and data set.
std::string JobTextHead(const std::string& command, const std::string& name, const std::string& files);

// "features { key: "data" column: "image" type: BYTES decode_raw: UINT8 shape: [32, 32, 3] }": one value whose bytes
// are a tensor; `column` may be empty: the key is then its name. With `ragged` any number of elements of that shape.
std::string RawFeatureText(const std::string& key, const std::string& column, DType dtype,
                           const std::vector<int64_t>& shape, bool ragged = false);

// Whether these are the first bytes of a JPEG, PNG, WebP, BMP or GIF file.
bool LooksLikeImage(std::string_view bytes);

// Whether an integer of this key is most likely a class.
bool LooksLikeLabel(std::string_view key);

// The ops of a training recipe; `column` is empty, or `column: "..." ` where the image is in another one.
std::string ImageRecipeText(const std::string& column = "");

// " shape: [2, 3]", or nothing for a scalar.
std::string ShapeText(const std::vector<int64_t>& shape);

// "batch { size: 256 last: DROP }" with its comment, of a size that fits an epoch of so many rows.
std::string BatchText(uint64_t rows);

// A job name made of what it may hold: other characters become '-'.
std::string JobName(const std::string& text);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_JOB_TEXT_H_
