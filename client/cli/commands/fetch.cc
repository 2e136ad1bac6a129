#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <list>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "pipeline/storage/run_calls.h"
#include "pipeline/storage/storage.h"

namespace penstock::cli {
namespace {

constexpr size_t kPieceBytes = size_t{8} << 20;
constexpr size_t kPiecesAtOnce = 4;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // limit of a request
constexpr size_t kMostOpen = 4;

struct Range {
  uint64_t offset = 0, length = 0;
};

std::string KindName(storage::StoredEntry::Kind kind) {
  switch (kind) {
    case storage::StoredEntry::Kind::kFile:
      return "file";
    case storage::StoredEntry::Kind::kFolder:
      return "folder";
    case storage::StoredEntry::Kind::kOther:
      break;
  }
  return "other";
}

// A state has no spaces: it is a time, or a tag as in RFC 9110, section 8.8.3.
constexpr char kNoState[] = "-";
std::string StateOf(const FileInfo& info) {
  if (!info.tag.empty()) return info.tag;
  return info.mtime_ns == 0 ? kNoState : absl::StrCat(info.mtime_ns);
}

Json FieldsOf(const FileInfo& info) { return Json().Field("size", info.size).Field("state", StateOf(info)); }

class Fetch final : public Command {
 public:
  explicit Fetch(storage::Storage* storage) : storage_(storage) {}

  std::string name() const override { return "fetch"; }
  std::string arguments() const override { return "< REQUESTS"; }
  std::string summary() const override { return "list and read files on any storage for another program"; }
  std::string description() const override {
    return "Answers requests, which are lines of the standard input, until the input ends. Python's penstock.convert\n"
           "runs this for sources in a bucket.\n\n"
           "  stat NAME                  {\"kind\", \"size\", \"state\"}; the state changes with the content\n"
           "  list FOLDER                {\"entries\": [{\"name\", \"kind\"} ...]}, with size and state if the storage "
           "lists them\n"
           "  read OFFSET LENGTH SIZE STATE NAME    the bytes; an error if the file has another size or state\n\n"
           "An answer is u8 0, u64 length, and a body of that length; or u8 1, u64 length, and {\"code\", "
           "\"message\"}.\n"
           "Numbers are little-endian.";
  }
  void AddFlags(config::Flags*) override {}

  absl::Status Run(const std::vector<std::string>& arguments) override {
    if (!arguments.empty()) return UsageError(absl::StrCat("unexpected argument: ", arguments[0]));
    std::string line;
    while (std::getline(std::cin, line)) {
      absl::StatusOr<std::string> answer = Answer(line);
      const bool failed = !answer.ok();
      if (failed) {
        answer = Json()
                     .Field("code", absl::StatusCodeToString(answer.status().code()))
                     .Field("message", std::string(answer.status().message()))
                     .Object();
      }
      if (!Write(failed, *answer)) return absl::UnavailableError("the standard output was closed");
    }
    return absl::OkStatus();
  }

 private:
  static bool Write(bool failed, const std::string& body) {
    char head[1 + sizeof(uint64_t)];
    head[0] = failed ? 1 : 0;
    const uint64_t length = body.size();
    std::memcpy(head + 1, &length, sizeof length);
    return std::fwrite(head, 1, sizeof head, stdout) == sizeof head &&
           std::fwrite(body.data(), 1, body.size(), stdout) == body.size() && std::fflush(stdout) == 0;
  }

  absl::StatusOr<std::string> Answer(absl::string_view line) {
    if (absl::ConsumePrefix(&line, "stat ")) return Stat(std::string(line));
    if (absl::ConsumePrefix(&line, "list ")) return List(std::string(line));
    if (absl::ConsumePrefix(&line, "read ")) {
      const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 4));
      Range range;
      FileInfo listed;
      if (parts.size() == 5 && absl::SimpleAtoi(parts[0], &range.offset) && absl::SimpleAtoi(parts[1], &range.length) &&
          absl::SimpleAtoi(parts[2], &listed.size)) {
        if (range.length > kMostBytes) {
          return absl::InvalidArgumentError(absl::StrCat("read of ", range.length, " bytes: at most ", kMostBytes));
        }
        if (parts[3] != kNoState && (!storage_->IsLocal(parts[4]) || !absl::SimpleAtoi(parts[3], &listed.mtime_ns))) {
          listed.tag = parts[3];
        }
        return Read(range, listed, parts[4]);
      }
    }
    return absl::InvalidArgumentError(
        "a request is `stat NAME`, `list FOLDER` or `read OFFSET LENGTH SIZE STATE NAME` (penstock fetch --help)");
  }

