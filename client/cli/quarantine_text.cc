#include "client/cli/quarantine_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/output.h"

namespace penstock::cli {

std::string ReasonsText(const google::protobuf::RepeatedPtrField<v1::ReasonCount>& reasons) {
  return absl::StrJoin(reasons, ", ", [](std::string* out, const v1::ReasonCount& count) {
    absl::StrAppend(out, Count(count.records()), " ", count.reason());
  });
}

std::string QuarantineText(const v1::QuarantineReply& quarantine) {
  const std::string of =
      absl::StrCat(" of the ", Count(quarantine.records(), "record"), " of job '", quarantine.job(), "'");
  if (quarantine.bad_records() == 0) return absl::StrCat("no record", of, " is known to be bad\n");
  Table table({"FILE", "RECORD", "OFFSET", "REASON", "MESSAGE"}, {1, 2});
  for (const v1::QuarantineReply::Entry& entry : quarantine.entries()) {
    table.Add({absl::StrCat(entry.root(), ":", entry.path()), absl::StrCat(entry.record()),
               entry.has_offset() ? absl::StrCat(entry.offset()) : "-", entry.reason(), entry.message()});
  }
  std::string out = quarantine.entries().empty() ? "" : absl::StrCat(table.Text(), "\n");
  absl::StrAppend(&out, Count(quarantine.bad_records()), of, quarantine.bad_records() == 1 ? " is" : " are",
                  " bad: ", ReasonsText(quarantine.reasons()), "\n");
  if (quarantine.left_out() > 0) {
    absl::StrAppend(&out, Count(quarantine.left_out()), " of them ", quarantine.left_out() == 1 ? "is" : "are",
                    " not listed: the list keeps the first that were found\n");
  }
  return out;
}

}  // namespace penstock::cli
