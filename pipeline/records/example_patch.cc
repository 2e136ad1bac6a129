#include "pipeline/records/example_patch.h"

#include <vector>

#include "base/wire.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/feature_walk.h"
#include "pipeline/records/raw_fields.h"

namespace penstock::records {
namespace {

absl::Status Malformed() {
  return absl::InvalidArgumentError("the record is no tf.train.Example: malformed wire data");
}

// Appends an entry of a map<string, Feature> with its tag and length.
void AppendEntry(const FeaturePatch& patch, std::string* features) {
  std::string list, feature, entry;
  if (const auto* bytes = std::get_if<std::string_view>(&patch.value)) {
    AppendLengthPrefixed(1, *bytes, &list);
    AppendLengthPrefixed(static_cast<uint32_t>(FeatureKind::kBytes), list, &feature);
  } else {
    std::string packed;
    AppendVarint(static_cast<uint64_t>(std::get<int64_t>(patch.value)), &packed);
    AppendLengthPrefixed(1, packed, &list);
    AppendLengthPrefixed(static_cast<uint32_t>(FeatureKind::kInt64), list, &feature);
  }
  AppendLengthPrefixed(1, patch.key, &entry);
  AppendLengthPrefixed(2, feature, &entry);
  AppendLengthPrefixed(1, entry, features);
}

// Sets *patch to the index of the patch for a map entry, or -1. Returns false if the entry is malformed.
bool PatchOf(std::string_view entry, std::span<const FeaturePatch> patches, int* patch) {
  std::string_view key;
  if (!ForEachLengthField(entry, 1, [&](std::string_view bytes) {
        key = bytes;
        return true;
      })) {
    return false;
  }
  *patch = -1;
  for (size_t i = 0; i < patches.size(); ++i) {
    if (patches[i].key == key) *patch = static_cast<int>(i);
  }
  return true;
}

}  // namespace

absl::Status PatchExample(std::string_view record, std::span<const FeaturePatch> patches, std::string* out) {
  // A message field may have several pieces, which are joined. The last occurrence of a key in any of them counts.
  std::vector<RawField> pieces, entries;
  if (!SplitFields(record, &pieces)) return Malformed();
  std::vector<uint64_t> found(patches.size(), 0), seen(patches.size(), 0);
  size_t last_piece = pieces.size();
  for (size_t p = 0; p < pieces.size(); ++p) {
    if (pieces[p].number != 1 || pieces[p].type != WireType::kLength) continue;
    last_piece = p;
    if (!SplitFields(pieces[p].content, &entries)) return Malformed();
    for (const RawField& entry : entries) {
      int patch = -1;
      if (entry.number != 1 || entry.type != WireType::kLength) continue;
      if (!PatchOf(entry.content, patches, &patch)) return Malformed();
      if (patch >= 0) ++found[static_cast<size_t>(patch)];
    }
  }
  out->clear();
  std::string features;
  const auto add_missing = [&] {
    for (size_t i = 0; i < patches.size(); ++i) {
      if (found[i] == 0 && patches[i].add) AppendEntry(patches[i], &features);
    }
  };
  for (size_t p = 0; p < pieces.size(); ++p) {
    if (pieces[p].number != 1 || pieces[p].type != WireType::kLength) {
      out->append(pieces[p].whole);
      continue;
    }
    features.clear();
    SplitFields(pieces[p].content, &entries);
    for (const RawField& entry : entries) {
      int patch = -1;
      if (entry.number == 1 && entry.type == WireType::kLength) PatchOf(entry.content, patches, &patch);
      if (patch < 0) {
        features.append(entry.whole);
      } else if (++seen[static_cast<size_t>(patch)] == found[static_cast<size_t>(patch)]) {
        AppendEntry(patches[static_cast<size_t>(patch)], &features);
      }
    }
    if (p == last_piece) add_missing();
    AppendLengthPrefixed(1, features, out);
  }
  if (last_piece == pieces.size()) {
    features.clear();
    add_missing();
    if (!features.empty()) AppendLengthPrefixed(1, features, out);
  }
  return absl::OkStatus();
}

}  // namespace penstock::records
