// Walks the parts of a tf.train.Example. Applies protobuf's rules for fields that occur several times: some are merged,
// and others are replaced by the last one. Internal to records/; example_parser.h shows the messages.
//
// All functions return false as soon as the wire data that they walk is malformed, or a visitor or a sink returns
// false.
#ifndef PENSTOCK_PIPELINE_RECORDS_FEATURE_WALK_H_
#define PENSTOCK_PIPELINE_RECORDS_FEATURE_WALK_H_

#include <cstdint>
#include <string_view>

#include "base/wire.h"
#include "pipeline/records/example_parser.h"

namespace penstock::records {

// Calls visit(bytes) -> bool for each occurrence of field number `field` in `message` that holds bytes (a string or a
// message). Skips all other fields.
template <typename Visit>
bool ForEachLengthField(std::string_view message, uint32_t field, const Visit& visit) {
  WireReader in(message);
  while (!in.done()) {
    uint32_t number = 0;
    WireType type;
    if (!in.ReadTag(&number, &type)) return false;
    if (number == field && type == WireType::kLength) {
      std::string_view bytes;
      if (!in.ReadLengthPrefixed(&bytes) || !visit(bytes)) return false;
    } else if (!in.SkipField(number, type)) {
      return false;
    }
  }
  return true;
}

// Calls visit(key, entry) -> bool for each entry of a map<string, message>, in wire order, including duplicate keys.
// `map` is the message that holds the map in field 1. `entry` is the serialized entry, whose value the visitor may
// read.
template <typename Visit>
bool ForEachMapEntry(std::string_view map, const Visit& visit) {
  return ForEachLengthField(map, 1, [&](std::string_view entry) {
    std::string_view key;  // the last key of the entry; empty if the entry has none
    return ForEachLengthField(entry, 1,
                              [&](std::string_view bytes) {
                                key = bytes;
                                return true;
                              }) &&
           visit(key, entry);
  });
}

// Reads one field of a list message, after its tag, and passes its values to `sink`. Skips a field that does not hold
// values of `kind`.
template <typename Sink>
bool WalkValue(FeatureKind kind, WireType type, WireReader* in, uint32_t number, Sink* sink) {
  std::string_view bytes;
  if (number == 1 && kind == FeatureKind::kBytes && type == WireType::kLength) {
    return in->ReadLengthPrefixed(&bytes) && sink->OnBytes(bytes);
  }
  if (number == 1 && kind == FeatureKind::kInt64 && type == WireType::kVarint) {
    uint64_t value = 0;
    return in->ReadVarint(&value) && sink->OnInt(static_cast<int64_t>(value));
  }
  if (number == 1 && kind == FeatureKind::kInt64 && type == WireType::kLength) {
    return in->ReadLengthPrefixed(&bytes) && sink->OnPackedInts(bytes);
  }
  if (number == 1 && kind == FeatureKind::kFloat && type == WireType::kFixed32) {
    return in->ReadBytes(4, &bytes) && sink->OnPackedFloats(bytes);
  }
  if (number == 1 && kind == FeatureKind::kFloat && type == WireType::kLength) {
    return in->ReadLengthPrefixed(&bytes) && bytes.size() % 4 == 0 && sink->OnPackedFloats(bytes);
  }
  return in->SkipField(number, type);
}

// Walks a serialized Feature, or a further piece of one. *kind is the kind of the list that was walked last, in this
// piece or an earlier one. The caller sets it to kNone before the first piece. `sink` has these functions:
//   void OnKind(FeatureKind)   starts a list of another kind than the previous one: the sink drops all earlier values
//   bool Wants(FeatureKind)    returns false to skip a list of this kind
//   bool OnBytes, OnInt, OnPackedInts, OnPackedFloats   receive values; false stops the walk
template <typename Sink>
bool WalkFeature(std::string_view feature, FeatureKind* kind, Sink* sink) {
  WireReader in(feature);
  while (!in.done()) {
    uint32_t number = 0;
    WireType type;
    if (!in.ReadTag(&number, &type)) return false;
    if (number < 1 || number > 3 || type != WireType::kLength) {
      if (!in.SkipField(number, type)) return false;
      continue;
    }
    std::string_view list;
    if (!in.ReadLengthPrefixed(&list)) return false;
    const FeatureKind list_kind = static_cast<FeatureKind>(number);
    if (list_kind != *kind) {
      *kind = list_kind;
      sink->OnKind(list_kind);
    }
    if (!sink->Wants(list_kind)) continue;
    WireReader values(list);
    while (!values.done()) {
      if (!values.ReadTag(&number, &type)) return false;
      if (!WalkValue(list_kind, type, &values, number, sink)) return false;
    }
  }
  return true;
}

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_FEATURE_WALK_H_
