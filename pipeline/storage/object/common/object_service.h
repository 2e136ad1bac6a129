// A service of object storage: how it is read, and how it is written.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_OBJECT_SERVICE_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_OBJECT_SERVICE_H_

#include <cstdint>

#include "pipeline/storage/object/common/object_dialect.h"
#include "pipeline/storage/object/common/object_uploads.h"

namespace penstock::storage {

// Thread-safe. Owns its dialects and the sources of their keys. Must outlive the requests that its dialects made.
class ObjectService {
 public:
  virtual ~ObjectService() = default;

  virtual ObjectDialect* dialect() = 0;
  // Returns null if the service cannot be written.
  virtual ObjectUploads* uploads() { return nullptr; }
  // Kills the programs that run for keys, and runs no further ones. Calls that need their keys fail. Returns when no
  // program's answer is being processed. Called once, before the client of the requests ends.
  virtual void StopPrograms() {}
  // Returns the end of the credentials in use, in seconds since 1970. 0: they never end, or none are in use.
  virtual int64_t credentials_end() { return 0; }
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_OBJECT_SERVICE_H_
