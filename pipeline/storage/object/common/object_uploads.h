// The protocol of writes to one kind of object storage. Pure, as ObjectDialect is: a function that returns an
// HttpRequest does not send it. Prepare() and ErrorOf() of the dialect apply here too.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_OBJECT_UPLOADS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_OBJECT_UPLOADS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/storage/new_file.h"
#include "pipeline/storage/object/common/http_client.h"
#include "pipeline/storage/object/common/object_name.h"

namespace penstock::storage {

struct UploadPart {
  size_t number = 0;  // from 0
  uint64_t offset = 0;
  uint64_t size = 0;
  bool last = false;
};

// An upload that was begun and is not complete.
struct PendingUpload {
  ObjectName name;
  std::string id;
};

// Thread-safe.
class ObjectUploads {
 public:
  virtual ~ObjectUploads() = default;

  // Returns a request that writes the whole object.
  virtual HttpRequest Put(const ObjectName& name, std::string body, const WriteCondition& condition) = 0;
  virtual HttpRequest Remove(const ObjectName& name, const WriteCondition& condition) = 0;
  // Returns the tag of the new state in a response to Put(); empty if it has none.
  virtual std::string TagOf(const HttpResponse& response) = 0;

  // Returns whether a part may be sent only after the response to the part before it. All parts of an upload except the
  // last have the same size.
  virtual bool in_order() const { return false; }
  virtual size_t most_parts() const { return 10'000; }
  // Returns false if an upload needs no request to begin. IdOf() then ignores the response.
  virtual bool begins() const { return true; }
  virtual HttpRequest Begin(const ObjectName& name, const WriteCondition& condition) = 0;
  // Returns the upload's id in the response. It may be secret.
  virtual absl::StatusOr<std::string> IdOf(const ObjectName& name, const HttpResponse& response) = 0;
  virtual HttpRequest Send(const ObjectName& name, const std::string& id, const UploadPart& part, std::string body) = 0;
  // Returns the part's id in the response. Unavailable: the storage stored only some of its bytes, or named no id.
  virtual absl::StatusOr<std::string> PartOf(const ObjectName& name, const UploadPart& part,
                                             const HttpResponse& response) = 0;
  // Returns a request that completes the upload, or nullopt if the last part has completed it. `parts` are the results
  // of PartOf(), by number.
  virtual std::optional<HttpRequest> Complete(const ObjectName& name, const std::string& id,
                                              const std::vector<std::string>& parts,
                                              const WriteCondition& condition) = 0;
  // Returns the error in the body of a success response to Complete(). Unavailable: a retry may help.
  virtual absl::Status CheckComplete(const ObjectName& name, const HttpResponse& response) { return absl::OkStatus(); }
  // Returns a request that removes the parts, or nullopt if the storage itself removes them.
  virtual std::optional<HttpRequest> Abort(const ObjectName& name, const std::string& id) { return std::nullopt; }

  // Returns a request for a list of the incomplete uploads into a folder, or nullopt if the storage cannot list them.
  virtual std::optional<HttpRequest> ListPending(const ObjectName& folder) { return std::nullopt; }
  // Returns the uploads in a response to ListPending().
  virtual std::vector<PendingUpload> PendingOf(const ObjectName& folder, const HttpResponse& response) { return {}; }
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_OBJECT_UPLOADS_H_
