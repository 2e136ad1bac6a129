#include "pipeline/augment/row_plan.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/augment/op/children.h"
#include "pipeline/augment/op/op_registry.h"
#include "pipeline/augment/value/step_error.h"

namespace penstock::augment {
namespace {

// The maximum size of one column in a row.
constexpr uint64_t kMaxColumnBytes = uint64_t{1} << 30;
// Parsing, resize tables and other small allocations.
constexpr size_t kBaseScratch = size_t{128} << 10;
// A value takes at most this multiple of its encoding.
constexpr size_t kMostValueBytes = 16;
// Bytes of a record whose values fit into half of kBaseScratch.
constexpr size_t kSmallRecord = size_t{4} << 10;

// Copies a mask to the arena as dense pixels of two bytes, widening it if it has one byte per pixel.
image::ImageView DenseWideMask(const image::ImageView& mask, Arena* arena) {
  const size_t width = static_cast<size_t>(mask.width), row = 2 * width;
  uint8_t* const pixels = arena->Acquire(row * static_cast<size_t>(mask.height));
  for (int y = 0; y < mask.height; ++y) {
    const uint8_t* from = mask.row(y);
    uint8_t* to = pixels + static_cast<size_t>(y) * row;
    if (mask.channels == 2) {
      std::memcpy(to, from, row);
      continue;
    }
    for (size_t x = 0; x < width; ++x) {
      to[2 * x] = from[x];
      to[2 * x + 1] = 0;
    }
  }
  return {pixels, mask.width, mask.height, 2, row};
}

// Sets the masks' values from the followers: an image, or a tensor of 16-bit classes.
void TakeMasks(const AnnotationPlan& annotations, RowScratch::Impl* scratch) {
  if (!annotations.active()) return;
  for (size_t i = 0; i < annotations.masks().size(); ++i) {
    Value& value = scratch->values[annotations.masks()[i]];
    const image::ImageView& mask = scratch->followers.masks()[i];
    if (annotations.mask_types()[i] == batch::DType::kUint8) {
      value.image = LazyImage::InMemory(mask);
    } else {
      value.data = DenseWideMask(mask, &scratch->tools.arena).data;
    }
  }
}

// Returns whether the op contains an augmix at any depth. An augmix mixes pictures whose parts have moved differently.
bool HoldsAugMix(const v1::Op& op) {
  const auto holds = [](const auto& ops) { return std::any_of(ops.begin(), ops.end(), HoldsAugMix); };
  return op.has_augmix() || holds(op.random_apply().ops()) || holds(op.one_of().ops());
}

// Returns raw pixels as an image. `type` must be an image type.
LazyImage ImageOf(const ValueType& type, const uint8_t* pixels) {
  const auto& shape = type.shape;
  return LazyImage::InMemory({pixels, static_cast<int>(shape[1]), static_cast<int>(shape[0]),
                              static_cast<int>(shape[2]), static_cast<size_t>(shape[1] * shape[2])});
}

size_t RowBytes(const LazyImage& image) {
  return static_cast<size_t>(image.width()) * static_cast<size_t>(image.channels());
}

}  // namespace

RowPlan RowPlan::Create(const v1::JobSpec& job, std::vector<std::string>* errors) {
  RowPlan plan;
  if (job.limits().max_image_pixels() > 0) plan.limits_.max_pixels = job.limits().max_image_pixels();
  if (job.limits().max_image_side() > 0) plan.limits_.max_side = job.limits().max_image_side();
  plan.features_ = FeatureSet::Create(job, errors);
  const size_t columns = plan.features_.plans().size();
  for (const FeaturePlan& feature : plan.features_.plans()) plan.types_.push_back(feature.type);
  plan.annotations_ = AnnotationPlan::Create(job, plan.features_, errors);
  plan.broken_.assign(columns, 0);
  plan.has_steps_.assign(columns, 0);
  plan.AddSteps(job, errors);
  plan.Finish(errors);
  return plan;
}

void RowPlan::AddSteps(const v1::JobSpec& job, std::vector<std::string>* errors) {
  CheckOpNames(job.ops(), "ops", errors);
  const AnnotationPlan::Order order = annotations_.OrderOps(job);
  for (const int i : order.decode_masks) AddStep(job, i, errors);
  image_begin_ = steps_.size();
  if (annotations_.active()) {
    const size_t image = annotations_.image();
    ValueType moved = types_[image];
    for (const int i : order.image) {
      const size_t before = steps_.size();
      AddStep(job, i, errors);
      if (steps_.size() > before && steps_.back().op->MakesImage()) moved = types_[image];
    }
    // The later ops of a mask see the image's final size, because the mask has followed the image.
    for (const size_t mask : annotations_.masks()) {
      if (broken_[mask] == 0 && moved.IsImage()) types_[mask].shape = {moved.shape[0], moved.shape[1], 1};
    }
    image_column_ = static_cast<int>(image);
  }
  image_end_ = steps_.size();
  for (const int i : order.others) AddStep(job, i, errors);
}

const std::vector<batch::DType>* RowPlan::FollowingMasks(const v1::JobSpec& job, size_t column) const {
  static const std::vector<batch::DType> kNone;
  if (annotations_.active() && column == annotations_.image()) return &annotations_.mask_types();
  return job.has_annotations() && !annotations_.active() ? nullptr : &kNone;
}

void RowPlan::AddStep(const v1::JobSpec& job, int number, std::vector<std::string>* errors) {
  const v1::Op& spec = job.ops(number);
  const std::string path = absl::StrCat("ops[", number, "]");
  const std::string name = OpName(spec);
  const OpFactory factory = FindOp(name);
  if (factory == nullptr) {
    errors->push_back(absl::StrCat(path, ": names no op, such as decode_image { }"));
    return;
  }
  const std::string column = spec.column().empty() ? "image" : spec.column();
  size_t c = 0;
  while (c < types_.size() && features_.plans()[c].column != column) ++c;
  if (c == types_.size()) {
    std::string known;
    for (const FeaturePlan& feature : features_.plans()) {
      absl::StrAppend(&known, known.empty() ? "" : ", ", feature.column);
    }
    errors->push_back(absl::StrCat(path, ".column: there is no column '", column, "'",
                                   spec.column().empty() ? " (the default)" : "",
                                   "; the features' columns are: ", known));
    return;
  }
  if (broken_[c] != 0) return;  // a previous mistake made its type unknown
  Step step;
  step.label = absl::StrCat(path, ".", name, " (column '", column, "')");
  step.name = name;
  step.number = number;
  const std::string random_path = spec.name().empty() ? absl::StrCat(number) : spec.name();
  step.path_hash = Hash64(random_path);
  step.column = c;
  const auto& mask_names = job.annotations().masks();
  const OpSetup setup{.spec = &spec,
                      .input = types_[c],
                      .limits = limits_,
                      .whole_images = job.errors().check() == v1::WHOLE_IMAGE,
                      .is_mask = std::find(mask_names.begin(), mask_names.end(), column) != mask_names.end(),
                      .masks = FollowingMasks(job, c),
                      .path = absl::StrCat(path, ".", name),
                      .random_path = random_path,
                      .column = column,
                      .errors = errors};
  step.op = factory(setup, &types_[c]);
  if (step.op == nullptr) {
    broken_[c] = 1;
    return;
  }
  if (has_steps_[c] != 0 && annotations_.IsMask(c) && step.op->MakesImage() && !spec.has_cast()) {
    errors->push_back(absl::StrCat(path, ".", name, ": column '", column,
                                   "' is a mask, which moves with the image; after its decode_image only ops that "
                                   "leave numbers, such as cast, may work on it"));
  }
  if (annotations_.active() && c == annotations_.image() && HoldsAugMix(spec)) {
    errors->push_back(absl::StrCat(path, ".", name,
                                   ": boxes and masks cannot follow augmix, which mixes pictures "
                                   "whose parts have moved differently"));
  }
  step.wide_mask = name == "decode_image" && types_[c].dtype == batch::DType::kUint16;
  if (name == "decode_image" && image_column_ < 0) image_column_ = static_cast<int>(c);
  has_steps_[c] = 1;
  steps_.push_back(std::move(step));
}

void RowPlan::Finish(std::vector<std::string>* errors) {
  std::vector<char> seen(types_.size(), 0);
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    step->last = seen[step->column] == 0;
    seen[step->column] = 1;
  }
  for (size_t c = 0; c < types_.size(); ++c) {
    const FeaturePlan& feature = features_.plans()[c];
    const ValueType& type = types_[c];
    schema_.columns.push_back({feature.column, type.dtype, type.ragged, type.shape, type.scalar});
    if (broken_[c] != 0) continue;
    if (!type.HasFixedSize()) {
      errors->push_back(
          absl::StrCat("ops: column '", feature.column, "' is ", type.ToString(),
                       " at the end, a size that differs from record to record; add a resize with height and width, a "
                       "random_resized_crop or a center_crop"));
      continue;
    }
    uint64_t bytes = batch::DTypeSize(type.dtype);
    for (const int64_t extent : type.shape)
      bytes = std::min(kMaxColumnBytes + 1, bytes * static_cast<uint64_t>(extent));
    if (bytes > kMaxColumnBytes) {
      errors->push_back(absl::StrCat("ops: column '", feature.column, "' is ", type.ToString(),
                                     " at the end: over 1 GiB in each row"));
    }
  }
  if (annotations_.active() && annotations_.boxes() != nullptr) schema_.columns.push_back(*annotations_.boxes());
  bool prefix = image_column_ >= 0;
  size_t image_steps = 0;
  for (Step& step : steps_) {
    if (image_column_ < 0 || step.column != static_cast<size_t>(image_column_)) continue;
    // Later steps must run, because boxes and masks follow their moves.
    if (annotations_.active() && image_steps++ > 0) break;
    // The prefix consists of steps that make images without drawing. Ops whose result is not an image of bytes (cast,
    // normalize) end it.
    prefix = prefix && !step.op->IsRandom() && step.op->MakesImage();
    step.in_prefix = prefix;
  }
}

