#include "pipeline/sources/verify.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/sources/container.h"
#include "pipeline/sources/record_walker.h"

namespace penstock::sources {
namespace {

absl::string_view DamageText(Damage damage) {
  switch (damage) {
    case Damage::kDataCrc:
      return "the CRC of its data is wrong; exactly this record is lost";
    case Damage::kLengthCrc:
      return "the CRC of its length is wrong, or this is no TFRecord file; it and all after it are "
             "lost";
    case Damage::kTooLong:
      return "it is longer than the limit; it and all after it are not read";
    case Damage::kTruncatedHeader:
      return "the file ends inside its header; this record is lost";
    case Damage::kTruncatedData:
      return "the file ends inside its data; this record is lost";
    case Damage::kCompression:
      return "the compressed data is damaged; it and all after it are lost";
    case Damage::kMember:
      return "a tar header is malformed or of an unsupported kind; it and all after it are lost";
    case Damage::kAfterLast:
      return "bytes follow the last row that the header of the array declares; they are not read";
    case Damage::kQuotes:
      return "its quotes do not match; it and all after it are lost";
    case Damage::kOtherKind:
      return "this is no TFRecord shard";
    case Damage::kFile:
      return "it has no file";
    case Damage::kTrailer:
      return "the end of the compressed stream is wrong; what may have followed is lost";
  }
  return "broken";
}

}  // namespace

std::string DescribeDamage(const BrokenRecord& broken, std::string_view detail) {
  if (broken.damage == Damage::kOtherKind) return std::string(detail);
  std::string line = absl::StrCat("record ", broken.record, " at offset ", broken.offset);
  if (broken.length > 0) absl::StrAppend(&line, " (", broken.length, " bytes)");
  absl::StrAppend(&line, ": ", DamageText(broken.damage));
  if (!detail.empty()) {
    absl::StrAppend(&line, " (", absl::string_view(detail.data(), detail.size()), ")");
  }
  return line;
}

std::vector<uint64_t> VerifyReport::ReadableRecords() const {
  std::vector<uint64_t> readable;
  readable.reserve(readable_records);
  size_t next = 0;
  for (uint64_t k = 0; k < framed_records; ++k) {
    if (next < broken.size() && broken[next].record == k) {
      ++next;
    } else {
      readable.push_back(k);
    }
  }
  return readable;
}

std::string VerifyReport::Describe(size_t i) const {
  if (!broken[i].detail.empty()) return DescribeDamage(broken[i], broken[i].detail);
  return DescribeDamage(broken[i], i + 1 == broken.size() ? detail : "");
}

std::string VerifyReport::Summary() const {
  const absl::string_view compression(CompressionName(kind.compression).data(),
                                      CompressionName(kind.compression).size());
  const std::string records = absl::StrCat(" ", std::string(Container::Of(kind.container).RecordNoun()), "s");
  const std::string skipped = skipped_members == 0
                                  ? ""
                                  : absl::StrCat(", ", skipped_members, skipped_members == 1 ? " member" : " members",
                                                 " outside of samples skipped");
  if (ok()) {
    return absl::StrCat(path, ": ", readable_records, records, ", ", data_bytes, " bytes, compression ", compression,
                        skipped, ": good");
  }
  if (other_kind()) return absl::StrCat(path, ": ", detail);
  return absl::StrCat(path, ": BROKEN: ", broken.size(), broken.size() == 1 ? " fault" : " faults", ", ",
                      readable_records, records, " readable, compression ", compression, skipped);
}

absl::StatusOr<VerifyReport> VerifyShard(const RandomAccessFile& file, const VerifyOptions& options) {
  VerifyReport report;
  report.path = file.path();
  PS_ASSIGN_OR_RETURN(const FileInfo info, file.Info());
  report.file_size = info.size;
  PS_ASSIGN_OR_RETURN(auto walker, RecordWalker::Start(&file, {.compression = options.compression,
                                                               .container = options.container,
                                                               .windows = options.windows,
                                                               .row_files = options.row_files,
                                                               .files = options.files,
                                                               .max_record_bytes = options.max_record_bytes,
                                                               .check_data = true,
                                                               .check_files = true,
                                                               .progress = options.progress}));
  report.kind = walker->kind();
  for (;;) {
    PS_ASSIGN_OR_RETURN(const RecordWalker::Step step, walker->Next());
    report.skipped_members = walker->skipped();
    if (step == RecordWalker::Step::kEnd) return report;
    const bool framed = step == RecordWalker::Step::kRecord;
    if (framed) ++report.framed_records;
    if (framed && !walker->file().error.empty()) {
      report.broken.push_back({.record = walker->record(),
                               .offset = walker->offset(),
                               .length = walker->length(),
                               .damage = Damage::kFile,
                               .detail = walker->file().error});
      continue;
    }
    if (framed && walker->data_is_right()) {
      ++report.readable_records;
      report.data_bytes += walker->length() + walker->file().length;
      continue;
    }
    report.broken.push_back({.record = walker->record(),
                             .offset = walker->offset(),
                             .length = walker->length(),
                             .damage = framed ? Damage::kDataCrc : walker->damage()});
    if (!framed) {
      report.detail = walker->detail();
      return report;
    }
  }
}

}  // namespace penstock::sources
