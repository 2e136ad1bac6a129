#include "pipeline/augment/pipeline.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/augment/op/own_op_registry.h"
#include "pipeline/augment/row_plan.h"
#include "pipeline/batch/mix_job.h"
#include "pipeline/plan/job_dataset.h"

namespace penstock::augment {
namespace {

// Increase this when the same features and ops give other bytes.
constexpr uint64_t kArithmeticVersion = 2;

// The maximum that a scratch keeps between rows. It frees the rest after each row.
constexpr size_t kHeldBytes = size_t{8} << 20;

// The header of MakeDecoded's bytes. Dense pixels follow.
struct DecodedHeader {
  char magic[4] = {'P', 'S', 'I', '1'};
  int32_t width = 0, height = 0, channels = 0;
};
static_assert(sizeof(DecodedHeader) == 16);

std::string Deterministic(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

// Increase these when masks, warps with filter BILINEAR, packs or windows of records give other bytes. States of all
// other jobs stay valid, because the fingerprint of a job without them does not include them.
constexpr uint64_t kMaskVersion = 1, kBilinearVersion = 1, kPackVersion = 1, kWindowVersion = 1;

// Returns whether an op, or an inner op, warps with filter BILINEAR.
bool WarpsBilinear(const v1::Op& op) {
  const auto any = [](const auto& ops) { return std::any_of(ops.begin(), ops.end(), WarpsBilinear); };
  switch (op.op_case()) {
    case v1::Op::kRotate:
      return op.rotate().filter() == v1::BILINEAR;
    case v1::Op::kAffine:
      return op.affine().filter() == v1::BILINEAR;
    case v1::Op::kPerspective:
      return op.perspective().filter() == v1::BILINEAR;
    case v1::Op::kAutoAugment:
      return op.auto_augment().filter() == v1::BILINEAR;
    case v1::Op::kRandAugment:
      return op.rand_augment().filter() == v1::BILINEAR;
    case v1::Op::kTrivialAugmentWide:
      return op.trivial_augment_wide().filter() == v1::BILINEAR;
    case v1::Op::kAugmix:
      return op.augmix().filter() == v1::BILINEAR;
    case v1::Op::kRandomApply:
      return any(op.random_apply().ops());
    case v1::Op::kOneOf:
      return any(op.one_of().ops());
    default:
      return false;
  }
}

uint64_t FingerprintOf(const v1::JobSpec& job) {
  Fingerprint fingerprint;
  // The container of the data decides between all formats but SEQUENCE_EXAMPLE and RAW, and the snapshot's fingerprint
  // covers the container and the data.
  const v1::RecordFormat named = RecordFormatOf(job);
  const v1::RecordFormat format = named == v1::SEQUENCE_EXAMPLE || named == v1::RAW ? named : v1::EXAMPLE;
  fingerprint.Add(kArithmeticVersion).Add(static_cast<uint64_t>(format));
  for (const v1::Feature& feature : job.features()) fingerprint.Add(Deterministic(feature));
  fingerprint.Add(static_cast<uint64_t>(job.features_size()));
  for (const v1::Op& op : job.ops()) {
    fingerprint.Add(Deterministic(op));
    AddOwnOpVersions(op, &fingerprint);
  }
  // The pipeline does not mix rows itself, but a trainer that resumes with other mix settings would receive other rows.
  if (job.has_mix()) fingerprint.Add("mix").Add(Deterministic(job.mix()));
  if (job.has_annotations()) fingerprint.Add("annotations").Add(Deterministic(job.annotations()));
  if (const v1::Pack* const pack = plan::PackOf(plan::DatasetOf(job))) {
    fingerprint.Add("pack").Add(kPackVersion).Add(Deterministic(*pack));
  }
  // The order fingerprint covers the records of each window.
  if (const auto* const window = plan::RecordWindowOf(plan::DatasetOf(job))) {
    fingerprint.Add("record window").Add(kWindowVersion).Add(window->size()).Add(window->records());
  }
  if (job.annotations().masks_size() > 0) fingerprint.Add("masks").Add(kMaskVersion);
  if (std::any_of(job.ops().begin(), job.ops().end(), WarpsBilinear)) fingerprint.Add("warps").Add(kBilinearVersion);
  return fingerprint.value();
}

// Column types are known only if there are no other mistakes. config/mix_check.h reports missing columns.
void CheckMix(const v1::JobSpec& job, const RowPlan& plan, std::vector<std::string>* errors) {
  if (!job.has_mix() || !errors->empty()) return;
  const batch::RowSchema& schema = plan.schema();
  if (schema.Find(batch::MixImageColumn(job.mix())) < 0 || schema.Find(batch::MixLabelColumn(job.mix())) < 0) return;
  for (std::string& mistake : batch::CheckMixColumns(job.mix(), schema)) errors->push_back(std::move(mistake));
}

absl::StatusOr<image::ImageView> ViewDecoded(std::string_view decoded) {
  DecodedHeader header;
  if (decoded.size() < sizeof(header)) return absl::InvalidArgumentError("the decoded image is cut off");
  std::memcpy(&header, decoded.data(), sizeof(header));
  if (std::memcmp(header.magic, DecodedHeader().magic, 4) != 0 || header.width < 1 || header.height < 1 ||
      (header.channels != 1 && header.channels != 3)) {
    return absl::InvalidArgumentError("the decoded image is not one of this pipeline's");
  }
  const size_t row = static_cast<size_t>(header.width) * static_cast<size_t>(header.channels);
  if ((decoded.size() - sizeof(header)) / row != static_cast<size_t>(header.height) ||
      (decoded.size() - sizeof(header)) % row != 0) {
    return absl::InvalidArgumentError("the decoded image is cut off");
  }
  return image::ImageView{reinterpret_cast<const uint8_t*>(decoded.data()) + sizeof(header), header.width,
                          header.height, header.channels, row};
}

// Begins a row on a scratch, and frees excess memory at the end.
class RowScope {
 public:
  explicit RowScope(RowScratch* scratch) : scratch_(scratch->impl()) {
    scratch_.tools.arena.Reset(kHeldBytes);
    scratch_.damaged = false;
  }
  ~RowScope() {
    scratch_.tools.arena.Reset(kHeldBytes);
    if (scratch_.tools.resizer.held_bytes() > kHeldBytes) scratch_.tools.resizer.Clear();
  }
  RowScope(const RowScope&) = delete;
  RowScratch::Impl* operator->() { return &scratch_; }
  RowScratch::Impl* get() { return &scratch_; }

 private:
  RowScratch::Impl& scratch_;
};

class PipelineImpl final : public Pipeline {
 public:
  PipelineImpl(RowPlan plan, uint64_t fingerprint) : plan_(std::move(plan)), fingerprint_(fingerprint) {
    for (const RowPlan::Step& step : plan_.steps()) {
      prefix_ += step.in_prefix ? 1 : 0;
      const bool known = std::find(stages_.begin(), stages_.end(), step.name) != stages_.end();
      stages_.push_back(known ? absl::StrCat(step.name, " (ops[", step.number, "])") : step.name);
    }
  }

  const batch::RowSchema& schema() const override { return plan_.schema(); }
  uint64_t fingerprint() const override { return fingerprint_; }
  const std::vector<std::string>& stages() const override { return stages_; }
  size_t ScratchBytes(std::string_view record) const override { return plan_.ScratchBytes(record); }

  absl::Status MakeRow(std::string_view record, const SampleKey& key, batch::RowSlot* slot,
                       RowScratch* scratch) const override {
    return Make(record, nullptr, key, slot, scratch);
  }

  bool IsDeterministic() const override { return !plan_.draws(); }
  bool HasDecodedPrefix() const override { return prefix_ > 0; }

  absl::StatusOr<std::string> MakeDecoded(std::string_view record, RowScratch* scratch) const override {
    if (prefix_ == 0) return absl::FailedPreconditionError("the pipeline decodes no image");
    RowScope row(scratch);
    PS_ASSIGN_OR_RETURN(const image::ImageView image,
                        plan_.ComputeImage(record, SampleKey(), prefix_, /*strict=*/true, /*follow=*/false, row.get()));
    const DecodedHeader header{.width = image.width, .height = image.height, .channels = image.channels};
    std::string bytes;
    bytes.reserve(sizeof(header) + image.row_bytes() * static_cast<size_t>(image.height));
    bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
    for (int y = 0; y < image.height; ++y) {
      bytes.append(reinterpret_cast<const char*>(image.row(y)), image.row_bytes());
    }
    return bytes;
  }

  absl::Status MakeRowFromDecoded(std::string_view record, std::string_view decoded, const SampleKey& key,
                                  batch::RowSlot* slot, RowScratch* scratch) const override {
    PS_ASSIGN_OR_RETURN(const image::ImageView image, ViewDecoded(decoded));
    return Make(record, &image, key, slot, scratch);
  }

 private:
  absl::Status Make(std::string_view record, RowPlan::Decoded decoded, const SampleKey& key, batch::RowSlot* slot,
                    RowScratch* scratch) const {
    RowScope row(scratch);
    {
      const StageTimes::Scope parse(&row->tools.times, StageTimes::kParse);
      PS_RETURN_IF_ERROR(plan_.Read(record, decoded, key, slot, row.get()));
    }
    return plan_.Compute(key, decoded, slot, row.get());
  }

  const RowPlan plan_;
  const uint64_t fingerprint_;
  size_t prefix_ = 0;
  std::vector<std::string> stages_{"other", "parse", "decode", "resize"};
};

}  // namespace

RowScratch::RowScratch() : impl_(std::make_unique<Impl>()) {}
RowScratch::~RowScratch() = default;
RowScratch::RowScratch(RowScratch&&) noexcept = default;
RowScratch& RowScratch::operator=(RowScratch&&) noexcept = default;

size_t RowScratch::held_bytes() const {
  const Impl& s = *impl_;
  size_t bytes = sizeof(Impl) + s.tools.arena.held_bytes() + s.tools.resizer.held_bytes() + s.tools.jpeg.held_bytes() +
                 s.tools.png.held_bytes() + s.values.capacity() * sizeof(Value) +
                 s.masks.capacity() * sizeof(image::ImageView) + s.followers.held_bytes();
  for (const records::FeatureValue& value : s.parsed_boxes) bytes += value.floats.capacity() * 4;
  for (const records::FeatureValue& value : s.parsed) {
    bytes += value.ints.capacity() * 8 + value.floats.capacity() * 4 + value.bytes.capacity() * 16 +
             value.splits.capacity() * 4 + value.own.capacity();
  }
  return bytes;
}

StageTimes& RowScratch::times() { return impl_->tools.times; }

void RowScratch::Clear() { impl_ = std::make_unique<Impl>(); }

std::vector<std::string> CheckOnePipeline(const v1::JobSpec& job) {
  std::vector<std::string> errors;
  const RowPlan plan = RowPlan::Create(job, &errors);
  CheckMix(job, plan, &errors);
  return errors;
}

absl::StatusOr<std::unique_ptr<const Pipeline>> Pipeline::Create(const v1::JobSpec& job) {
  std::vector<std::string> errors;
  RowPlan plan = RowPlan::Create(job, &errors);
  CheckMix(job, plan, &errors);
  if (!errors.empty()) return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
  return std::make_unique<PipelineImpl>(std::move(plan), FingerprintOf(job));
}

}  // namespace penstock::augment
