#include "pipeline/storage/object/object_storage.h"

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/storage/file_errors.h"
#include "pipeline/storage/object/azure/azure_service.h"
#include "pipeline/storage/object/gcs/gcs_service.h"
#include "pipeline/storage/object/http/http_service.h"
#include "pipeline/storage/object/s3/s3_service.h"

namespace penstock::storage {
namespace {

constexpr Nanos kLongestPause = 5 * kSecond;
constexpr int kMostRenewals = 3;
// Errors that end sooner are not recorded: a storage of many objects always has some.
constexpr Nanos kPassing = kSecond;
constexpr size_t kMostEmptyPages = 1000;  // consecutive empty pages of a listing
constexpr size_t kPageEntries = 1000;     // maximum of S3

// Returns a random pause, so that requests that failed together are not retried together.
Nanos Drawn(Nanos longest) {
  thread_local std::minstd_rand random{std::random_device()()};
  return std::uniform_int_distribution<Nanos>(longest / 4, longest)(random);
}

// Returns the host of a URL, the only part that users may see.
std::string HostOf(const std::string& url) {
  const size_t begin = url.find("://");
  std::string host = begin == std::string::npos ? url : url.substr(begin + 3);
  host.resize(std::min(host.find_first_of("/?#"), host.size()));
  return host.substr(host.rfind('@') + 1);
}

std::string Resolved(const ObjectName& name) { return ToString(name); }

absl::StatusOr<ObjectName> Parse(const std::string& name) {
  PS_ASSIGN_OR_RETURN(ObjectName parsed, ParseObjectName(name));
  while (!parsed.key.empty() && parsed.key.back() == '/') parsed.key.pop_back();
  return parsed;
}

// Checks the headers of the answer to a range inside the object. Unavailable: the headers are wrong, and a retry may
// help.
absl::Status CheckHeaders(const ObjectName& name, const HttpResponse& response, uint64_t offset, size_t length,
                          uint64_t size) {
  if (response.status == 200 && (offset != 0 || length != size)) {
    return absl::FailedPreconditionError(absl::StrCat(
        ToString(name),
        ": the server answers a range with the whole file; it must support ranges (RFC 9110, section 14)"));
  }
  const std::string range = HeaderOf(response, "content-range");
  if (response.status == 206 &&
      !absl::StartsWith(range, absl::StrCat("bytes ", offset, "-", offset + length - 1, "/"))) {
    return absl::UnavailableError(
        absl::StrCat(ToString(name), ": asked for ", length, " bytes at ", offset, ", the answer is \"", range, "\""));
  }
  return absl::OkStatus();
}

absl::Status Stopped(const std::string& name) { return absl::CancelledError(absl::StrCat(name, ": cancelled")); }

absl::Status CheckBytes(const ObjectName& name, const HttpResponse& response, uint64_t offset, size_t length) {
  if (response.bytes == length) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(ToString(name), ": received ", response.bytes, " of ", length, " bytes at ", offset));
}

}  // namespace

