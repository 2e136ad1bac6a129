// The messages of a job file with the comments of their .proto files.
#ifndef PENSTOCK_CLIENT_CLI_JOB_DESCRIPTORS_H_
#define PENSTOCK_CLIENT_CLI_JOB_DESCRIPTORS_H_

#include <google/protobuf/descriptor.h>

#include <string>

namespace penstock::cli {

// The package of these messages, with the final dot.
inline constexpr char kJobPackage[] = "penstock.v1.";

// Returns a pool with JobSpec and all messages that it can contain. Lives until the process exits.
const google::protobuf::DescriptorPool& JobDescriptorPool();

// Returns the comments of a declaration, before and after it, as one line.
std::string CommentText(const google::protobuf::SourceLocation& location);

// Returns the comments of a message, a field, an enum or a value. Ignores comments that an empty line separates from
// it.
template <typename Descriptor>
std::string CommentOf(const Descriptor& descriptor) {
  google::protobuf::SourceLocation location;
  return descriptor.GetSourceLocation(&location) ? CommentText(location) : "";
}

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_JOB_DESCRIPTORS_H_
