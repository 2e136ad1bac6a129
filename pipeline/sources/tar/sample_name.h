// Names of the members of WebDataset archives. The rules are those of the webdataset package
// (webdataset/tariterators.py): consecutive members whose names are equal up to the first dot after the folder are one
// sample.
#ifndef PENSTOCK_PIPELINE_SOURCES_TAR_SAMPLE_NAME_H_
#define PENSTOCK_PIPELINE_SOURCES_TAR_SAMPLE_NAME_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace penstock::sources {

struct SampleName {
  // Folder and name up to the first dot: "train/0001" of "train/0001.left.jpg". Part of the parsed name.
  std::string_view key;
  // The rest after that dot, with A to Z in lower case: "left.jpg". May be empty.
  std::string extension;
};

// Returns the parts of a member's name, or nullopt if the member belongs to no sample. Such a member has a name without
// a key or without a dot after its folder, or is metadata, such as "__index__/sizes.txt". Unlike webdataset, it changes
// only ASCII letters to lower case.
std::optional<SampleName> ParseSampleName(std::string_view member_name);

// Calls visit(name, data) for each file with a sample name in a sample, in the order of the archive. `span` is the
// sample's bytes in the archive: from its first header to the end of the padding of its last member. Skips the other
// members in the span (links, folders, metadata). Stops at the first error of `visit` and returns the error. Returns
// InvalidArgument, with the offset in the span, if the span is cut off, malformed, or has members of two samples. Safe
// for untrusted bytes. `data` is a part of `span`.
absl::Status ForEachSampleMember(std::string_view span,
                                 absl::FunctionRef<absl::Status(const SampleName& name, std::string_view data)> visit);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_TAR_SAMPLE_NAME_H_
