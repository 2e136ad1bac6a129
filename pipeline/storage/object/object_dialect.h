// How one kind of object storage is asked, and what its answers mean. Pure: requests are made and answers read here,
// sent elsewhere.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_DIALECT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_DIALECT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "pipeline/storage/object/http_client.h"
#include "pipeline/storage/object/object_name.h"

namespace penstock {

// An object or a folder that a listing has.
struct ListedObject {
  std::string name;  // in its folder
  bool folder = false;
  FileInfo info;  // of an object
};

struct ObjectPage {
  std::vector<ListedObject> objects;
  std::string next;  // where the next page begins; empty: this was the last
};

// What to do about an answer that is no success.
struct ObjectError {
  enum class Cure : uint8_t {
    kNone,
    kAgain,    // the same request, later
    kRenewed,  // at once, with what the dialect has learnt from the answer: a clock, a region, newer keys
  };
  absl::Status status;  // names the object
  Cure cure = Cure::kNone;
  Nanos after = 0;  // of kAgain: the storage asked for at least so much
};

// Thread-safe.
class ObjectDialect {
 public:
  virtual ~ObjectDialect() = default;

  // What must be had before requests can be made (keys from a service), if anything: `done` runs once, perhaps inside
  // the call. PermissionDenied or Unavailable where it cannot be had.
  virtual void Prepare(const ObjectName& name, CallDone<bool> done) { std::move(done)(true); }

  virtual HttpRequest Head(const ObjectName& name) = 0;
  // `length` bytes at `offset`, of the state `state` alone where the storage can be asked so.
  virtual HttpRequest Range(const ObjectName& name, const FileInfo& state, uint64_t offset, uint64_t length) = 0;
  // Of the folder `name` (its key has no '/' at the end), `most` entries at most, from `page` on ("": the first).
  // Unimplemented: this kind cannot list.
  virtual absl::StatusOr<HttpRequest> List(const ObjectName& name, const std::string& page, size_t most) = 0;

  // The state that an answer to Head or Range tells of; size 0 where a range does not say it.
  virtual absl::StatusOr<FileInfo> StateOf(const ObjectName& name, const HttpResponse& response) = 0;
  virtual absl::StatusOr<ObjectPage> PageOf(const ObjectName& name, const HttpResponse& response) = 0;
  // Of an answer whose status is not 2xx.
  virtual ObjectError ErrorOf(const ObjectName& name, const HttpResponse& response) = 0;
};

// "GET", "PUT", ...
const char* NameOf(HttpRequest::Method method);

// Of any HTTP: what status codes mean. `why` is what the answer's body says, if that is known.
ObjectError HttpError(const ObjectName& name, const HttpResponse& response, const std::string& why);

// A header's value; empty where there is none.
std::string HeaderOf(const HttpResponse& response, const std::string& name);

// The size and tag in headers that all kinds have: content-length (or the whole of content-range), etag.
// InvalidArgument: there is no size.
absl::StatusOr<FileInfo> StateOfHeaders(const ObjectName& name, const HttpResponse& response);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_DIALECT_H_
