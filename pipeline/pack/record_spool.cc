#include "pipeline/pack/record_spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace penstock::pack {
namespace {

// The records, then the end offset of each, then the schema, then four words: number of records, bytes of the schema,
// the hash of both, and kMagic.
constexpr uint64_t kMagic = 0x31'6c'6f'6f'70'73'73'70;  // "psspool1"
constexpr size_t kTrailerWords = 4, kSpoolBufferBytes = 1 << 20;

std::string_view AsBytes(const uint64_t* words, size_t count) {
  return {reinterpret_cast<const char*>(words), count * sizeof(uint64_t)};
}

uint64_t HashOf(const std::vector<uint64_t>& ends, std::string_view schema) {
  return Fingerprint().Add(AsBytes(ends.data(), ends.size())).Add(schema).value();
}

class SpoolSource final : public imports::RecordSource {
 public:
  explicit SpoolSource(std::vector<std::unique_ptr<SpoolFile>> parts) : parts_(std::move(parts)) {
    for (const auto& part : parts_) {
      starts_.push_back(starts_.back() + part->records());
      fingerprint_.Add(part->fingerprint());
    }
  }
  uint64_t size() const override { return starts_.back(); }
  uint64_t fingerprint() const override { return fingerprint_.value(); }
  std::unique_ptr<imports::RecordMaker> NewMaker() const override { return std::make_unique<Maker>(*this); }

 private:
  class Maker final : public imports::RecordMaker {
   public:
    explicit Maker(const SpoolSource& source) : source_(source) {}
    absl::Status Make(uint64_t item, imports::MadeRecord* out) override {
      const auto& starts = source_.starts_;
      const auto part = static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), item) - starts.begin() - 1);
      out->treatment = imports::ImageTreatment::kKept;
      // The record itself is valid, so a failed read ends the run.
      if (absl::Status read = source_.parts_[part]->Read(item - starts[part], &out->bytes); !read.ok()) {
        return absl::UnavailableError(read.message());
      }
      return absl::OkStatus();
    }

   private:
    const SpoolSource& source_;
  };

  const std::vector<std::unique_ptr<SpoolFile>> parts_;
  std::vector<uint64_t> starts_ = {0};  // the first item of each part, then the total
  Fingerprint fingerprint_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SpoolWriter>> SpoolWriter::Open(const std::string& path) {
  std::string temporary = absl::StrCat(path, kOpenSpool, "XXXXXX");
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("creating ", temporary));
  return std::unique_ptr<SpoolWriter>(new SpoolWriter(path, temporary, fd));
}

SpoolWriter::~SpoolWriter() {
  // Frees its space at once. The empty file marks the part as missing.
  if (!finished_ && ftruncate(fd_, 0) != 0) unlink(temporary_.c_str());
  close(fd_);
}

absl::Status SpoolWriter::Flush() {
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t n = write(fd_, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("writing ", temporary_));
    left.remove_prefix(static_cast<size_t>(n));
  }
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status SpoolWriter::Write(std::string_view record) {
  buffer_ += record;
  written_ += record.size();
  ends_.push_back(written_);
  return buffer_.size() < kSpoolBufferBytes ? absl::OkStatus() : Flush();
}

absl::Status SpoolWriter::Finish(const PackSchema& schema) {
  const std::string text = schema.Serialize();
  buffer_ += AsBytes(ends_.data(), ends_.size());
  buffer_ += text;
  const std::array<uint64_t, kTrailerWords> trailer = {ends_.size(), text.size(), HashOf(ends_, text), kMagic};
  buffer_ += AsBytes(trailer.data(), trailer.size());
  PS_RETURN_IF_ERROR(Flush());
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("renaming ", temporary_, " to ", path_));
  }
  finished_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SpoolFile>> SpoolFile::Open(const std::string& path) {
  const absl::Status damaged = absl::DataLossError(absl::StrCat(path, " is not whole; write that part again"));
  auto spool = std::make_unique<SpoolFile>();
  PS_ASSIGN_OR_RETURN(spool->file_, OpenFile(path));
  PS_ASSIGN_OR_RETURN(const FileInfo info, spool->file_->Info());
  std::array<uint64_t, kTrailerWords> trailer;
  const uint64_t trailer_bytes = sizeof(trailer);
  const auto read = [&](uint64_t offset, uint64_t bytes, void* out) -> absl::Status {
    PS_ASSIGN_OR_RETURN(const size_t n, spool->file_->ReadAt(offset, bytes, static_cast<char*>(out)));
    return n == bytes ? absl::OkStatus() : damaged;
  };
  if (info.size < trailer_bytes) return damaged;
  PS_RETURN_IF_ERROR(read(info.size - trailer_bytes, trailer_bytes, trailer.data()));
  const auto [records, schema_bytes, hash, magic] = trailer;
  const uint64_t rest = info.size - trailer_bytes;
  if (magic != kMagic || schema_bytes > rest || records > (rest - schema_bytes) / sizeof(uint64_t)) return damaged;
  const uint64_t data_end = rest - schema_bytes - records * sizeof(uint64_t);
  std::string text(schema_bytes, '\0');
  spool->ends_.resize(records);
  PS_RETURN_IF_ERROR(read(data_end, records * sizeof(uint64_t), spool->ends_.data()));
  PS_RETURN_IF_ERROR(read(rest - schema_bytes, schema_bytes, text.data()));
  if (HashOf(spool->ends_, text) != hash || (records > 0 ? spool->ends_.back() : 0) != data_end) return damaged;
  PS_ASSIGN_OR_RETURN(spool->schema_, ParsePackSchema(text));
  spool->fingerprint_ = hash;
  return spool;
}

absl::Status SpoolFile::Read(uint64_t record, std::string* out) const {
  const uint64_t begin = record == 0 ? 0 : ends_[record - 1];
  out->resize(ends_[record] - begin);
  PS_ASSIGN_OR_RETURN(const size_t n, file_->ReadAt(begin, out->size(), out->data()));
  if (n != out->size()) return absl::DataLossError(absl::StrCat(file_->path(), " has become shorter"));
  return absl::OkStatus();
}

std::unique_ptr<imports::RecordSource> NewSpoolSource(std::vector<std::unique_ptr<SpoolFile>> parts) {
  return std::make_unique<SpoolSource>(std::move(parts));
}

}  // namespace penstock::pack
