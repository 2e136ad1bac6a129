// Contact sheets: what a pipeline's random ops really make of some records, as one PNG to look at.
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

namespace penstock {

// Of a job that mixes rows: with what a draw of a record is mixed.
struct SheetPartner {
  std::string bytes;  // of the partner's record
  SampleKey key;
  MixDraw draw;  // of their group
};

struct SheetRecord {
  std::string_view bytes;  // a serialized record of the job
  SampleKey key;           // of its first draw
  std::string caption;     // shown at its row, such as "train-00001 #17"
  // Empty, or one for each draw; none where a draw's group stays unmixed.
  std::vector<std::optional<SheetPartner>> partners = {};
};

struct SheetOptions {
  int draws = 6;   // columns of the sheet: the record's row under epochs key.epoch, key.epoch + 1, ...
  int cell = 160;  // pixels on a side of a cell; pictures are scaled to fit
};

// Whether the job has a column of pictures to show. False for one with mistakes.
bool HasPictures(const v1::JobSpec& job);

// One row for each record: first the picture as decoded (or read, of raw pixels), then its draws; the ops in the
// margin. Ops that leave the bytes of an image (cast, normalize) are named but not applied; rows that are mixed are
// mixed as bytes, before those. Boxes are drawn, masks tint
// (JobSpec.annotations). A record that fails shows its error instead. InvalidArgument: the job has mistakes (all are
// named), or no column of pictures, decoded or raw; no records, or more cells than fit 20000 pixels on a side.
absl::StatusOr<std::string> RenderContactSheet(const v1::JobSpec& job, const std::vector<SheetRecord>& records,
                                               const SheetOptions& options = {});

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_CONTACT_SHEET_H_
