// Storage of data sets: opens, stats, lists, reads and writes files, local or remote.
#ifndef PENSTOCK_PIPELINE_STORAGE_STORAGE_H_
#define PENSTOCK_PIPELINE_STORAGE_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "pipeline/storage/new_file.h"

namespace penstock::storage {

class FileErrors;

// Order in which queued calls run.
enum class CallPriority : uint8_t {
  kUrgent,  // a row or a caller is blocked on it
  kNormal,
  kAhead,  // the result will be needed later
};

struct CallOptions {
  CallPriority priority = CallPriority::kNormal;
  // A call that has not begun when a stop is requested ends with Cancelled. A call that has begun may end with
  // Cancelled too. It does so if it may take long, as requests for objects do.
  std::stop_token stop = {};
  // Makes a read from remote storage use a new connection instead of a kept one.
  bool new_connection = false;
  // For Open() of an object: receives the errors of Open() and of all reads of the file that are retried a second or
  // more after the call began, and reports of silence. Null: errors are not recorded. Shared, because a try may end
  // after its caller is gone.
  std::shared_ptr<FileErrors> file_errors = nullptr;
  // For Open() of a local file: PermissionDenied if the name has a symbolic link in it.
  bool without_links = false;
  // For Open(): the state of the file in a listing. A storage of objects then makes no request. The file is open in
  // this state, or the call or its reads end with Aborted.
  std::optional<FileInfo> listed = std::nullopt;
};

// Receives the result of a call, once. The codes are the same for all storages, and messages name the file:
//   NotFound             the file does not exist
//   PermissionDenied     the storage denies access
//   InvalidArgument      the name is a folder or nothing readable
//   Aborted              the file's state differs from the opened one: open it again
//   Cancelled            a stop was requested
//   Unavailable, others  the call failed this time and a retry may help. The storage has made the retries
//                        that are cheap
template <typename T>
using CallDone = absl::AnyInvocable<void(absl::StatusOr<T>) &&>;

// A file, open for reads of one state of it. Thread-safe, with any number of concurrent reads. ReadAt() (of
// RandomAccessFile) is the blocking form of Read(), but does not notice that a local file changed: the caller compares
// Info() with opened(). Info() returns the current state of a local file. For an object it returns opened() and makes
// no request.
class StoredFile : public RandomAccessFile {
 public:
  // Returns the state in which the file was opened.
  virtual const FileInfo& opened() const = 0;

  // Reads up to `length` bytes at `offset` into `out`, which must stay valid until `done` is called. Reads fewer bytes
  // only at the end of the file. Never blocks. `done` may run inside this call or on a thread of the storage, and must
  // be short. The file may be destroyed before `done` is called. A storage of objects limits the time of a read. A
  // mounted file system may hang.
  virtual void Read(uint64_t offset, size_t length, char* out, const CallOptions& options,
                    CallDone<size_t> done) const = 0;
  // Does the same, but scatters the range over `parts`, in order. The default implementation reads into a buffer of its
  // own and copies.
  virtual void ReadParts(uint64_t offset, std::vector<ReadPart> parts, const CallOptions& options,
                         CallDone<size_t> done) const;
};

// An entry of a folder. A listing of a local folder does not follow links: a link has the kind kOther.
struct StoredEntry {
  enum class Kind : uint8_t { kFile, kFolder, kOther };
  std::string name;  // name within the folder
  Kind kind = Kind::kFile;
  std::optional<FileInfo> info = {};  // for files, if the listing includes it at no cost

  bool operator==(const StoredEntry&) const = default;
};

// Target of a name, with links followed.
struct StoredName {
  StoredEntry::Kind kind = StoredEntry::Kind::kFile;
  FileInfo info;         // only for files
  std::string resolved;  // resolved name, the same for all names of one file
};

// Thread-safe. Names are absolute paths or URLs. A storage must outlive its files. Its destructor blocks until all
// calls in flight have ended.
class Storage {
 public:
  virtual ~Storage() = default;

