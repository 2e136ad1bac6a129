#include "pipeline/augment/job_warnings.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "pipeline/augment/features/annotations.h"
#include "pipeline/augment/op/op.h"
#include "pipeline/augment/set_pipelines.h"

namespace penstock::augment {
namespace {

constexpr std::array<const char*, 9> kBoxWords = {"bbox", "bboxes", "box",  "boxes", "xmin",
                                                  "ymin", "xmax",   "ymax", "rois"};
// A name with one of these words is about boxes but holds none.
constexpr std::array<const char*, 14> kOtherWords = {"label", "labels", "class",  "classes", "id",   "ids",   "num",
                                                     "count", "score",  "scores", "area",    "text", "names", "mask"};

template <typename Words>
bool Has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Checks the last part of a key or column: true for "image/object/bbox/xmin" and "gt_boxes", false for
// "image/object/bbox/label".
bool IsNamedLikeABox(const std::string& name) {
  const std::string last = absl::AsciiStrToLower(name.substr(name.rfind('/') + 1));
  const std::vector<std::string> words = absl::StrSplit(last, absl::ByAnyChar("_-. "), absl::SkipEmpty());
  const auto any_of = [&](const auto& list) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) { return Has(list, word); });
  };
  return any_of(kBoxWords) && !any_of(kOtherWords);
}

bool IsNumeric(const v1::Feature& feature) {
  return feature.type() == v1::Feature::INT64 || feature.type() == v1::Feature::FLOAT ||
         feature.decode_raw() != v1::DATA_TYPE_UNSPECIFIED;
}

// Returns the name of the op, or of an inner op, that moves pixels, or "" if none does. Set `pixels` for coordinates in
// pixels: a resize moves those, but not fractions of the sides.
std::string FindMove(const v1::Op& op, bool pixels) {
  switch (op.op_case()) {
    case v1::Op::kResize:
      return pixels ? OpName(op) : "";
    case v1::Op::kRandomResizedCrop:
    case v1::Op::kCenterCrop:
    case v1::Op::kRandomCrop:
    case v1::Op::kFiveCrop:
    case v1::Op::kTenCrop:
    case v1::Op::kRandomHorizontalFlip:
    case v1::Op::kRandomVerticalFlip:
    case v1::Op::kPad:
    case v1::Op::kRotate:
    case v1::Op::kAffine:
    case v1::Op::kPerspective:
    case v1::Op::kZoomOut:
    case v1::Op::kAutoAugment:
    case v1::Op::kRandAugment:
    case v1::Op::kTrivialAugmentWide:
    case v1::Op::kAugmix:
      return OpName(op);
    default:
      break;
  }
  const auto& children = op.has_random_apply() ? op.random_apply().ops() : op.one_of().ops();
  for (const v1::Op& child : children) {
    if (std::string found = FindMove(child, pixels); !found.empty()) return found;
  }
  return "";
}

// Returns "ops[1] (random_resized_crop)", or "" if no op moves pixels.
std::string FirstMove(const v1::JobSpec& job, bool pixels) {
  for (int i = 0; i < job.ops_size(); ++i) {
    if (const std::string name = FindMove(job.ops(i), pixels); !name.empty()) {
      return absl::StrCat("ops[", i, "] (", name, ")");
    }
  }
  return "";
}

// Returns whether the annotations include the feature, as one of the boxes' keys or as a companion of the boxes.
bool IsAnnotated(const v1::JobSpec& job, const v1::Feature& feature, const std::string& column) {
  if (!job.annotations().has_boxes()) return false;
  const v1::Boxes& boxes = job.annotations().boxes();
  const auto keys = BoxKeysOf(boxes);
  return std::any_of(keys.begin(), keys.end(), [&](const BoxKey& box) { return box.key == feature.key(); }) ||
         std::find(boxes.companions().begin(), boxes.companions().end(), column) != boxes.companions().end();
}

// Returns the warnings of a job of one data set.
std::vector<std::string> WarningsOfOne(const v1::JobSpec& job) {
  std::vector<std::string> boxes;  // names of the suspicious features
  std::string path, move;
  for (int i = 0; i < job.features_size(); ++i) {
    const v1::Feature& feature = job.features(i);
    const std::string column = feature.column().empty() ? feature.key() : feature.column();
    if (!IsNumeric(feature) || !(IsNamedLikeABox(feature.key()) || IsNamedLikeABox(column))) continue;
    if (IsAnnotated(job, feature, column)) continue;
    const std::string moves = FirstMove(job, feature.type() == v1::Feature::INT64);
    if (moves.empty()) continue;
    if (boxes.empty()) {
      path = absl::StrCat("features[", i, "]");
      move = moves;
    }
    boxes.push_back(absl::StrCat("'", column, "'"));
  }
  if (boxes.empty()) return {};
  return {
      absl::StrCat(path, ": ", absl::StrJoin(boxes, ", "), boxes.size() == 1 ? " is" : " are",
                   " named like boxes, and ", move, " moves the pixels and not ", boxes.size() == 1 ? "it" : "them",
                   ": rows would have boxes of another picture. annotations { boxes { xmin_key: ... } } reads the four "
                   "sides from four keys of the record and moves them. Boxes in one list must be rewritten for that "
                   "(docs/augmentations.md). Then remove the features from the job")};
}

}  // namespace

std::vector<std::string> JobWarnings(const v1::JobSpec& job) { return OfEachSet(job, WarningsOfOne); }

}  // namespace penstock::augment
