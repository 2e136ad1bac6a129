// Contact sheets: one PNG that shows the results of a pipeline's random ops on some records.
#ifndef PENSTOCK_PIPELINE_AUGMENT_CONTACT_SHEET_H_
#define PENSTOCK_PIPELINE_AUGMENT_CONTACT_SHEET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/augment/pipeline.h"
#include "pipeline/batch/mix_draw.h"

namespace penstock::augment {

// For a job that mixes rows: the partner of one draw of a record.
struct SheetPartner {
  std::string bytes;  // the partner's record
  SampleKey key;
  batch::MixDraw draw;  // the draw of their group
};

struct SheetRecord {
  std::string_view bytes;  // a serialized record of the job
  SampleKey key;           // key of its first draw
  std::string caption;     // shown below its first cell, such as "train-00001 #17"
  // Empty, or one entry per draw. An entry is nullopt if the draw's group is not mixed.
  std::vector<std::optional<SheetPartner>> partners = {};
};

struct SheetOptions {
  int draws = 6;   // at least 1; columns of the sheet: the record's row in epochs key.epoch, key.epoch + 1, ...
  int cell = 160;  // at least 16; side of a cell in pixels; pictures are scaled to fit
};

// Returns whether the job has a column of pictures to show. Returns false if its features, ops or annotations have
// mistakes.
bool HasPictures(const v1::JobSpec& job);

// Renders one row per record: the picture as decoded (or as read, for raw pixels), then its draws. The margin lists the
// ops. Ops whose result is not image bytes (cast, normalize) are named but not applied. Mixed rows are mixed as bytes,
// before those ops. Boxes are drawn, and masks tint the pixels (JobSpec.annotations). A cell whose picture fails shows
// the error instead. Returns Internal if OpenCV throws an exception, and InvalidArgument if
//   - the job's features, ops or annotations have mistakes (the message names all of them);
//   - the job has no column of decoded or raw pictures;
//   - there are no records, or a record has partners for some draws only;
//   - an option is out of its limits;
//   - the sheet needs more than 20000 pixels on a side.
absl::StatusOr<std::string> RenderContactSheet(const v1::JobSpec& job, const std::vector<SheetRecord>& records,
                                               const SheetOptions& options = {});

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_CONTACT_SHEET_H_
