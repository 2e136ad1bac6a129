#include "client/cli/support_archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/owned_fd.h"
#include "base/temporaries.h"
#include "client/cli/output.h"

namespace penstock::cli {
namespace {

constexpr size_t kTarBlock = 512;
constexpr int kZstdLevel = 6;
// A text that is shortened keeps at least this much.
constexpr size_t kLeastText = size_t{16} << 10;

size_t TotalOf(const SupportContents& contents) {
  size_t total = 0;
  for (const auto& [path, content] : contents) total += content.size() + 2 * kTarBlock;
  return total;
}

// Appends a member of the format ustar (POSIX.1-2017, pax, "ustar Interchange Format").
void AppendMember(const std::string& path, std::string_view content, int64_t unix_seconds, std::string* out) {
  char header[kTarBlock] = {};
  std::memcpy(header, path.data(), path.size());
  std::snprintf(header + 100, 8, "%07o", 0600U);
  std::snprintf(header + 108, 8, "%07o", 0U);
  std::snprintf(header + 116, 8, "%07o", 0U);
  std::snprintf(header + 124, 12, "%011llo", static_cast<unsigned long long>(content.size()));
  std::snprintf(header + 136, 12, "%011llo", static_cast<unsigned long long>(unix_seconds));
  std::memset(header + 148, ' ', 8);
  header[156] = '0';
  std::memcpy(header + 257,
              "ustar\0"
              "00",
              8);
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  std::snprintf(header + 148, 8, "%06o", sum);  // then a zero and a blank
  out->append(header, kTarBlock);
  out->append(content);
  out->append((kTarBlock - content.size() % kTarBlock) % kTarBlock, '\0');
}

}  // namespace

std::string ComponentOf(std::string_view name) {
  std::string out(name.substr(0, 60));
  for (char& c : out) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-' && c != '_') c = '_';
  }
  return out.empty() || out[0] == '.' ? "_" + out : out;
}

std::vector<std::string> FitSupportContents(size_t most, SupportContents* contents) {
  std::vector<std::string> notes;
  const auto longest = [contents](bool text) {
    auto found = contents->end();
    for (auto it = contents->begin(); it != contents->end(); ++it) {
      if (text != absl::EndsWith(it->first, ".txt") || (text && it->second.size() < 2 * kLeastText)) continue;
      if (found == contents->end() || it->second.size() > found->second.size()) found = it;
    }
    return found;
  };
  std::map<std::string, size_t> cut;
  for (auto it = longest(true); TotalOf(*contents) > most && it != contents->end(); it = longest(true)) {
    size_t begin = it->second.find('\n', it->second.size() / 2);
    begin = begin == std::string::npos ? it->second.size() / 2 : begin + 1;
    cut[it->first] += begin;
    it->second.erase(0, begin);
  }
  for (const auto& [path, bytes] : cut) notes.push_back(absl::StrCat(path, " lacks its first ", HumanBytes(bytes)));
  for (auto it = longest(false); TotalOf(*contents) > most && it != contents->end(); it = longest(false)) {
    notes.push_back(absl::StrCat(it->first, " of ", HumanBytes(it->second.size()), " did not fit"));
    contents->erase(it);
  }
  return notes;
}

absl::StatusOr<std::string> SupportArchive(const SupportContents& contents, int64_t unix_seconds) {
  std::string tar;
  for (const auto& [path, content] : contents) {
    if (path.size() > 100) return absl::InternalError(absl::StrCat("the path is too long: ", path));
    AppendMember(path, content, unix_seconds, &tar);
  }
  tar.append(2 * kTarBlock, '\0');
  std::string out(ZSTD_compressBound(tar.size()), '\0');
  const size_t bytes = ZSTD_compress(out.data(), out.size(), tar.data(), tar.size(), kZstdLevel);
  if (ZSTD_isError(bytes) != 0) return absl::InternalError(absl::StrCat("zstd: ", ZSTD_getErrorName(bytes)));
  out.resize(bytes);
  return out;
}

absl::Status WritePrivateFile(const std::string& path, std::string_view content, bool replace) {
  const std::string what = absl::StrCat("writing ", path);
  RemoveTemporariesOf(path);
  std::string temporary = absl::StrCat(path, std::string(kTemporarySuffix));
  const OwnedFd fd(mkostemp(temporary.data(), O_CLOEXEC));  // mode 0600
  if (fd.get() < 0) return ErrnoStatus(errno, what);
  absl::Status written;
  while (!content.empty() && written.ok()) {
    const ssize_t bytes = write(fd.get(), content.data(), content.size());
    if (bytes >= 0) {
      content.remove_prefix(static_cast<size_t>(bytes));
    } else if (errno != EINTR) {
      written = ErrnoStatus(errno, what);
    }
  }
  if (written.ok() && fsync(fd.get()) != 0) written = ErrnoStatus(errno, what);
  // link() fails if the name exists.
  if (written.ok() &&
      (replace ? rename(temporary.c_str(), path.c_str()) : link(temporary.c_str(), path.c_str())) != 0) {
    written = errno == EEXIST
                  ? absl::AlreadyExistsError(absl::StrCat(path, " exists; name another file, or use --replace"))
                  : ErrnoStatus(errno, what);
  }
  if (!replace || !written.ok()) unlink(temporary.c_str());
  return written;
}

}  // namespace penstock::cli
