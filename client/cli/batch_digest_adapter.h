// The digest of the client library's batches. It equals that of in-process batches (pipeline/batch/batch_digest.h).
#ifndef PENSTOCK_CLIENT_CLI_BATCH_DIGEST_ADAPTER_H_
#define PENSTOCK_CLIENT_CLI_BATCH_DIGEST_ADAPTER_H_

#include <string>

#include "penstock/batch.h"
#include "pipeline/batch/batch_digest.h"

namespace penstock::cli {

class DigestOfBatches {
 public:
  void Add(const Batch& batch);
  std::string Hex() const { return digest_.Hex(); }

 private:
  batch::BatchDigest digest_;
};

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_BATCH_DIGEST_ADAPTER_H_
