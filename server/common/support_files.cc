#include "server/common/support_files.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/host_facts.h"
#include "server/common/recent_log.h"

namespace penstock::server {

void AddSupportFile(std::string_view name, std::string content, SupportFiles* out) {
  if (content.size() > kMostSupportFileBytes) {
    size_t begin = content.find('\n', content.size() - kMostSupportFileBytes);
    begin = begin == std::string::npos ? content.size() - kMostSupportFileBytes : begin + 1;
    content = absl::StrCat("(the first ", begin, " bytes are left out)\n", content.substr(begin));
  }
  v1::SupportFile* const file = out->Add();
  file->set_name(std::string(name));
  file->set_content(std::move(content));
}

void AddProcessFiles(const std::string& configuration, SupportFiles* out) {
  AddSupportFile("log.txt", RecentLog::OfProcess()->Text(), out);
  AddSupportFile("configuration.txt", configuration, out);
  AddSupportFile("host.txt", HostFacts(), out);
}

}  // namespace penstock::server