// One request, retried until it succeeds or the limits are reached.
class ObjectStorage::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(ObjectStorage* storage, ObjectName name, const CallOptions& options, Make make, Check check,
           CallDone<HttpResponse> done)
      : storage_(storage),
        dialect_(storage->DialectOf(name)),
        name_(std::move(name)),
        options_(options),
        make_(std::move(make)),
        check_(std::move(check)),
        done_(std::move(done)),
        begun_(storage->options_.clock->Now()) {}

  void Try(Nanos pause) {
    dialect_->Prepare(name_, [self = shared_from_this(), pause](const absl::StatusOr<bool>& prepared) {
      if (!prepared.ok())
        return self->Failed({prepared.status(), absl::IsUnavailable(prepared.status()) ? ObjectError::Cure::kAgain
                                                                                       : ObjectError::Cure::kNone});
      absl::StatusOr<HttpRequest> request = self->make_();
      if (!request.ok()) return std::move(self->done_)(request.status());
      if (self->options_.file_errors != nullptr) {
        request->when_silent = [self, host = HostOf(request->url)](Nanos silent) { self->Silent(host, silent); };
      }
      self->storage_->requests_.fetch_add(1, std::memory_order_relaxed);
      self->sent_at_ = self->storage_->options_.clock->Now() + pause;
      self->storage_->http_->Send(
          *std::move(request), self->options_,
          [self](absl::StatusOr<HttpResponse> response) { self->Answered(std::move(response)); }, pause);
    });
  }

 private:
  void Answered(absl::StatusOr<HttpResponse> response) {
    if (!response.ok()) {
      const absl::Status status(response.status().code(),
                                absl::StrCat(ToString(name_), ": ", response.status().message()));
      return Failed({status, absl::IsUnavailable(status) ? ObjectError::Cure::kAgain : ObjectError::Cure::kNone});
    }
    // Google answers 308 without a location when it has stored a part of an upload.
    const bool success = (response->status >= 200 && response->status < 300) ||
                         (response->status == 308 && HeaderOf(*response, "location").empty());
    // A range of an empty object.
    const bool empty = response->status == 416 && absl::EndsWith(HeaderOf(*response, "content-range"), "/0");
    if (!success && !empty) return Failed(dialect_->ErrorOf(name_, *response));
    const absl::Status checked = check_ == nullptr ? absl::OkStatus() : check_(*response);
    if (!checked.ok()) {
      return Failed({checked, absl::IsUnavailable(checked) ? ObjectError::Cure::kAgain : ObjectError::Cure::kNone});
    }
    Count(RequestOutcome::kOk);
    if (reported_) options_.file_errors->Recovered(ToString(name_));
    std::move(done_)(*std::move(response));
  }

  void Silent(const std::string& host, Nanos silent) {
    options_.file_errors->Silent(ToString(name_), absl::StrCat("nothing comes from ", host), silent,
                                 "after 10 s of silence the read is retried");
    reported_ = true;
  }

  void Count(RequestOutcome outcome) {
    const Nanos took = sent_at_ == 0 ? 0 : std::max<Nanos>(0, storage_->options_.clock->Now() - sent_at_);
    storage_->request_counts_[static_cast<size_t>(name_.scheme)].Count(outcome, took);
    sent_at_ = 0;
  }

  void Failed(const ObjectError& error) {
    const Nanos pause = std::max(error.after, Drawn(std::min(kLongestPause, storage_->options_.pause << tries_)));
    const Nanos until_then = storage_->options_.clock->Now() + pause - begun_;
    const bool in_time = until_then < kPatience;
    const bool stopped = options_.stop.stop_requested();
    const bool renewed = error.cure == ObjectError::Cure::kRenewed && !stopped && renewals_++ < kMostRenewals;
    if (!absl::IsCancelled(error.status)) Count(renewed ? RequestOutcome::kRenewed : OutcomeOf(error));
    if (renewed) return Again(0);
    if (error.cure == ObjectError::Cure::kAgain && !stopped) ++tries_;
    if (error.cure == ObjectError::Cure::kAgain && !stopped && in_time && tries_ < storage_->options_.tries) {
      if (options_.file_errors != nullptr && until_then >= kPassing) {
        options_.file_errors->Failed(ToString(name_), error.status, "the read is retried");
        reported_ = true;
      }
      return Again(pause);
    }
    const std::string tried = tries_ == 0 ? "" : absl::StrCat(" (tried ", tries_, " times)");
    std::move(done_)(absl::Status(error.status.code(), absl::StrCat(error.status.message(), tried)));
  }

  void Again(Nanos pause) {
    storage_->again_.fetch_add(1, std::memory_order_relaxed);
    Try(pause);
  }

  ObjectStorage* const storage_;
  ObjectDialect* const dialect_;
  const ObjectName name_;
  const CallOptions options_;
  const Make make_;
  const Check check_;
  CallDone<HttpResponse> done_;
  const Nanos begun_;
  Nanos sent_at_ = 0;  // time of the current try; 0: it was not sent
  int tries_ = 0, renewals_ = 0;
  bool reported_ = false;  // its errors were recorded
};

class ObjectStorage::File final : public StoredFile {
 public:
  File(ObjectStorage* storage, ObjectName name, FileInfo opened, std::shared_ptr<FileErrors> file_errors)
      : storage_(storage),
        name_(std::move(name)),
        path_(ToString(name_)),
        opened_(std::move(opened)),
        file_errors_(std::move(file_errors)) {}

