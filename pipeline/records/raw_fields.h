// The fields of a serialized message, with their bytes. Internal to records/.
#ifndef PENSTOCK_PIPELINE_RECORDS_RAW_FIELDS_H_
#define PENSTOCK_PIPELINE_RECORDS_RAW_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/wire.h"

namespace penstock::records {

// One field of a message: its number, and its bytes including the tag.
struct RawField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::string_view whole;
  std::string_view content;  // kLength only
};

// Replaces *fields by those of `message`. Returns false if it is malformed.
inline bool SplitFields(std::string_view message, std::vector<RawField>* fields) {
  fields->clear();
  WireReader in(message);
  while (!in.done()) {
    RawField field;
    const char* begin = in.position();
    if (!in.ReadTag(&field.number, &field.type)) return false;
    if (field.type == WireType::kLength ? !in.ReadLengthPrefixed(&field.content)
                                        : !in.SkipField(field.number, field.type)) {
      return false;
    }
    field.whole = {begin, static_cast<size_t>(in.position() - begin)};
    fields->push_back(field);
  }
  return true;
}

// Returns whether the field is a message or a string of this number.
inline bool IsLengthField(const RawField& field, uint32_t number) {
  return field.number == number && field.type == WireType::kLength;
}

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_RAW_FIELDS_H_
