#include "pipeline/sources/tar/sample_name.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/json.h"
#include "pipeline/sources/tar/tar_header.h"

namespace penstock::sources {
namespace {

// Whether Python's re.match(r"__[^/]*__($|/)", name) matches. "$" also matches before a newline at the end.
bool IsMetadata(std::string_view name) {
  std::string_view first = name.substr(0, name.find('/'));
  if (first.size() == name.size() && !first.empty() && first.back() == '\n') first.remove_suffix(1);
  return first.size() >= 4 && first.substr(0, 2) == "__" && first.substr(first.size() - 2) == "__";
}

}  // namespace

std::optional<SampleName> ParseSampleName(std::string_view member_name) {
  if (IsMetadata(member_name)) return std::nullopt;
  // The key and the extension match ^((?:.*/|)[^.]+)[.]([^/]*)$. The dot is therefore the first one after the last
  // slash.
  const size_t slash = member_name.rfind('/');
  const size_t dot = member_name.find('.', slash == std::string_view::npos ? 0 : slash);
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  const std::string_view key = member_name.substr(0, dot);
  // [^.]+ may contain slashes: it begins anywhere after the last dot of the key, at the start of the name or after a
  // slash. So "a/.jpg" has the key "a/", and "a.b/.jpg" has none.
  const size_t last_dot = key.rfind('.');
  if (last_dot != std::string_view::npos) {
    const size_t folder_end = key.find('/', last_dot);
    if (folder_end + 1 >= key.size()) return std::nullopt;
    // In Python's regular expressions, "." matches no newline.
    if (key.substr(0, folder_end).find('\n') != std::string_view::npos) return std::nullopt;
  }
  SampleName name{.key = key, .extension = std::string(member_name.substr(dot + 1))};
  absl::AsciiStrToLower(&name.extension);
  return name;
}

absl::Status ForEachSampleMember(std::string_view span,
                                 absl::FunctionRef<absl::Status(const SampleName& name, std::string_view data)> visit) {
  const auto bad = [](uint64_t offset, absl::string_view reason) {
    return absl::InvalidArgumentError(absl::StrCat("the sample at byte ", offset, ": ", reason));
  };
  TarAssembler assembler;
  std::optional<std::string> sample_key;
  size_t at = 0;
  while (at < span.size()) {
    const size_t header = at;
    if (span.size() - at < kTarBlockBytes) return bad(header, "a header is cut off");
    const auto next = assembler.AddHeader(span.data() + at);
    if (!next.ok()) return bad(header, next.status().message());
    at += kTarBlockBytes;
    const uint64_t left = span.size() - at;
    switch (*next) {
      case TarAssembler::Next::kHeader:
        break;
      case TarAssembler::Next::kEnd:
        return bad(header, "a zero block, where a member must begin");
      case TarAssembler::Next::kExtension: {
        const uint64_t bytes = assembler.extension_bytes();
        if (TarPaddedBytes(bytes) > left) return bad(header, "an extension header is cut off");
        const absl::Status status = assembler.AddExtension(span.substr(at, bytes));
        if (!status.ok()) return bad(header, status.message());
        at += TarPaddedBytes(bytes);
        break;
      }
      case TarAssembler::Next::kMember: {
        const TarMember& member = assembler.member();
        if (TarPaddedBytes(member.size) > left) {
          return bad(header, absl::StrCat("member ", Json::Quote(member.name), " is cut off: it has ", member.size,
                                          " bytes of data, and ", left, " bytes follow its header"));
        }
        const std::string_view data = span.substr(at, member.size);
        at += TarPaddedBytes(member.size);
        if (!member.is_file) break;
        const std::optional<SampleName> name = ParseSampleName(member.name);
        if (!name.has_value()) break;
        if (!sample_key.has_value()) sample_key = std::string(name->key);
        if (name->key != *sample_key) {
          return bad(header, absl::StrCat("member ", Json::Quote(member.name), " belongs to another sample than ",
                                          Json::Quote(*sample_key)));
        }
        const absl::Status status = visit(*name, data);
        if (!status.ok()) return status;
        break;
      }
    }
  }
  if (assembler.awaits_member()) return bad(at, "an extension header has no member");
  return absl::OkStatus();
}

}  // namespace penstock::sources
