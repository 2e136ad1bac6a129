#include "client/cli/first_records.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::cli {

void ReadFirstRecords(const sources::ShardReader& reader, uint64_t most,
                      const std::function<absl::Status(sources::ContainerKind, std::string_view)>& use,
                      const std::function<void(absl::Status)>& skip) {
  const sources::ContainerKind container = reader.index().kind().container;
  std::string record;
  for (uint64_t k = 0; k < std::min(most, reader.index().record_count()); ++k) {
    if (absl::Status read = reader.ReadRecord(k, &record); !read.ok()) {
      skip(std::move(read));
    } else if (const absl::Status used = use(container, record); !used.ok()) {
      skip(absl::Status(used.code(), absl::StrCat(reader.path(), ", record ", k, ": ", used.message())));
    }
  }
}

}  // namespace penstock::cli
