// How one kind of object storage takes objects, and what its answers mean. Pure, as ObjectDialect is, whose Prepare and
// ErrorOf go with it.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_UPLOADS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_UPLOADS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/storage/object/http_client.h"
#include "pipeline/storage/object/object_name.h"

namespace penstock {

// What must be so, or nothing is written or removed and the call ends with Aborted. Storages that do not know
// conditions do it all the same.
struct WriteCondition {
  bool is_new = false;   // there is no object of the name
  std::string tag = {};  // the one that is there is in this state; empty: in any
};

struct UploadPart {
  size_t number = 0;  // from 0 on
  uint64_t offset = 0;
  uint64_t size = 0;
  bool last = false;
};

// What was begun and is not complete.
struct PendingUpload {
  ObjectName name;
  std::string id;
};

// Thread-safe.
class ObjectUploads {
 public:
  virtual ~ObjectUploads() = default;

  // In one request.
  virtual HttpRequest Put(const ObjectName& name, std::string body, const WriteCondition& condition) = 0;
  virtual HttpRequest Remove(const ObjectName& name, const WriteCondition& condition) = 0;
  // The tag of the state that an answer to Put says; empty: it says none.
  virtual std::string TagOf(const HttpResponse& response) = 0;

  // In parts, of one size but for the last. Whether one is sent after the other.
  virtual bool in_order() const { return false; }
  virtual size_t most_parts() const { return 10'000; }
  // False: nothing need be begun, and IdOf makes the id of no answer.
  virtual bool begins() const { return true; }
  virtual HttpRequest Begin(const ObjectName& name, const WriteCondition& condition) = 0;
  // What the answer calls the upload. May be secret.
  virtual absl::StatusOr<std::string> IdOf(const ObjectName& name, const HttpResponse& response) = 0;
  virtual HttpRequest Send(const ObjectName& name, const std::string& id, const UploadPart& part, std::string body) = 0;
  // What the answer calls the part. Unavailable: not all of it was taken.
  virtual absl::StatusOr<std::string> PartOf(const ObjectName& name, const UploadPart& part,
                                             const HttpResponse& response) = 0;
  // None: the last part completed it.
  virtual std::optional<HttpRequest> Complete(const ObjectName& name, const std::string& id,
                                              const std::vector<std::string>& parts,
                                              const WriteCondition& condition) = 0;
  virtual absl::Status CheckComplete(const ObjectName& name, const HttpResponse& response) { return absl::OkStatus(); }
  // None: what was sent goes by itself.
  virtual std::optional<HttpRequest> Abort(const ObjectName& name, const std::string& id) { return std::nullopt; }

  // Uploads into a folder that were begun and are not complete; none: the storage does not list them.
  virtual std::optional<HttpRequest> ListPending(const ObjectName& folder) { return std::nullopt; }
  virtual std::vector<PendingUpload> PendingOf(const ObjectName& folder, const HttpResponse& response) { return {}; }
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_UPLOADS_H_
