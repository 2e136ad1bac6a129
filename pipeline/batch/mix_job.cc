#include "pipeline/batch/mix_job.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace penstock::batch {
namespace {

std::string Describe(const ColumnSpec& column) {
  const std::string type(DTypeName(column.dtype));
  if (column.ragged && !column.scalar) return absl::StrCat("ragged ", type);
  return column.shape.empty() ? type : absl::StrCat(type, " [", absl::StrJoin(column.shape, ", "), "]");
}

// Returns the layout of the image column, for cutmix: [height, width], [height, width, channels] or [channels, height,
// width]. The last or the first axis holds the channels: an axis of size 1 or 3,
// otherwise one of size 2 or 4. If both qualify, it is the last.
std::optional<PixelLayout> LayoutOf(const ColumnSpec& column) {
  const std::vector<int64_t>& shape = column.shape;
  const size_t bytes = DTypeSize(column.dtype);
  if (shape.size() == 2) return PixelLayout{1, shape[0], shape[1], bytes};
  if (shape.size() != 3) return std::nullopt;
  for (const int64_t odd : {1, 0}) {
    const auto are_channels = [odd](int64_t side) { return side >= 1 && side <= 4 && side % 2 == odd; };
    if (are_channels(shape[2])) return PixelLayout{1, shape[0], shape[1], bytes * static_cast<size_t>(shape[2])};
    if (are_channels(shape[0])) return PixelLayout{shape[0], shape[1], shape[2], bytes};
  }
  return std::nullopt;
}

void CheckImage(const v1::Mix& mix, const ColumnSpec& column, std::vector<std::string>* errors) {
  const std::string what = absl::StrCat("mix.image: column '", column.name, "' is ", Describe(column));
  if (column.ragged || !CanBlend(column.dtype) || column.shape.empty()) {
    errors->push_back(
        absl::StrCat(what, "; mixing needs a tensor of UINT8, FLOAT32, FLOAT16 or BFLOAT16 of a fixed shape"));
  } else if (mix.cutmix_alpha() > 0) {
    const std::optional<PixelLayout> layout = LayoutOf(column);
    if (!layout.has_value()) {
      errors->push_back(absl::StrCat(what,
                                     "; cutmix needs height x width x channels or channels x height x width, with 1 to "
                                     "4 channels"));
    } else if (layout->height < 1 || layout->width < 1) {
      errors->push_back(absl::StrCat(what, ", which has no pixels"));
    }
  }
}

bool IsOne(const std::vector<int64_t>& shape) { return shape.empty() || (shape.size() == 1 && shape[0] == 1); }

void CheckLabel(const v1::Mix& mix, const ColumnSpec& column, std::vector<std::string>* errors) {
  const std::string what = absl::StrCat("column '", column.name, "' is ", Describe(column));
  const bool integer = IsInteger(column.dtype) && IsOne(column.shape);
  const bool soft = column.dtype != DType::kUint8 && CanBlend(column.dtype) && column.shape.size() == 1;
  if (column.ragged || (!integer && !soft)) {
    errors->push_back(absl::StrCat("mix.label: ", what,
                                   "; mixing needs an integer scalar, or one_hot labels: FLOAT32, FLOAT16 or BFLOAT16 "
                                   "of shape [classes]"));
  } else if (integer) {
    if (mix.classes() < 2) {
      errors->push_back(absl::StrCat("mix.classes: is required, at least 2, because ", what,
                                     "; the label becomes FLOAT32 of that many"));
    }
  } else {
    if (mix.classes() != 0 && mix.classes() != static_cast<uint64_t>(column.shape[0])) {
      errors->push_back(absl::StrCat("mix.classes: is ", mix.classes(), ", but ", what, "; leave it out"));
    }
    if (mix.smoothing() != 0) {
      errors->push_back(
          absl::StrCat("mix.smoothing: is for labels that are integers, and ", what, " already; give it to one_hot"));
    }
  }
}

}  // namespace

std::string MixImageColumn(const v1::Mix& mix) { return mix.image().empty() ? "image" : mix.image(); }
std::string MixLabelColumn(const v1::Mix& mix) { return mix.label().empty() ? "label" : mix.label(); }

std::vector<std::string> CheckMixColumns(const v1::Mix& mix, const RowSchema& schema) {
  std::vector<std::string> errors;
  const std::string image_name = MixImageColumn(mix), label_name = MixLabelColumn(mix);
  const int image = schema.Find(image_name), label = schema.Find(label_name);
  if (image < 0) {
    errors.push_back(absl::StrCat("mix.image: there is no column '", image_name, "'"));
  } else {
    CheckImage(mix, schema.columns[static_cast<size_t>(image)], &errors);
  }
  if (label < 0) {
    errors.push_back(absl::StrCat("mix.label: there is no column '", label_name, "'"));
  } else if (label == image) {
    errors.push_back("mix.label: is the column of the images");
  } else {
    CheckLabel(mix, schema.columns[static_cast<size_t>(label)], &errors);
  }
  return errors;
}

absl::StatusOr<MixPlan> MakeMixPlan(const v1::Mix& mix, const RowSchema& schema) {
  std::vector<std::string> errors = CheckMixColumns(mix, schema);
  MixPlan plan;
  plan.law.mixup_alpha = mix.mixup_alpha();
  plan.law.cutmix_alpha = mix.cutmix_alpha();
  plan.law.probability = mix.has_probability() ? mix.probability() : 1.0;
  if (mix.cutmix_share() != 0) plan.law.cutmix_share = mix.cutmix_share();
  // The condition is written so that it also rejects NaN. config/mix_check.h reports these mistakes to users first.
  if (!(plan.law.mixup_alpha >= 0 && plan.law.cutmix_alpha >= 0 && plan.law.mixup_alpha + plan.law.cutmix_alpha > 0)) {
    errors.push_back("mix: one of mixup_alpha and cutmix_alpha must be above 0, none below");
  }
  plan.group = mix.group() == 0 ? kDefaultMixGroup : mix.group();
  if (plan.group < 2) errors.push_back("mix.group: must be at least 2");
  if (!errors.empty()) return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));

  plan.image = static_cast<size_t>(schema.Find(MixImageColumn(mix)));
  plan.label = static_cast<size_t>(schema.Find(MixLabelColumn(mix)));
  const ColumnSpec& image = schema.columns[plan.image];
  const ColumnSpec& label = schema.columns[plan.label];
  plan.tensors.image = image.dtype;
  plan.tensors.image_elements = image.Bytes() / DTypeSize(image.dtype);
  plan.tensors.pixels = LayoutOf(image).value_or(PixelLayout());
  plan.integer_labels = IsInteger(label.dtype) && IsOne(label.shape);
  plan.label_type = label.dtype;
  plan.tensors.label = plan.integer_labels ? DType::kFloat32 : label.dtype;
  plan.tensors.classes = plan.integer_labels ? mix.classes() : static_cast<size_t>(label.shape[0]);
  plan.smoothing = mix.smoothing();
  return plan;
}

absl::StatusOr<RowSchema> BatchSchemaOf(const v1::JobSpec& job, const RowSchema& rows) {
  if (!job.has_mix()) return rows;
  const absl::StatusOr<MixPlan> plan = MakeMixPlan(job.mix(), rows);
  if (!plan.ok()) return plan.status();
  return MixedSchema(rows, *plan);
}

}  // namespace penstock::batch
