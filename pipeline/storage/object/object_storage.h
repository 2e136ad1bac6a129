// Objects behind URLs as files: S3 and what speaks it, Google Cloud Storage, Azure Blob Storage, web servers.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_STORAGE_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_STORAGE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/storage/object/aws_keys.h"
#include "pipeline/storage/object/azure_tokens.h"
#include "pipeline/storage/object/gcs_dialect.h"
#include "pipeline/storage/object/google_tokens.h"
#include "pipeline/storage/object/http_client.h"
#include "pipeline/storage/object/object_dialect.h"
#include "pipeline/storage/object/object_uploads.h"
#include "pipeline/storage/object/s3_dialect.h"
#include "pipeline/storage/storage.h"

namespace penstock {

// What a storage has asked for, since it is there.
struct ObjectCounts {
  uint64_t requests = 0;  // tries and hedges included
  uint64_t again = 0;     // of them: because one before it failed
  uint64_t hedges = 0;    // of them: because one before it was late
  uint64_t bytes = 0;     // of objects
};

// Thread-safe. Requests that fail in a way that passes are made again, up to kTries times within kPatience, after
// growing pauses that are drawn by chance, or as long as the storage asks. A read that is late is asked for twice
// (hedge_policy.h). A stop ends what was asked for at once. Messages name the object, never a key.
//
// A folder is whatever stands before a '/' in some key. A state's tag is the ETag or the generation.
// Objects and folders of one name: the
// object.
class ObjectStorage final : public Storage {
 public:
  static constexpr int kTries = 6;
  static constexpr Nanos kPatience = 30 * kSecond;
  static constexpr int kMostUnderWay = 256;           // requests at once
  static constexpr size_t kMostEntries = 10'000'000;  // of one folder

  struct Options {
    S3Options s3;
    GcsOptions gcs;
    Surroundings surroundings;       // where keys, and Azure's account, are looked for
    std::string http_authorization;  // a header's value, for HTTPS; secret
    // Pauses are these times a power of two; tests make them short.
    Nanos pause = 100 * kMillisecond;
    int tries = kTries;
    HedgePolicy::Options hedges = {};  // of reads

    // PENSTOCK_HTTP_AUTHORIZATION, and what S3Options, GcsOptions and the sources of keys name.
    static Options FromEnvironment();
  };
  explicit ObjectStorage(Options options);
  ~ObjectStorage() override;

  bool AnswersAtOnce(const std::string& name) const override { return false; }
  void Open(const std::string& name, const CallOptions& options, CallDone<std::unique_ptr<StoredFile>> done) override;
  void Stat(const std::string& name, const CallOptions& options, CallDone<StoredName> done) override;
  void List(const std::string& folder, const CallOptions& options, CallDone<std::vector<StoredEntry>> done) override;

  // An object in a state that is known, as from a listing; nothing is asked. `name` as List and Stat have it.
  std::unique_ptr<StoredFile> FileOf(const std::string& name, FileInfo state);

  // How objects are written where `name` is; null: not at all, as behind plain HTTP. (object_writer.h does.)
  ObjectUploads* UploadsOf(const ObjectName& name) const;
  // A question about `name`, asked until it is answered: `make` makes the request of each try, `check` says whether an
  // answer is one (Unavailable: ask again) and may be empty.
  using Make = std::function<absl::StatusOr<HttpRequest>()>;
  using Check = std::function<absl::Status(const HttpResponse&)>;
  void Ask(const ObjectName& name, const CallOptions& options, Make make, Check check, CallDone<HttpResponse> done);

  ObjectCounts counts() const;

 private:
  class Exchange;
  class File;
  struct Listing;

  ObjectDialect* DialectOf(const ObjectName& name) const;
  // The state of the object, or NotFound.
  void Look(const ObjectName& name, const CallOptions& options, CallDone<FileInfo> done);
  // `length` bytes, which are there and which `parts` have room for.
  void Read(const ObjectName& name, const FileInfo& opened, uint64_t offset, std::vector<ReadPart> parts, size_t length,
            const CallOptions& options, CallDone<size_t> done);
  void NextPage(std::shared_ptr<Listing> listing);

  const Options options_;
  std::atomic<uint64_t> requests_{0}, again_{0}, bytes_{0};
  std::unique_ptr<AwsKeySource> keys_;
  std::unique_ptr<GoogleTokens> google_;
  std::unique_ptr<AzureTokens> azure_tokens_;
  std::unique_ptr<ObjectDialect> s3_, gcs_, azure_, plain_;
  std::unique_ptr<ObjectUploads> to_s3_, to_gcs_, to_azure_;
  std::unique_ptr<HttpClient> http_;  // goes first: ends what uses the others
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_STORAGE_H_