  const std::string& path() const override { return path_; }
  // A request takes about 30 ms, as long as 3 MB at 100 MB/s.
  size_t read_unit() const override { return size_t{8} << 20; }
  const FileInfo& opened() const override { return opened_; }
  // Every read is of this state, or ends with Aborted.
  absl::StatusOr<FileInfo> Info() const override { return opened_; }
  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
    return WaitForCall<size_t>([&](CallDone<size_t> done) {
      Read(offset, length, out, {.priority = CallPriority::kUrgent}, std::move(done));
    });
  }
  absl::StatusOr<size_t> ReadAtPastCaches(uint64_t offset, size_t length, char* out) const override {
    return WaitForCall<size_t>([&](CallDone<size_t> done) {
      Read(offset, length, out, {.priority = CallPriority::kUrgent, .new_connection = true}, std::move(done));
    });
  }
  void Read(uint64_t offset, size_t length, char* out, const CallOptions& options,
            CallDone<size_t> done) const override {
    if (options.stop.stop_requested()) return std::move(done)(Stopped(path_));
    const uint64_t left = opened_.size - std::min(offset, opened_.size);
    const auto bytes = static_cast<size_t>(std::min<uint64_t>(length, left));
    storage_->Read(name_, opened_, offset, {{out, bytes}}, bytes, WithFileErrors(options), std::move(done));
  }
  void ReadParts(uint64_t offset, std::vector<ReadPart> parts, const CallOptions& options,
                 CallDone<size_t> done) const override {
    if (options.stop.stop_requested()) return std::move(done)(Stopped(path_));
    uint64_t bytes = 0;
    for (const ReadPart& part : parts) bytes += part.bytes;
    bytes = std::min(bytes, opened_.size - std::min(offset, opened_.size));
    storage_->Read(name_, opened_, offset, std::move(parts), bytes, WithFileErrors(options), std::move(done));
  }

 private:
  CallOptions WithFileErrors(CallOptions options) const {
    options.file_errors = file_errors_;
    return options;
  }

  ObjectStorage* const storage_;
  const ObjectName name_;
  const std::string path_;
  const FileInfo opened_;
  const std::shared_ptr<FileErrors> file_errors_;
};

struct ObjectStorage::Listing {
  ObjectName folder;
  CallOptions options;
  size_t most = 0;  // wanted entries
  std::string page;
  absl::flat_hash_set<uint64_t> asked = {};  // hashes of the tokens of all pages so far
  size_t empty_pages = 0;                    // in a row
  std::vector<StoredEntry> entries;
  CallDone<std::vector<StoredEntry>> done;
};

ObjectStorage::Options ObjectStorage::Options::FromEnvironment() {
  const Environment environment = Environment::Process();
  return {.s3 = S3Options::FromEnvironment(environment),
          .gcs = GcsOptions::FromEnvironment(environment),
          .environment = environment};
}

ObjectStorage::ObjectStorage(Options options)
    : options_(std::move(options)),
      http_(std::make_unique<HttpClient>(kMostUnderWay, options_.hedges, options_.clock)) {
  const auto service = [this](ObjectScheme scheme) -> auto& { return services_[static_cast<size_t>(scheme)]; };
  service(ObjectScheme::kS3) = MakeS3Service(options_.s3, options_.environment, http_.get());
  service(ObjectScheme::kGcs) = MakeGcsService(options_.gcs, options_.environment, http_.get());
  service(ObjectScheme::kAzure) = MakeAzureService(options_.environment, http_.get());
  const auto authorization = std::make_shared<HttpAuthorization>(options_.environment, options_.clock);
  service(ObjectScheme::kHttp) = MakeHttpService(authorization);
  service(ObjectScheme::kHttps) = MakeHttpService(authorization);
  for (const auto& made : services_) PS_CHECK(made != nullptr);
}

ObjectStorage::~ObjectStorage() {
  for (const auto& service : services_) service->StopPrograms();
}

ObjectService& ObjectStorage::ServiceOf(const ObjectName& name) const {
  return *services_[static_cast<size_t>(name.scheme)];
}

void ObjectStorage::Ask(const ObjectName& name, const CallOptions& options, Make make, Check check,
                        CallDone<HttpResponse> done) {
  std::make_shared<Exchange>(this, name, options, std::move(make), std::move(check), std::move(done))->Try(0);
}

ObjectCounts ObjectStorage::counts() const {
  const uint64_t hedges = http_->hedges();
  return {requests_.load() + hedges, again_.load(), hedges, bytes_.load()};
}

