// Parses samples of WebDataset archives for the features that a job requests.
//
// A record has the members of a sample: all, or only those that hold the requests
// (pipeline/sources/tar/sample_members.h). It is their bytes in the archive, each from its first header to the end of
// its padding. Keys of requests:
//   "jpg", "left.jpg"        a member by its extension, in any case
//   "jpg;png"                the first of these that the sample has; a missing JSON field does not count
//   "json/label"             a field of a JSON member: the extension, and then a JSON pointer (RFC 6901)
//   "__key__"                folder and name of the sample's members, up to the first dot: BYTES
//
// Values by member and kind:
//   npy, or ending in .npy    the elements of the array (npy_elements.h)
//   json, or ending in .json  FLOAT from numbers; INT64 from integers and booleans; BYTES from strings
//   any other                 BYTES: the whole member; INT64, FLOAT: its text, one decimal number
//
// The BYTES of JSON without a pointer are the whole member. A JSON array gives one value per element. A field that is
// null counts as missing.
#ifndef PENSTOCK_PIPELINE_RECORDS_SAMPLE_PARSER_H_
#define PENSTOCK_PIPELINE_RECORDS_SAMPLE_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/records/json_fields.h"

namespace penstock::records {

// A member that a key names.
struct SampleKeyPart {
  std::string extension;                         // in lower case
  std::optional<std::string_view> pointer = {};  // JSON pointer, a part of the key
};

// Splits a key other than "__key__" at its semicolons. Does not check the parts.
std::vector<SampleKeyPart> SplitSampleKey(std::string_view key);

// Returns whether the extension is json, or ends in .json. Fields of such a member may be missing.
bool IsJsonExtension(std::string_view extension);

// Immutable. Any number of threads may use it, each with its own ParsedExample. BYTES point into the record, except
// that texts of JSON fields and the key are copies in FeatureValue::own.
class SampleParser {
 public:
  // Creates a parser. Returns InvalidArgument for a request without a kind, a sequence request, element_bytes with
  // numbers, a key that is none of the above, and "__key__" as a number. Returns InvalidArgument also for members of
  // pickled objects (pyd, pkl, pickle, pth, pt), because a reader of them must execute them. Two requests may name the
  // same key. Ignores options.format.
  static absl::StatusOr<SampleParser> Create(std::vector<FeatureRequest> requests, const ParserOptions& options = {});

  const std::vector<FeatureRequest>& requests() const { return requests_; }

  // Parses `record` into *out. Returns InvalidArgument, with the key if there is one, if the record is malformed, two
  // members have the same extension, or a value has another kind than requested. Returns ResourceExhausted if the
  // values exceed the limit. After an error, *out is unspecified. Members without a request are not parsed.
  absl::Status Parse(std::string_view record, ParsedExample* out) const;

 private:
  // An extension that requests name.
  struct Member {
    std::string extension;
    JsonFields fields;
  };
  struct Alternative {
    size_t member = 0;                 // index in members_
    std::optional<size_t> json_field;  // number in the member's fields
  };
  // The members of one record, and the JSON fields read so far.
  struct Sample;

  SampleParser(std::vector<FeatureRequest> requests, const ParserOptions& options)
      : requests_(std::move(requests)), options_(options) {}

  // Returns the index in members_ of the member with this extension. Adds it if it is new.
  size_t MemberIndex(std::string extension);
  absl::StatusOr<Alternative> ParseAlternative(const FeatureRequest& request, SampleKeyPart part);
  absl::Status ParseRequest(size_t request, Sample* sample, FeatureValue* out) const;
  absl::Status ParseJsonField(const FeatureRequest& request, const Alternative& alternative, Sample* sample,
                              FeatureValue* out) const;

  std::vector<FeatureRequest> requests_;
  ParserOptions options_;
  std::vector<Member> members_;
  std::vector<std::vector<Alternative>> alternatives_;  // by request; empty for "__key__"
};

// Returns the members of a record in the order of their extensions, for display. A member npy of numbers has the kind
// and number of its elements. A member that webdataset decodes as an integer (cls, cls2, class, count, index, inx, id)
// is INT64 if its content is one. All others are BYTES. Returns InvalidArgument for a malformed record and for two
// members with one extension.
absl::StatusOr<std::vector<FeatureInfo>> ListMembers(std::string_view record);

// Returns the key of a record: folder and name of its members, up to the first dot.
absl::StatusOr<std::string> KeyOfSample(std::string_view record);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_SAMPLE_PARSER_H_
