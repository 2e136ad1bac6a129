#include "pipeline/augment/features/annotations.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "pipeline/augment/features/ragged.h"
#include "pipeline/augment/op/mask_fill.h"
#include "pipeline/augment/op/op.h"

namespace penstock::augment {
namespace {

std::string ColumnOf(const v1::Op& op) { return op.column().empty() ? "image" : op.column(); }

std::optional<size_t> FindColumn(const FeatureSet& features, const std::string& name) {
  for (size_t c = 0; c < features.plans().size(); ++c) {
    if (features.plans()[c].column == name) return c;
  }
  return std::nullopt;
}

// Returns the index of the first op on a column if that op is decode_image, otherwise -1.
int FindDecode(const v1::JobSpec& job, const std::string& column) {
  for (int i = 0; i < job.ops_size(); ++i) {
    if (ColumnOf(job.ops(i)) == column) return job.ops(i).has_decode_image() ? i : -1;
  }
  return -1;
}

// Returns the name of the op, or of an inner op, that makes several pictures from one. Boxes and masks cannot follow
// it.
std::string FindUnfollowable(const v1::Op& op) {
  if (op.has_five_crop() || op.has_ten_crop()) return OpName(op);
  const auto& children = op.has_random_apply() ? op.random_apply().ops() : op.one_of().ops();
  for (const v1::Op& child : children) {
    if (const std::string found = FindUnfollowable(child); !found.empty()) return found;
  }
  return "";
}

}  // namespace

std::array<BoxKey, 4> BoxKeysOf(const v1::Boxes& boxes) {
  const auto key = [](const std::string& said, const char* side) {
    return BoxKey{absl::StrCat(side, "_key"), said.empty() ? absl::StrCat("image/object/bbox/", side) : said};
  };
  return {key(boxes.xmin_key(), "xmin"), key(boxes.ymin_key(), "ymin"), key(boxes.xmax_key(), "xmax"),
          key(boxes.ymax_key(), "ymax")};
}

AnnotationPlan AnnotationPlan::Create(const v1::JobSpec& job, const FeatureSet& features,
                                      std::vector<std::string>* errors) {
  AnnotationPlan plan;
  if (!job.has_annotations()) return plan;
  const size_t before = errors->size();
  plan.CheckColumns(job, features, errors);
  if (job.annotations().has_boxes()) plan.CheckBoxes(job, features, errors);
  plan.active_ = errors->size() == before;
  // The masks stay active after a wrong fill, so that ops on their columns are still checked.
  if (plan.active_) plan.CheckMaskFill(job.annotations(), errors);
  return plan;
}

void AnnotationPlan::CheckColumns(const v1::JobSpec& job, const FeatureSet& features,
                                  std::vector<std::string>* errors) {
  const v1::Annotations& spec = job.annotations();
  const auto error = [&](const std::string& field, const std::string& message) {
    errors->push_back(absl::StrCat("annotations.", field, ": ", message));
  };
  image_name_ = spec.image().empty() ? "image" : spec.image();
  const auto image = FindColumn(features, image_name_);
  const int decode = FindDecode(job, image_name_);
  if (!image.has_value()) {
    error("image", absl::StrCat("there is no column '", image_name_, "'"));
  } else if (decode < 0) {
    error("image", absl::StrCat("column '", image_name_, "' has no decode_image as its first op"));
  } else {
    image_ = *image;
    upright_ = job.ops(decode).decode_image().apply_exif_orientation();
  }
  for (int i = 0; i < job.ops_size(); ++i) {
    if (ColumnOf(job.ops(i)) != image_name_) continue;
    if (const std::string name = FindUnfollowable(job.ops(i)); !name.empty()) {
      errors->push_back(absl::StrCat("ops[", i, "]: ", name,
                                     " makes several pictures of one, which boxes and masks (annotations) cannot "
                                     "follow; leave out one or the other"));
    }
  }
  for (int i = 0; i < spec.masks_size(); ++i) {
    const std::string& name = spec.masks(i);
    const std::string field = absl::StrCat("masks[", i, "]");
    const auto column = FindColumn(features, name);
    const int mask_decode = FindDecode(job, name);
    if (!column.has_value()) {
      error(field, absl::StrCat("there is no column '", name, "'"));
    } else if (name == image_name_ || std::count(mask_names_.begin(), mask_names_.end(), name) > 0) {
      error(field, absl::StrCat("column '", name, "' is ", name == image_name_ ? "the image" : "named twice"));
    } else if (mask_decode < 0 || job.ops(mask_decode).decode_image().channels() != v1::DecodeImage::GRAY) {
      error(field, absl::StrCat("column '", name, "' needs ops { column: \"", name,
                                "\" decode_image { channels: GRAY } } as its first op"));
    } else {
      const bool wide = job.ops(mask_decode).decode_image().depth() == v1::UINT16;
      masks_.push_back(*column);
      mask_types_.push_back(wide ? batch::DType::kUint16 : batch::DType::kUint8);
      mask_names_.push_back(name);
    }
  }
}

void AnnotationPlan::CheckMaskFill(const v1::Annotations& spec, std::vector<std::string>* errors) {
  std::string mistake;
  mask_fill_ = ReadMaskFill(spec.mask_fill(), mask_types_, &mistake);
  if (!mistake.empty()) errors->push_back(absl::StrCat("annotations.mask_fill: ", mistake));
  mask_fill_.resize(masks_.size(), 0);
}

void AnnotationPlan::CheckBoxes(const v1::JobSpec& job, const FeatureSet& features, std::vector<std::string>* errors) {
  const v1::Boxes& spec = job.annotations().boxes();
  const auto error = [&](const std::string& field, const std::string& message) {
    errors->push_back(absl::StrCat("annotations.boxes.", field, ": ", message));
  };
  has_boxes_ = true;
  boxes_column_ = {.name = spec.column().empty() ? "boxes" : spec.column(),
                   .dtype = batch::DType::kFloat32,
                   .ragged = true,
                   .shape = {4}};
  if (FindColumn(features, boxes_column_.name).has_value()) {
    error("column", absl::StrCat("'", boxes_column_.name,
                                 "' is a feature's column; the boxes' features need no entry "
                                 "in features"));
  }
  const v1::RecordFormat format = RecordFormatOf(job);
  if (format == v1::RAW) error("column", "a RAW record has no features to read boxes from");
  std::vector<records::FeatureRequest> requests;
  for (const BoxKey& box : BoxKeysOf(spec)) {
    requests.push_back({.key = box.key, .kind = records::FeatureKind::kFloat});
    absl::StrAppend(&keys_, keys_.empty() ? "" : ", ", box.key);
  }
  auto parser = records::RecordParser::Create(std::move(requests), {.format = ParserFormatOf(job)});
  if (parser.ok()) {
    parser_ = *std::move(parser);
  } else {
    error("xmin_key", std::string(parser.status().message()));
  }
  pixels_ = spec.pixels();
  min_area_ = spec.min_area();
  min_visible_ = spec.min_visible();
  if (!(min_area_ >= 0 && std::isfinite(min_area_))) error("min_area", "must be 0 or more");
  if (!(min_visible_ >= 0 && min_visible_ <= 1)) error("min_visible", "must be from 0 to 1");
  for (int i = 0; i < spec.companions_size(); ++i) {
    const std::string& name = spec.companions(i);
    const std::string field = absl::StrCat("companions[", i, "]");
    const auto column = FindColumn(features, name);
    if (!column.has_value()) {
      error(field, absl::StrCat("there is no column '", name, "'"));
      continue;
    }
    const ValueType& type = features.plans()[*column].type;
    if (!type.ragged) {
      error(field, absl::StrCat("column '", name, "' is ", type.ToString(), "; it needs variable_length: true"));
      continue;
    }
    for (const Companion& other : companions_) {
      if (other.column == *column) error(field, absl::StrCat("column '", name, "' is named twice"));
    }
    companions_.push_back({*column, {name, type.dtype, type.ragged, type.shape, type.scalar}});
  }
}

bool AnnotationPlan::IsMask(size_t column) const {
  return active_ && std::find(masks_.begin(), masks_.end(), column) != masks_.end();
}

AnnotationPlan::Order AnnotationPlan::OrderOps(const v1::JobSpec& job) const {
  Order order;
  for (int i = 0; i < job.ops_size(); ++i) {
    const std::string column = ColumnOf(job.ops(i));
    const bool mask = std::find(mask_names_.begin(), mask_names_.end(), column) != mask_names_.end();
    if (!active_) {
      order.others.push_back(i);
    } else if (column == image_name_) {
      order.image.push_back(i);
    } else {
      (mask && FindDecode(job, column) == i ? order.decode_masks : order.others).push_back(i);
    }
  }
  return order;
}

absl::Status AnnotationPlan::ParseBoxes(std::string_view record, records::ParsedExample* out) const {
  if (!has_boxes_) return absl::OkStatus();
  PS_RETURN_IF_ERROR(parser_->Parse(record, out));
  const std::vector<float>&x0 = (*out)[0].floats, &y0 = (*out)[1].floats, &x1 = (*out)[2].floats,
        &y1 = (*out)[3].floats;
  if (y0.size() != x0.size() || x1.size() != x0.size() || y1.size() != x0.size()) {
    return WithFault(Fault::kWrongBoxes,
                     absl::InvalidArgumentError(absl::StrCat("annotations.boxes: the record holds ", x0.size(), ", ",
                                                             y0.size(), ", ", x1.size(), " and ", y1.size(),
                                                             " values of ", keys_, "; there must be as many of each")));
  }
  for (size_t i = 0; i < x0.size(); ++i) {
    // The condition is negated so that NaN is an error.
    if (!(std::isfinite(x0[i]) && std::isfinite(y0[i]) && x1[i] >= x0[i] && y1[i] >= y0[i] && std::isfinite(x1[i]) &&
          std::isfinite(y1[i]))) {
      return WithFault(Fault::kWrongBoxes, absl::InvalidArgumentError(absl::StrCat(
                                               "annotations.boxes: box ", i, " of the record is ", x0[i], ", ", y0[i],
                                               ", ", x1[i], ", ", y1[i], " (", keys_, "), which is no rectangle")));
    }
  }
  return absl::OkStatus();
}

size_t AnnotationPlan::BoxBytes(const records::ParsedExample& parsed) const {
  if (!has_boxes_) return 0;
  size_t values = 0;
  for (const records::FeatureValue& value : parsed) values += value.floats.capacity();
  // The parsed numbers, the followers with their vector's growth by doubling, and the column's bytes.
  return values * 4 + parsed[0].floats.size() * (2 * sizeof(Followers::Box) + 32);
}

absl::Status AnnotationPlan::Start(const image::ImageHeader& header, const records::ParsedExample& parsed,
                                   const std::vector<image::ImageView>& masks, Arena* arena,
                                   Followers* followers) const {
  followers->Start(header.width, header.height);
  for (size_t i = 0; i < masks.size(); ++i) {
    if (masks[i].width != header.width || masks[i].height != header.height) {
      return WithFault(Fault::kWrongBoxes, absl::InvalidArgumentError(absl::StrCat(
                                               "annotations.masks: column '", mask_names_[i], "' is ", masks[i].width,
                                               " x ", masks[i].height, " pixels, but the image in column '",
                                               image_name_, "' is ", header.width, " x ", header.height)));
    }
    followers->AddMask(masks[i], mask_fill_[i]);
  }
  if (has_boxes_) {
    const double x = pixels_ ? 1 : header.width, y = pixels_ ? 1 : header.height;
    for (size_t i = 0; i < parsed[0].floats.size(); ++i) {
      followers->AddBox(static_cast<double>(parsed[0].floats[i]) * x, static_cast<double>(parsed[1].floats[i]) * y,
                        static_cast<double>(parsed[2].floats[i]) * x, static_cast<double>(parsed[3].floats[i]) * y);
    }
  }
  if (upright_ && header.orientation != 1) {
    followers->Apply(ImageMove::Turn(header.orientation, header.width, header.height), arena);
  }
  return absl::OkStatus();
}

bool AnnotationPlan::Keeps(const Followers::Box& box) const {
  // Uses the float32 corners that are delivered.
  const bool has_area = static_cast<float>(box.x1) > static_cast<float>(box.x0) &&
                        static_cast<float>(box.y1) > static_cast<float>(box.y0);
  return box.kept && has_area && box.visible >= min_visible_ && (box.x1 - box.x0) * (box.y1 - box.y0) >= min_area_;
}

absl::Status AnnotationPlan::Finish(const Followers& followers, batch::RowSlot* slot) const {
  if (!has_boxes_) return absl::OkStatus();
  const std::vector<Followers::Box>& boxes = followers.boxes();
  std::vector<char> keep;
  uint32_t kept = 0;
  for (const Followers::Box& box : boxes) {
    keep.push_back(Keeps(box) ? 1 : 0);
    kept += keep.back() != 0 ? 1 : 0;
  }
  for (const Companion& companion : companions_) {
    std::string* encoded = &slot->ragged[companion.column];
    const uint32_t count = RaggedCount(*encoded);
    if (count != boxes.size()) {
      return WithFault(Fault::kWrongBoxes, absl::InvalidArgumentError(absl::StrCat(
                                               "annotations.boxes: column '", companion.spec.name, "' has ", count,
                                               " elements, but there are ", boxes.size(), " boxes (", keys_, ")")));
    }
    if (kept != count) KeepRagged(companion.spec, keep, encoded);
  }
  // The boxes are the slot's last column.
  std::string* out = &slot->ragged.back();
  out->clear();
  batch::AppendRaggedHeader(kept, out);
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (keep[i] == 0) continue;
    const float corners[4] = {static_cast<float>(boxes[i].x0), static_cast<float>(boxes[i].y0),
                              static_cast<float>(boxes[i].x1), static_cast<float>(boxes[i].y1)};
    out->append(reinterpret_cast<const char*>(corners), sizeof(corners));
  }
  return absl::OkStatus();
}

}  // namespace penstock::augment
