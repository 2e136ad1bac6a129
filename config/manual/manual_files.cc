#include "config/manual/manual_files.h"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "config/manual/completion.h"
#include "config/manual/man_page.h"

namespace penstock::config {

std::vector<ManualFile> ManualFilesOf(const ProgramText& program) {
  const auto page_path = [&](const std::string& page) {
    return absl::StrCat("man/man", program.section, "/", page, ".", program.section);
  };
  std::vector<ManualFile> files = {
      {page_path(program.name), ManPageOf(program)},
      {absl::StrCat("bash-completion/completions/", program.name), BashCompletionOf(program)},
      {absl::StrCat("zsh/vendor-completions/_", program.name), ZshCompletionOf(program)},
  };
  for (const CommandText& command : program.commands) {
    if (command.description.empty()) continue;
    files.push_back({page_path(absl::StrCat(program.name, "-", command.name)), ManPageOf(program, command)});
  }
  return files;
}

absl::Status RunManual(const ProgramText& program, const std::string& form, const std::string& out) {
  if (!form.empty() && form != "man" && form != "bash" && form != "zsh") {
    return absl::InvalidArgumentError(absl::StrCat("'", form, "' is not man, bash or zsh"));
  }
  if (out.empty()) {
    const std::string text = form == "bash"  ? BashCompletionOf(program)
                             : form == "zsh" ? ZshCompletionOf(program)
                                             : ManPageOf(program);
    std::fputs(text.c_str(), stdout);
    return absl::OkStatus();
  }
  if (!form.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--out writes all files; leave out '", form, "'"));
  }
  for (const ManualFile& file : ManualFilesOf(program)) {
    const std::string path = absl::StrCat(out, "/", file.path);
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return ErrnoStatus(error.value(), absl::StrCat("cannot make the folder ", folder.string()));
    PS_RETURN_IF_ERROR(WriteFileAtomically(path, file.content));
  }
  return absl::OkStatus();
}

}  // namespace penstock::config