  // Returns whether the name, which may be relative here, is a path of this machine. Files of this machine have links,
  // locks and renames. All other names are URLs.
  virtual bool IsLocal(const std::string& name) const = 0;
  // Returns the schemes of the URLs, such as "s3".
  virtual std::vector<std::string> Schemes() const = 0;
  // Returns whether names of this form have folders that can be listed. A web server has none.
  virtual bool HasFolders(const std::string& name) const = 0;
  // Returns InvalidArgument if no file can have the name. Globs are names too.
  virtual absl::Status CheckName(const std::string& name) const = 0;
  // Returns InvalidArgument if no new files can be written into the folder, whose name is valid.
  virtual absl::Status CheckOutput(const std::string& folder) const = 0;

  // Returns whether blocking calls for `name` normally take no longer than a read from the page cache. Then a row's
  // thread makes them itself, because a handover would cost more. A storage behind a network returns false. The result
  // is the same for all names below one root of a data set. It may change from call to call. Rows in flight are correct
  // with either result.
  virtual bool HasLowLatency(const std::string& name) const = 0;

  // These calls never wait for the storage. `done` may run inside the call, as for StoredFile::Read().
  virtual void Open(const std::string& name, const CallOptions& options,
                    CallDone<std::unique_ptr<StoredFile>> done) = 0;
  virtual void Stat(const std::string& name, const CallOptions& options, CallDone<StoredName> done) = 0;
  // Lists the entries of a folder, in no order. If the folder does not exist, the result is NotFound for local folders,
  // and an empty list for URLs of an existing bucket. Unimplemented: the storage cannot list.
  virtual void List(const std::string& folder, const CallOptions& options, CallDone<std::vector<StoredEntry>> done) = 0;

  // Blocking forms. Must not be called on a storage's own threads.
  virtual absl::StatusOr<std::unique_ptr<StoredFile>> OpenAndWait(const std::string& name,
                                                                  const CallOptions& options = {});
  virtual absl::StatusOr<StoredName> StatAndWait(const std::string& name, const CallOptions& options = {});
  virtual absl::StatusOr<std::vector<StoredEntry>> ListAndWait(const std::string& folder,
                                                               const CallOptions& options = {});

  // The calls that write block, too.
  //
  // Creates a file. NotFound: a local folder does not exist. InvalidArgument: an invalid name, or a read-only storage.
  virtual absl::StatusOr<std::unique_ptr<NewFile>> Create(const std::string& name) = 0;
  // Creates or replaces the file atomically. Returns the tag of its new state, or "" if the state has none. Aborted:
  // `condition` does not hold.
  virtual absl::StatusOr<std::string> Put(const std::string& name, const std::string& content,
                                          const WriteCondition& condition = {}) = 0;
  // Removes the file. OK if it does not exist. Aborted: `condition` does not hold. If the file does not exist and the
  // condition has a tag, either result is correct.
  virtual absl::Status Remove(const std::string& name, const WriteCondition& condition = {}) = 0;
  // Removes temporary files, or parts of uploads, that killed writers have left in the folder. Also removes those of
  // running writers, so the caller must own the folder.
  virtual absl::Status RemoveUnfinished(const std::string& folder) = 0;
};

// Returns the whole content. Blocks. NotFound: there is no such file. ResourceExhausted: it has more than `most` bytes.
absl::StatusOr<std::string> ReadContent(Storage* storage, const std::string& name, uint64_t most);

// Makes a call and blocks until it ends. `start` receives the `done` to pass to the call.
template <typename T, typename Start>
absl::StatusOr<T> WaitForCall(Start start);

}  // namespace penstock::storage

#include "pipeline/storage/storage_wait.h"  // IWYU pragma: export

#endif  // PENSTOCK_PIPELINE_STORAGE_STORAGE_H_