bool RowPlan::draws() const {
  return features_.draws() ||
         std::any_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.op->IsRandom(); });
}

absl::Status RowPlan::Read(std::string_view record, Decoded decoded, const SampleKey& key, batch::RowSlot* slot,
                           RowScratch::Impl* scratch) const {
  PS_CHECK(slot->fixed.size() == schema_.columns.size() && slot->ragged.size() == schema_.columns.size());
  PS_RETURN_IF_ERROR(features_.Parse(record, &scratch->parsed));
  if (annotations_.active()) PS_RETURN_IF_ERROR(annotations_.ParseBoxes(record, &scratch->parsed_boxes));
  scratch->values.resize(types_.size());
  for (size_t c = 0; c < types_.size(); ++c) {
    const FeaturePlan& feature = features_.plans()[c];
    Value& value = scratch->values[c];
    if (decoded != nullptr && static_cast<int>(c) == image_column_) {
      value.image = LazyImage::InMemory(*decoded);
      if (annotations_.active()) PS_RETURN_IF_ERROR(features_.ReadString(c, scratch->parsed, &value.bytes));
    } else if (has_steps_[c] == 0 && feature.type.ragged) {
      PS_RETURN_IF_ERROR(features_.ReadRagged(c, scratch->parsed, &slot->ragged[c]));
    } else if (feature.type.IsEncoded()) {
      PS_RETURN_IF_ERROR(features_.ReadString(c, scratch->parsed, &value.bytes));
    } else {
      PS_RETURN_IF_ERROR(features_.ReadTensor(c, scratch->parsed, key, &scratch->tools.arena, &value.data));
      if (has_steps_[c] == 0) {
        std::memcpy(slot->fixed[c], value.data, feature.elements * feature.element_bytes());
      } else if (feature.type.IsImage()) {
        value.image = ImageOf(feature.type, value.data);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status RowPlan::Apply(const Step& step, const SampleKey& key, bool strict, uint8_t* target,
                            RowScratch::Impl* scratch) const {
  OpContext context;
  context.tools = &scratch->tools;
  context.random = key.RandomOf(step.path_hash);
  context.key = key;
  context.target = target;
  context.strict = strict;
  context.damaged = &scratch->damaged;
  if (annotations_.active() && step.column == annotations_.image()) context.followers = &scratch->followers;
  const StageTimes::Scope own(&scratch->tools.times,
                              StageTimes::kFixedStages + static_cast<size_t>(&step - steps_.data()));
  return AtStep(step.label, step.op->Apply(&context, &scratch->values[step.column]));
}

absl::Status RowPlan::Compute(const SampleKey& key, Decoded decoded, batch::RowSlot* slot,
                              RowScratch::Impl* scratch) const {
  if (annotations_.active()) PS_RETURN_IF_ERROR(StartFollowers(key, /*strict=*/false, scratch));
  for (size_t s = image_begin_; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    if (s == image_end_) TakeMasks(annotations_, scratch);
    if (decoded != nullptr && step.in_prefix) continue;
    uint8_t* target = step.last ? reinterpret_cast<uint8_t*>(slot->fixed[step.column]) : nullptr;
    PS_RETURN_IF_ERROR(Apply(step, key, /*strict=*/false, target, scratch));
  }
  if (image_end_ == steps_.size()) TakeMasks(annotations_, scratch);
  for (const Step& step : steps_) {
    if (!step.last) continue;
    const size_t c = step.column;
    const Value& value = scratch->values[c];
    uint8_t* out = reinterpret_cast<uint8_t*>(slot->fixed[c]);
    if (types_[c].IsImage() && step.op->MakesImage()) {
      if (value.image.IsRealized() && value.image.view().data == out) continue;
      PS_RETURN_IF_ERROR(
          AtStep(step.label, value.image.Store(&scratch->tools, out, RowBytes(value.image), &scratch->damaged)));
    } else if (value.data != out) {
      std::memcpy(out, value.data, schema_.columns[c].Bytes());
    }
  }
  slot->lenient = scratch->damaged;
  if (annotations_.active()) return annotations_.Finish(scratch->followers, slot);
  return absl::OkStatus();
}

absl::Status RowPlan::StartFollowers(const SampleKey& key, bool strict, RowScratch::Impl* scratch) const {
  scratch->masks.clear();
  for (size_t s = 0; s < image_begin_; ++s) {
    const Step& step = steps_[s];
    LazyImage& mask = scratch->values[step.column].image;
    PS_RETURN_IF_ERROR(Apply(step, key, strict, nullptr, scratch));
    PS_RETURN_IF_ERROR(AtStep(step.label, mask.Realize(&scratch->tools, &scratch->damaged)));
  }
  for (size_t i = 0; i < annotations_.masks().size(); ++i) {
    const image::ImageView& mask = scratch->values[annotations_.masks()[i]].image.view();
    const bool widen = annotations_.mask_types()[i] == batch::DType::kUint16 && mask.channels == 1;
    scratch->masks.push_back(widen ? DenseWideMask(mask, &scratch->tools.arena) : mask);
  }
  // The first op of the image is decode_image, so an unreadable header gets that op's error.
  const auto header = image::ProbeImage(scratch->values[annotations_.image()].bytes);
  if (!header.ok()) return AtStep(steps_[image_begin_].label, WithFault(Fault::kNoImage, header.status()));
  return annotations_.Start(*header, scratch->parsed_boxes, scratch->masks, &scratch->tools.arena, &scratch->followers);
}

absl::StatusOr<image::ImageView> RowPlan::ComputeImage(std::string_view record, const SampleKey& key, size_t steps,
                                                       bool strict, bool follow, RowScratch::Impl* scratch) const {
  const size_t c = static_cast<size_t>(picture_column());
  PS_CHECK(c < types_.size());
  PS_RETURN_IF_ERROR(features_.Parse(record, &scratch->parsed));
  scratch->values.resize(types_.size());
  Value& value = scratch->values[c];
  const ValueType& read = features_.plans()[c].type;
  if (read.IsEncoded()) {
    PS_RETURN_IF_ERROR(features_.ReadString(c, scratch->parsed, &value.bytes));
  } else {
    PS_RETURN_IF_ERROR(features_.ReadTensor(c, scratch->parsed, key, &scratch->tools.arena, &value.data));
    value.image = ImageOf(read, value.data);
  }
  scratch->followers.Start(0, 0);
  if (follow && annotations_.active()) {
    PS_RETURN_IF_ERROR(annotations_.ParseBoxes(record, &scratch->parsed_boxes));
    for (const size_t mask : annotations_.masks()) {
      PS_RETURN_IF_ERROR(features_.ReadString(mask, scratch->parsed, &scratch->values[mask].bytes));
    }
    PS_RETURN_IF_ERROR(StartFollowers(key, strict, scratch));
  }
  const Step* last = nullptr;
  for (const Step& step : steps_) {
    if (step.column != c || steps == 0) continue;
    --steps;
    last = &step;
    PS_RETURN_IF_ERROR(Apply(step, key, strict, nullptr, scratch));
  }
  const absl::Status realized = value.image.Realize(&scratch->tools, &scratch->damaged);
  if (!realized.ok()) return last == nullptr ? realized : AtStep(last->label, realized);
  return value.image.view();
}

int RowPlan::picture_column() const {
  if (image_column_ >= 0) return image_column_;
  for (size_t c = 0; c < types_.size(); ++c) {
    if (features_.plans()[c].type.IsImage()) return static_cast<int>(c);
  }
  return -1;
}

size_t RowPlan::ScratchBytes(std::string_view record) const {
  size_t bytes = kBaseScratch + features_.padded_bytes();
  // Saves the parse of a small record. With steps the sizes of its images are needed.
  if (steps_.empty() && !annotations_.active() && record.size() <= kSmallRecord) return bytes;
  records::ParsedExample parsed;
  if (features_.is_packed()) {
    // The values of the row, and those of one record. Only ops on numbers have steps.
    bytes += 2 * kMostValueBytes * record.size();
    parsed.resize(types_.size());
    for (size_t c = 0; c < types_.size(); ++c) {
      Value value;
      if (has_steps_[c] != 0) MeasureColumn(c, parsed, nullptr, &value, &bytes);
    }
    return bytes;
  }
  // A record that does not parse fails before its values need more than this multiple of its size.
  if (!features_.Parse(record, &parsed).ok()) return bytes + 8 * record.size();
  for (const records::FeatureValue& value : parsed) {
    bytes += value.ints.capacity() * 8 + value.floats.capacity() * 4 + value.bytes.capacity() * 16 +
             value.splits.capacity() * 4 + value.own.capacity();
  }
  if (!annotations_.active()) {
    for (size_t c = 0; c < types_.size(); ++c) {
      Value value;
      if (has_steps_[c] != 0) MeasureColumn(c, parsed, nullptr, &value, &bytes);
    }
    return bytes;
  }
  records::ParsedExample boxes;
  if (!annotations_.ParseBoxes(record, &boxes).ok()) return bytes + 8 * record.size();
  bytes += annotations_.BoxBytes(boxes);
  Followers followers;
  followers.StartMeasuring(annotations_.mask_types());
  Value image;
  MeasureColumn(annotations_.image(), parsed, &followers, &image, &bytes);
  for (size_t c = 0; c < types_.size(); ++c) {
    // A mask ends with the image's largest size.
    Value value;
    if (annotations_.IsMask(c)) value.image = image.image;
    if (has_steps_[c] != 0 && c != annotations_.image()) MeasureColumn(c, parsed, nullptr, &value, &bytes);
  }
  return bytes;
}

void RowPlan::MeasureColumn(size_t c, const records::ParsedExample& parsed, Followers* followers, Value* value,
                            size_t* bytes) const {
  const FeaturePlan& feature = features_.plans()[c];
  const LazyImage moved = value->image;  // the image whose size a mask takes
  if (feature.type.IsEncoded()) {
    if (!features_.ReadString(c, parsed, &value->bytes).ok()) return;
  } else {
    *bytes += feature.elements * feature.element_bytes();
    if (feature.type.IsImage()) {
      const auto& shape = feature.type.shape;
      value->image = LazyImage::InMemory({nullptr, static_cast<int>(shape[1]), static_cast<int>(shape[0]),
                                          static_cast<int>(shape[2]), static_cast<size_t>(shape[1] * shape[2])});
    }
  }
  OpContext context;
  context.dry_bytes = bytes;
  context.followers = followers;
  bool image = feature.type.IsImage();
  for (size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    if (step.column != c) continue;
    if (!step.op->Apply(&context, value).ok()) {
      image = false;
      break;
    }
    image = step.op->MakesImage();
    if (s < image_begin_) {
      // A mask is turned upright and moved like the image. A mask of 16-bit classes is also widened and copied densely.
      value->image.PretendRealized(bytes);
      const size_t width = static_cast<size_t>(value->image.width()),
                   height = static_cast<size_t>(value->image.height());
      *bytes += width * height + 4 * std::max(width, height) + Arena::kSlack;
      if (step.wide_mask) {
        const size_t largest = static_cast<size_t>(moved.width()) * static_cast<size_t>(moved.height());
        *bytes += 3 * width * height + 2 * largest + 2 * Arena::kSlack;
      }
      value->image =
          LazyImage::InMemory({nullptr, moved.width(), moved.height(), 1, static_cast<size_t>(moved.width())});
    }
  }
  if (image) *bytes += value->image.StoreBytes();
}

}  // namespace penstock::augment