std::vector<ObjectSchemeCounts> ObjectStorage::scheme_counts() const {
  const std::vector<std::string> names = ObjectSchemes();
  std::vector<ObjectSchemeCounts> all;
  for (size_t scheme = 0; scheme < kObjectSchemes; ++scheme) {
    const RequestCounts::Sums requests = request_counts_[scheme].Get();
    if (std::all_of(requests.outcomes.begin(), requests.outcomes.end(), [](uint64_t count) { return count == 0; })) {
      continue;
    }
    all.push_back({names[scheme], requests, services_[scheme]->credentials_end()});
  }
  return all;
}

int64_t ObjectStorage::credentials_end() const {
  int64_t earliest = 0;
  for (const std::unique_ptr<ObjectService>& service : services_) {
    const int64_t end = service->credentials_end();
    if (end != 0 && (earliest == 0 || end < earliest)) earliest = end;
  }
  return earliest;
}

void ObjectStorage::Look(const ObjectName& name, const CallOptions& options, CallDone<FileInfo> done) {
  ObjectDialect* const dialect = DialectOf(name);
  const auto exchange = std::make_shared<Exchange>(
      this, name, options, [dialect, name] { return dialect->Head(name); },
      [name](const HttpResponse& response) {
        // The answer to a request for the first byte.
        if (response.status != 206) return absl::OkStatus();
        PS_RETURN_IF_ERROR(CheckHeaders(name, response, 0, 1, 1));
        return CheckBytes(name, response, 0, 1);
      },
      [dialect, name, done = std::move(done)](absl::StatusOr<HttpResponse> response) mutable {
        if (!response.ok()) return std::move(done)(response.status());
        std::move(done)(dialect->StateOf(name, *response));
      });
  exchange->Try(0);
}

void ObjectStorage::Open(const std::string& name, const CallOptions& options,
                         CallDone<std::unique_ptr<StoredFile>> done) {
  if (options.listed) {
    absl::StatusOr<ObjectName> parsed = Parse(name);
    if (!parsed.ok()) return std::move(done)(parsed.status());
    if (options.stop.stop_requested()) return std::move(done)(Stopped(name));
    return std::move(done)(std::make_unique<File>(this, *std::move(parsed), *options.listed, options.file_errors));
  }
  Stat(name, options,
       [this, name, file_errors = options.file_errors,
        done = std::move(done)](absl::StatusOr<StoredName> found) mutable {
         if (!found.ok()) return std::move(done)(found.status());
         if (found->kind != StoredEntry::Kind::kFile)
           return std::move(done)(absl::InvalidArgumentError(absl::StrCat(name, " is a folder")));
         std::move(done)(std::make_unique<File>(this, *Parse(name), std::move(found->info), file_errors));
       });
}

void ObjectStorage::Stat(const std::string& name, const CallOptions& options, CallDone<StoredName> done) {
  absl::StatusOr<ObjectName> parsed = Parse(name);
  if (!parsed.ok()) return std::move(done)(parsed.status());
  if (options.stop.stop_requested()) return std::move(done)(Stopped(name));
  const ObjectName object = *std::move(parsed);

  // If there is no object of the name, it may be a folder.
  auto is_folder = [this, object, options](CallDone<StoredName> then, absl::Status missing) {
    if (!DialectOf(object)->lists()) return std::move(then)(missing);
    auto listing = std::make_shared<Listing>();
    listing->folder = object;
    listing->options = options;
    listing->most = 1;
    listing->done = [object, missing,
                     then = std::move(then)](absl::StatusOr<std::vector<StoredEntry>> entries) mutable {
      if (!entries.ok()) return std::move(then)(entries.status());
      if (entries->empty() && !object.key.empty()) return std::move(then)(missing);
      std::move(then)(StoredName{StoredEntry::Kind::kFolder, FileInfo(), Resolved(object)});
    };
    NextPage(std::move(listing));
  };
  if (object.key.empty()) {
    return is_folder(std::move(done), absl::InvalidArgumentError(absl::StrCat(name, " names no object")));
  }
  Look(object, options, [object, is_folder, done = std::move(done)](absl::StatusOr<FileInfo> info) mutable {
    if (absl::IsNotFound(info.status())) return is_folder(std::move(done), info.status());
    if (!info.ok()) return std::move(done)(info.status());
    std::move(done)(StoredName{StoredEntry::Kind::kFile, *std::move(info), Resolved(object)});
  });
}

void ObjectStorage::List(const std::string& folder, const CallOptions& options,
                         CallDone<std::vector<StoredEntry>> done) {
  const absl::StatusOr<ObjectName> parsed = Parse(folder);
  if (!parsed.ok()) return std::move(done)(parsed.status());
  if (options.stop.stop_requested()) return std::move(done)(Stopped(folder));
  auto listing = std::make_shared<Listing>();
  listing->folder = *parsed;
  listing->options = options;
  listing->most = kMostEntries;
  listing->done = std::move(done);
  NextPage(std::move(listing));
}

