#include "pipeline/records/tfrecord_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/temporaries.h"
#include "pipeline/records/framing.h"

namespace penstock {
namespace {

constexpr size_t kBufferBytes = 256 << 10;

// Hidden, so that no glob takes a half-written shard for a shard.
std::string TemporaryName(const std::string& path) {
  const size_t slash = path.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  return absl::StrCat(path.substr(0, name), ".", path.substr(name), std::string(kTemporarySuffix));
}

// A file under a temporary name, which gets its own when all is written.
class PendingFile {
 public:
  explicit PendingFile(std::string path) : path_(std::move(path)), temporary_(TemporaryName(path_)) {}
  ~PendingFile() {
    if (fd_ < 0) return;
    close(fd_);
    unlink(temporary_.c_str());
  }
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  absl::Status Create() {
    std::string name = temporary_;
    fd_ = mkostemp(name.data(), O_CLOEXEC);
    if (fd_ < 0) return ErrnoStatus(errno, absl::StrCat("creating ", path_));
    temporary_ = name;
    return absl::OkStatus();
  }

  absl::Status Append(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(errno, absl::StrCat("writing ", path_));
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return absl::OkStatus();
  }

  absl::Status Commit() {
    if (fchmod(fd_, 0644) != 0 || fsync(fd_) != 0) {
      return ErrnoStatus(errno, absl::StrCat("writing ", path_));
    }
    if (rename(temporary_.c_str(), path_.c_str()) != 0) {
      return ErrnoStatus(errno, absl::StrCat("renaming ", temporary_, " to ", path_));
    }
    const int fd = std::exchange(fd_, -1);
    if (close(fd) != 0) return ErrnoStatus(errno, absl::StrCat("closing ", path_));
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

class Writer final : public TFRecordWriter {
 public:
  Writer(const std::string& path, const WriterOptions& options) : file_(path), options_(options) {}
  ~Writer() override {
    if (deflating_) deflateEnd(&zlib_);
  }

  absl::Status Init() {
    PS_RETURN_IF_ERROR(file_.Create());
    if (options_.compression == Compression::kNone) return absl::OkStatus();
    const int bits = options_.compression == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
    if (deflateInit2(&zlib_, options_.level, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
      return absl::InvalidArgumentError(
          absl::StrCat("zlib refuses compression level ", options_.level, "; 0 to 9 are possible"));
    }
    deflating_ = true;
    deflated_.resize(kBufferBytes);
    return absl::OkStatus();
  }

  absl::Status Write(std::string_view record) override {
    if (closed_) return absl::FailedPreconditionError("Write after Close");
    PS_RETURN_IF_ERROR(failed_);
    AppendFramedRecord(record, &pending_);
    ++records_;
    if (pending_.size() < kBufferBytes) return absl::OkStatus();
    return failed_ = Flush(Z_NO_FLUSH);
  }

  absl::Status Close() override {
    if (closed_) return absl::FailedPreconditionError("Close after Close");
    PS_RETURN_IF_ERROR(failed_);
    closed_ = true;
    PS_RETURN_IF_ERROR(failed_ = Flush(Z_FINISH));
    return failed_ = file_.Commit();
  }

  uint64_t records() const override { return records_; }

 private:
  absl::Status Flush(int flush) {
    std::string_view rest = pending_;
    if (!deflating_) {
      PS_RETURN_IF_ERROR(file_.Append(rest));
      pending_.clear();
      return absl::OkStatus();
    }
    do {
      // avail_in has 32 bits; a record may be longer.
      const uInt n = static_cast<uInt>(std::min<size_t>(rest.size(), 1u << 30));
      zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
      zlib_.avail_in = n;
      rest.remove_prefix(n);
      do {
        zlib_.next_out = reinterpret_cast<Bytef*>(deflated_.data());
        zlib_.avail_out = static_cast<uInt>(deflated_.size());
        deflate(&zlib_, rest.empty() ? flush : Z_NO_FLUSH);
        PS_RETURN_IF_ERROR(file_.Append({deflated_.data(), deflated_.size() - zlib_.avail_out}));
      } while (zlib_.avail_out == 0);
    } while (!rest.empty());
    pending_.clear();
    return absl::OkStatus();
  }

  PendingFile file_;
  const WriterOptions options_;
  z_stream zlib_ = {};
  bool deflating_ = false;
  bool closed_ = false;
  absl::Status failed_;
  std::string pending_;  // framed records
  std::vector<char> deflated_;
  uint64_t records_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TFRecordWriter>> TFRecordWriter::Open(const std::string& path,
                                                                     const WriterOptions& options) {
  if (options.compression == Compression::kAuto) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": say which compression to write: NONE, GZIP or ZLIB"));
  }
  auto writer = std::make_unique<Writer>(path, options);
  PS_RETURN_IF_ERROR(writer->Init());
  return writer;
}

}  // namespace penstock
