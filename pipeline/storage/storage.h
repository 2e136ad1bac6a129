// Where data sets lie: files to open, stat, list and read, wherever they are.
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

namespace penstock {

class FileTroubles;

// Which of the calls that wait for their turn goes first.
enum class CallPriority : uint8_t {
  kUrgent,  // somebody waits for it
  kNormal,
  kAhead,  // it will be wanted later
};

struct CallOptions {
  CallPriority priority = CallPriority::kNormal;
  // A call that has not begun when a stop is requested ends with Cancelled; one that has begun may end so,
  // and does where it would take long (objects).
  std::stop_token stop = {};
  // Of Open(): told of what fails for a second and longer and is tried again, while the file is opened and in all of
  // its reads, so that it is known before a call ends with it. Null: nobody.
  std::shared_ptr<FileTroubles> troubles = nullptr;  // shared: a try that nobody waits for any more may end late
};

// What every call ends with, once. By code, the same for all storages; messages name the file:
//   NotFound            there is no such file
//   PermissionDenied    the storage does not let us
//   InvalidArgument     it is a folder, or nothing that can be read
//   Aborted             the file is in another state than when it was opened: open it again
//   Cancelled           a stop was requested
//   Unavailable, others  it failed this time; trying again may help. A storage has tried again itself
//                        where that is cheap
template <typename T>
using CallDone = absl::AnyInvocable<void(absl::StatusOr<T>) &&>;

// A file, open for reads of one state of it. Thread-safe; any number of reads at once. ReadAt() (of RandomAccessFile)
// is the form of Read() that waits. Info() is the state that the storage last told of: of a local file as it is now,
// of an object as the last answer had it; no request is made for it.
class StoredFile : public RandomAccessFile {
 public:
  // The state that it was opened in.
  virtual const FileInfo& opened() const = 0;

  // Reads up to `length` bytes at `offset` into `out`, which stays until `done` was called: fewer bytes only at the
  // end of the file. Never blocks; `done` may run inside this call, or on a thread of the storage, and is short.
  virtual void Read(uint64_t offset, size_t length, char* out, const CallOptions& options,
                    CallDone<size_t> done) const = 0;
  // The same, one part behind the other in one read. Where a storage knows no better, through memory of its own.
  virtual void ReadParts(uint64_t offset, std::vector<ReadPart> parts, const CallOptions& options,
                         CallDone<size_t> done) const;
};

// An entry of a folder.
struct StoredEntry {
  enum class Kind : uint8_t { kFile, kFolder, kOther };
  std::string name;  // in its folder
  Kind kind = Kind::kFile;
  std::optional<FileInfo> info = {};  // of a file, where the listing says it for nothing

  bool operator==(const StoredEntry&) const = default;
};

// What a name stands for, links followed.
struct StoredName {
  StoredEntry::Kind kind = StoredEntry::Kind::kFile;
  FileInfo info;         // of a file
  std::string resolved;  // the name that it leads to, the same for all names of one file
};

// Thread-safe. Names are absolute. Outlives its files and what it was asked for: a storage that goes waits until what
// it has begun has ended.
class Storage {
 public:
  virtual ~Storage() = default;

  // Whether the calls that wait take no longer for a name, when all is well, than a page cache does: then a row's
  // thread makes them itself, since handing them over would cost more. A storage behind a network says no. The same for
  // all names below one root of a data set. May change from call to call; either way is right for rows that are under
  // way.
  virtual bool AnswersAtOnce(const std::string& name) const = 0;

  // None of these blocks; as of StoredFile::Read, `done` may run inside the call.
  virtual void Open(const std::string& name, const CallOptions& options,
                    CallDone<std::unique_ptr<StoredFile>> done) = 0;
  virtual void Stat(const std::string& name, const CallOptions& options, CallDone<StoredName> done) = 0;
  // The folder's entries, in no order.
  virtual void List(const std::string& folder, const CallOptions& options, CallDone<std::vector<StoredEntry>> done) = 0;

  // The same, waiting for the end; not from a storage's own threads.
  virtual absl::StatusOr<std::unique_ptr<StoredFile>> OpenAndWait(const std::string& name,
                                                                  const CallOptions& options = {});
  virtual absl::StatusOr<StoredName> StatAndWait(const std::string& name, const CallOptions& options = {});
  virtual absl::StatusOr<std::vector<StoredEntry>> ListAndWait(const std::string& folder,
                                                               const CallOptions& options = {});
};

// Makes a call and waits for its end: `start` gets the `done` to hand on.
template <typename T, typename Start>
absl::StatusOr<T> WaitForCall(Start start);

}  // namespace penstock

#include "pipeline/storage/storage_wait.h"  // IWYU pragma: export

#endif  // PENSTOCK_PIPELINE_STORAGE_STORAGE_H_
