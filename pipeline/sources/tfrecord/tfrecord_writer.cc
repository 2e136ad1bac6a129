#include "pipeline/sources/tfrecord/tfrecord_writer.h"

#include <zlib.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/sources/tfrecord/framing.h"
#include "pipeline/storage/new_file.h"

namespace penstock::sources {
namespace {

constexpr size_t kBufferBytes = 256 << 10;

class Writer final : public TFRecordWriter {
 public:
  Writer(std::unique_ptr<storage::NewFile> file, const WriterOptions& options)
      : file_(std::move(file)), options_(options) {}
  ~Writer() override {
    if (deflating_) deflateEnd(&zlib_);
  }

  absl::Status Init() {
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
    return failed_ = file_->Commit();
  }

  uint64_t records() const override { return records_; }

 private:
  absl::Status Flush(int flush) {
    std::string_view rest = pending_;
    if (!deflating_) {
      PS_RETURN_IF_ERROR(file_->Append(rest));
      pending_.clear();
      return absl::OkStatus();
    }
    do {
      // avail_in has 32 bits, but a record may be longer.
      const uInt n = static_cast<uInt>(std::min<size_t>(rest.size(), 1u << 30));
      zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
      zlib_.avail_in = n;
      rest.remove_prefix(n);
      do {
        zlib_.next_out = reinterpret_cast<Bytef*>(deflated_.data());
        zlib_.avail_out = static_cast<uInt>(deflated_.size());
        deflate(&zlib_, rest.empty() ? flush : Z_NO_FLUSH);
        PS_RETURN_IF_ERROR(file_->Append({deflated_.data(), deflated_.size() - zlib_.avail_out}));
      } while (zlib_.avail_out == 0);
    } while (!rest.empty());
    pending_.clear();
    return absl::OkStatus();
  }

  const std::unique_ptr<storage::NewFile> file_;
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

absl::StatusOr<std::unique_ptr<TFRecordWriter>> TFRecordWriter::Open(storage::Storage* storage, const std::string& path,
                                                                     const WriterOptions& options) {
  if (options.compression == Compression::kAuto) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": name the compression to write: NONE, GZIP or ZLIB"));
  }
  PS_ASSIGN_OR_RETURN(auto file, storage->Create(path));
  auto writer = std::make_unique<Writer>(std::move(file), options);
  PS_RETURN_IF_ERROR(writer->Init());
  return writer;
}

}  // namespace penstock::sources
