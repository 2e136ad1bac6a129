// Objects behind URLs as files: S3 and compatible storages, Google Cloud Storage, Azure Blob Storage, web servers.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_STORAGE_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_STORAGE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "pipeline/storage/object/common/environment.h"
#include "pipeline/storage/object/common/hedge_policy.h"
#include "pipeline/storage/object/common/http_client.h"
#include "pipeline/storage/object/common/object_dialect.h"
#include "pipeline/storage/object/common/object_name.h"
#include "pipeline/storage/object/common/object_service.h"
#include "pipeline/storage/object/common/object_uploads.h"
#include "pipeline/storage/object/common/request_counts.h"
#include "pipeline/storage/object/gcs/gcs_dialect.h"
#include "pipeline/storage/object/s3/s3_dialect.h"
#include "pipeline/storage/storage.h"

namespace penstock::storage {

// Requests of a storage since its construction.
struct ObjectCounts {
  uint64_t requests = 0;  // including retries and hedges
  uint64_t again = 0;     // retries
  uint64_t hedges = 0;    // second requests because the first was late
  uint64_t bytes = 0;     // bytes of objects that were read
};

// One scheme of a storage.
struct ObjectSchemeCounts {
  std::string scheme;
  RequestCounts::Sums requests;  // with retries, without hedges
  int64_t credentials_end = 0;   // end of the credentials in use, in seconds since 1970; 0: none of them ends
};

// Thread-safe. Retries requests after errors that may pass, at most Options::tries tries. No such try begins later than
// kPatience after the call. A renewed key, region or clock allows up to 3 more tries at once. Pauses are random. Their
// upper limit doubles with each try, to at most 5 s. A pause is never shorter than the Retry-After of the storage's
// answer. Sends a late read a second time (hedge_policy.h). A stop ends a request at once, but not a fetch of keys.
// Messages name the object, never a secret. A call may first read a local file of keys.
//
// A folder is any prefix of a key that ends before a '/'. A state's tag is the generation, the ETag, or the time of the
// last change of a server without ETags. If an object and a folder have one name, the name is the object.
class ObjectStorage final : public Storage {
 public:
  static constexpr int kTries = 6;
  static constexpr Nanos kPatience = 30 * kSecond;
  static constexpr int kMostUnderWay = 256;           // concurrent requests
  static constexpr size_t kMostEntries = 10'000'000;  // in one folder

  struct Options {
    S3Options s3;
    GcsOptions gcs;
    Environment environment;  // where keys, Azure's account and the authorization for web servers are looked up
    // Base of the pauses, which grow by powers of two. Tests shorten it.
    Nanos pause = 100 * kMillisecond;
    int tries = kTries;
    Clock* clock = Clock::Real();         // of pauses, patience, late requests and silence
    HedgePolicy::Options hedges = {};     // for reads
    size_t part_bytes = size_t{8} << 20;  // of uploads. S3 requires at least 5 MiB, Google multiples of 256 KiB.
    int parts_under_way = 4;              // concurrent parts of an upload. Each is in memory twice while it is sent.

    // Reads the variables of S3Options and GcsOptions. `environment` is that of the process.
    static Options FromEnvironment();
  };
  explicit ObjectStorage(Options options);
  ~ObjectStorage() override;

  bool IsLocal(const std::string& name) const override { return false; }
  bool HasFolders(const std::string& name) const override { return !absl::StartsWith(name, "http"); }
  std::vector<std::string> Schemes() const override { return ObjectSchemes(); }
  absl::Status CheckName(const std::string& name) const override { return ParseObjectName(name).status(); }
  absl::Status CheckOutput(const std::string& folder) const override;
  bool HasLowLatency(const std::string& name) const override { return false; }
  void Open(const std::string& name, const CallOptions& options, CallDone<std::unique_ptr<StoredFile>> done) override;
  void Stat(const std::string& name, const CallOptions& options, CallDone<StoredName> done) override;
  void List(const std::string& folder, const CallOptions& options, CallDone<std::vector<StoredEntry>> done) override;

  // Defined in object_writer.cc. Failed requests are retried as reads are. A file that is destroyed before Commit()
  // removes its parts, if the service can. RemoveUnfinished() aborts the uploads into the folder. It does
  // nothing if the service lists no uploads; only S3 lists them.
  absl::StatusOr<std::unique_ptr<NewFile>> Create(const std::string& name) override;
  absl::StatusOr<std::string> Put(const std::string& name, const std::string& content,
                                  const WriteCondition& condition = {}) override;
  absl::Status Remove(const std::string& name, const WriteCondition& condition = {}) override;
  absl::Status RemoveUnfinished(const std::string& folder) override;

  // Returns the uploads of the service of `name`, or null if the service cannot be written. Used by object_writer.cc.
  ObjectUploads* UploadsOf(const ObjectName& name) const { return ServiceOf(name).uploads(); }
  // Sends a request for `name` with retries. `make` makes the request of each try. `check` checks a success response
  // (Unavailable: retry) and may be empty.
  using Make = std::function<absl::StatusOr<HttpRequest>()>;
  using Check = std::function<absl::Status(const HttpResponse&)>;
  void Ask(const ObjectName& name, const CallOptions& options, Make make, Check check, CallDone<HttpResponse> done);

  ObjectCounts counts() const;
  // Returns the schemes that had a request.
  std::vector<ObjectSchemeCounts> scheme_counts() const;
  // Returns the earliest end of the credentials in use, in seconds since 1970. 0: none of them ends.
  int64_t credentials_end() const;

 private:
  class Exchange;
  class File;
  struct Listing;

  ObjectService& ServiceOf(const ObjectName& name) const;
  ObjectDialect* DialectOf(const ObjectName& name) const { return ServiceOf(name).dialect(); }
  // Fetches the state of the object. NotFound: there is no such object.
  void Look(const ObjectName& name, const CallOptions& options, CallDone<FileInfo> done);
  // Reads `length` bytes, which must exist and fit `parts`.
  void Read(const ObjectName& name, const FileInfo& opened, uint64_t offset, std::vector<ReadPart> parts, size_t length,
            const CallOptions& options, CallDone<size_t> done);
  void NextPage(std::shared_ptr<Listing> listing);

  const Options options_;
  std::atomic<uint64_t> requests_{0}, again_{0}, bytes_{0};
  std::array<RequestCounts, kObjectSchemes> request_counts_;             // by scheme
  std::array<std::unique_ptr<ObjectService>, kObjectSchemes> services_;  // by scheme
  std::unique_ptr<HttpClient> http_;  // destroyed first: ends the requests that use the others
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_STORAGE_H_