void ObjectStorage::NextPage(std::shared_ptr<Listing> listing) {
  ObjectDialect* const dialect = DialectOf(listing->folder);
  const auto exchange = std::make_shared<Exchange>(
      this, listing->folder, listing->options,
      [dialect, listing] {
        return dialect->List(listing->folder, listing->page, std::min(kPageEntries, listing->most));
      },
      nullptr,
      [this, dialect, listing](const absl::StatusOr<HttpResponse>& response) {
        if (!response.ok()) return std::move(listing->done)(response.status());
        absl::StatusOr<ObjectPage> page = dialect->PageOf(listing->folder, *response);
        if (!page.ok()) return std::move(listing->done)(page.status());
        for (ListedObject& object : page->objects) {
          StoredEntry entry{.name = std::move(object.name),
                            .kind = object.folder ? StoredEntry::Kind::kFolder : StoredEntry::Kind::kFile};
          if (!object.folder) entry.info = std::move(object.info);
          listing->entries.push_back(std::move(entry));
        }
        const size_t count = listing->entries.size();
        listing->empty_pages = page->objects.empty() ? listing->empty_pages + 1 : 0;
        listing->page = std::move(page->next);
        // If one entry answers the question, the rest is not needed.
        if (listing->page.empty() || (count >= listing->most && listing->most < kMostEntries)) {
          return std::move(listing->done)(std::move(listing->entries));
        }
        if (count >= listing->most) {
          return std::move(listing->done)(absl::ResourceExhaustedError(absl::StrCat(
              ToString(listing->folder), " has more than ", kMostEntries, " entries; name a folder of fewer")));
        }
        if (!listing->asked.insert(Hash64(listing->page)).second || listing->empty_pages > kMostEmptyPages) {
          return std::move(listing->done)(absl::FailedPreconditionError(absl::StrCat(
              ToString(listing->folder), ": the listing has no end: after ", count, " entries the server ",
              listing->empty_pages > kMostEmptyPages ? absl::StrCat("gives ", listing->empty_pages, " empty pages")
                                                     : "repeats a continuation token")));
        }
        NextPage(listing);
      });
  exchange->Try(0);
}

void ObjectStorage::Read(const ObjectName& name, const FileInfo& opened, uint64_t offset, std::vector<ReadPart> parts,
                         size_t length, const CallOptions& options, CallDone<size_t> done) {
  if (length == 0) return std::move(done)(size_t{0});
  ObjectDialect* const dialect = DialectOf(name);
  // Also runs before the body is written, because the parts may already hold the wanted bytes of a second request.
  const auto check_headers = [dialect, name, opened, offset, length](const HttpResponse& response) -> absl::Status {
    PS_RETURN_IF_ERROR(CheckHeaders(name, response, offset, length, opened.size));
    PS_ASSIGN_OR_RETURN(const FileInfo now, dialect->StateOf(name, response));
    if (now == opened) return absl::OkStatus();
    return absl::AbortedError(absl::StrCat(ToString(name), " changed since it was opened"));
  };
  const auto make = [dialect, name, opened, offset, length, parts = std::move(parts), check_headers,
                     new_connection = options.new_connection] {
    HttpRequest request = dialect->Range(name, opened, offset, length);
    request.parts = parts;
    request.capacity = length;
    request.is_wanted = [check_headers](const HttpResponse& response) { return check_headers(response).ok(); };
    request.new_connection = new_connection;
    if (!new_connection) request.hedged_with = ToString(ObjectName{name.scheme, name.place, ""});
    return request;
  };
  const auto check = [name, offset, length, check_headers](const HttpResponse& response) -> absl::Status {
    PS_RETURN_IF_ERROR(check_headers(response));
    return CheckBytes(name, response, offset, length);
  };
  const auto exchange = std::make_shared<Exchange>(
      this, name, options, make, check, [this, done = std::move(done)](absl::StatusOr<HttpResponse> response) mutable {
        if (!response.ok()) return std::move(done)(response.status());
        bytes_.fetch_add(response->bytes, std::memory_order_relaxed);
        std::move(done)(response->bytes);
      });
  exchange->Try(0);
}

}  // namespace penstock::storage
