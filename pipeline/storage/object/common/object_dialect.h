// The protocol of one kind of object storage. Pure: a dialect makes requests and reads answers, and other code sends
// them.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_OBJECT_DIALECT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_OBJECT_DIALECT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "pipeline/storage/object/common/http_client.h"
#include "pipeline/storage/object/common/object_name.h"

namespace penstock::storage {

// An object or a folder in a listing.
struct ListedObject {
  std::string name;  // name within the folder
  bool folder = false;
  FileInfo info;  // only for objects
};

struct ObjectPage {
  std::vector<ListedObject> objects;
  std::string next;  // token of the next page; empty after the last
};

// The reaction to an error response.
struct ObjectError {
  enum class Cure : uint8_t {
    kNone,
    kAgain,    // send the same request later
    kRenewed,  // retry at once, because the dialect has learned a clock or a region, or dropped its keys
  };
  absl::Status status;  // names the object
  Cure cure = Cure::kNone;
  Nanos after = 0;  // for kAgain: minimum pause that the storage requested
};

// Thread-safe.
class ObjectDialect {
 public:
  virtual ~ObjectDialect() = default;

  // Fetches prerequisites of requests, such as keys from a service. `done` runs once, possibly inside the call.
  // PermissionDenied or Unavailable if they cannot be fetched.
  virtual void Prepare(const ObjectName& name, CallDone<bool> done) { std::move(done)(true); }

  // Returns a request for the state of the object.
  virtual HttpRequest Head(const ObjectName& name) = 0;
  // Returns a request for `length` bytes at `offset`, only of the state `state` if the storage supports that.
  virtual HttpRequest Range(const ObjectName& name, const FileInfo& state, uint64_t offset, uint64_t length) = 0;
  // Returns whether this kind can list.
  virtual bool lists() const { return true; }
  // Returns a request for at most `most` entries of the folder `name`, whose key has no trailing '/'. `page` is the
  // token of the page; "": the first. Unimplemented if lists() returns false.
  virtual absl::StatusOr<HttpRequest> List(const ObjectName& name, const std::string& page, size_t most) = 0;

  // Returns the state in a response to Head() or Range(). InvalidArgument or Unavailable: the response has no size.
  // NotFound: the response is for a folder.
  virtual absl::StatusOr<FileInfo> StateOf(const ObjectName& name, const HttpResponse& response) = 0;
  // Returns the entries in a response to List().
  virtual absl::StatusOr<ObjectPage> PageOf(const ObjectName& name, const HttpResponse& response) = 0;
  // Interprets a response whose status is not 2xx.
  virtual ObjectError ErrorOf(const ObjectName& name, const HttpResponse& response) = 0;
};

// Returns "GET", "PUT", ...
const char* NameOf(HttpRequest::Method method);

// Returns the result of Prepare() after an attempt to fetch keys or a token ended with `status`. NotFound becomes
// PermissionDenied, because missing keys must not look like a missing object.
absl::StatusOr<bool> Prepared(const ObjectName& name, const absl::Status& status);

// Interprets status codes that mean the same in all HTTP. `why` is the reason in the body, if known.
ObjectError HttpError(const ObjectName& name, const HttpResponse& response, const std::string& why);

// Returns the value of a header, or "" if it is missing. `name` is in lower case.
std::string HeaderOf(const HttpResponse& response, const std::string& name);

// Returns the size and tag from headers that all kinds share: the total in content-range (or else content-length), and
// etag (or else last-modified). InvalidArgument: there is no size.
absl::StatusOr<FileInfo> StateOfHeaders(const ObjectName& name, const HttpResponse& response);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_OBJECT_DIALECT_H_