  absl::StatusOr<std::string> Stat(const std::string& name) {
    PS_RETURN_IF_ERROR(storage_->CheckName(name));
    PS_ASSIGN_OR_RETURN(const storage::StoredName found, storage_->StatAndWait(name));
    return FieldsOf(found.info).Field("kind", KindName(found.kind)).Object();
  }

  absl::StatusOr<std::string> List(const std::string& folder) {
    PS_RETURN_IF_ERROR(storage_->CheckName(folder));
    PS_ASSIGN_OR_RETURN(const std::vector<storage::StoredEntry> entries, storage_->ListAndWait(folder));
    std::vector<std::string> listed;
    for (const storage::StoredEntry& entry : entries) {
      Json fields = entry.info.has_value() ? FieldsOf(*entry.info) : Json();
      listed.push_back(fields.Field("name", entry.name).Field("kind", KindName(entry.kind)).Object());
    }
    return Json().Raw("entries", Json::Array(listed)).Object();
  }

  absl::StatusOr<std::string> Read(const Range& range, const FileInfo& listed, const std::string& name) {
    PS_ASSIGN_OR_RETURN(const storage::StoredFile* const file, Open(name, listed));
    const FileInfo& opened = file->opened();
    if (opened.size != listed.size || (StateOf(listed) != kNoState && StateOf(opened) != StateOf(listed))) {
      Close(name);
      return absl::AbortedError(absl::StrCat(name, " has changed since it was listed; convert it into another folder"));
    }
    std::string bytes(range.offset < opened.size ? std::min(range.length, opened.size - range.offset) : 0, '\0');
    Mutex mutex;
    absl::Status failed;
    size_t missing = 0;
    const size_t pieces = (bytes.size() + kPieceBytes - 1) / kPieceBytes;
    storage::RunCalls(pieces, kPiecesAtOnce, [&](size_t i, absl::AnyInvocable<void() &&> ended) {
      const size_t begin = i * kPieceBytes, wanted = std::min(kPieceBytes, bytes.size() - begin);
      file->Read(range.offset + begin, wanted, bytes.data() + begin, {},
                 [&, wanted, ended = std::move(ended)](absl::StatusOr<size_t> got) mutable {
                   {
                     MutexLock lock(&mutex);
                     failed.Update(got.status());
                     if (got.ok()) missing += wanted - *got;
                   }
                   std::move(ended)();
                 });
    });
    MutexLock lock(&mutex);
    if (failed.ok() && missing > 0)
      failed = absl::AbortedError(absl::StrCat(name, " became shorter while it was read"));
    if (!failed.ok()) {
      Close(name);
      return failed;
    }
    return bytes;
  }

  absl::StatusOr<const storage::StoredFile*> Open(const std::string& name, const FileInfo& listed) {
    const auto found = std::find_if(open_.begin(), open_.end(), [&](const auto& file) { return file.first == name; });
    if (found != open_.end()) {
      open_.splice(open_.begin(), open_, found);
    } else {
      PS_RETURN_IF_ERROR(storage_->CheckName(name));
      storage::CallOptions options;
      if (!listed.tag.empty()) options.listed = listed;
      PS_ASSIGN_OR_RETURN(auto file, storage_->OpenAndWait(name, options));
      if (open_.size() == kMostOpen) open_.pop_back();
      open_.emplace_front(name, std::move(file));
    }
    return open_.front().second.get();
  }

  void Close(const std::string& name) {
    open_.remove_if([&](const auto& file) { return file.first == name; });
  }

  storage::Storage* const storage_;
  std::list<std::pair<std::string, std::unique_ptr<storage::StoredFile>>> open_;  // the latest one first
};

}  // namespace

std::unique_ptr<Command> NewFetch(storage::Storage* storage) { return std::make_unique<Fetch>(storage); }

}  // namespace penstock::cli
