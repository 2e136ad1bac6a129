// The header Authorization for web servers.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_HTTP_AUTHORIZATION_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_HTTP_AUTHORIZATION_H_

#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "pipeline/storage/object/common/environment.h"

namespace penstock::storage {

// The value is that of the variable PENSTOCK_HTTP_AUTHORIZATION or, without it, the content of the file that
// PENSTOCK_HTTP_AUTHORIZATION_FILE names. Value() reads the file again after 10 s, so that a replaced file takes
// effect. Thread-safe.
class HttpAuthorization {
 public:
  // Reads the file, if there is one. `environment`: null functions mean that nothing is set. `clock` must outlive this
  // object.
  HttpAuthorization(Environment environment, Clock* clock);

  // Returns the value, such as "Bearer ...", or "" if there is none. If the file cannot be read again, or is not one
  // line of text, returns the last valid content. One caller reads the file, which may block; the others get the last
  // valid content meanwhile.
  std::string Value();
  // Returns why the last attempt gave no valid content; OK if it did.
  absl::Status fault() const;

 private:
  void Read();

  const Environment environment_;
  Clock* const clock_;
  const std::string path_;  // "": no file
  mutable Mutex mutex_;
  std::string value_ ABSL_GUARDED_BY(mutex_);
  absl::Status fault_ ABSL_GUARDED_BY(mutex_);
  Nanos read_again_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_HTTP_AUTHORIZATION_H_
