#include "server/coordinator/state/files_changed.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace penstock::coordinator {
namespace {

constexpr size_t kNamed = 3;

std::string Name(const v1::Shard& file) { return absl::StrCat(file.root(), "/", file.path()); }

// Files with the same kind of change. Counts all of them and names the first few.
class Group {
 public:
  void Add(std::string file) {
    if (++count_ <= kNamed) files_.push_back(std::move(file));
  }
  void AddTo(const std::string& what, std::vector<std::string>* out) const {
    if (count_ == 0) return;
    const std::string more = count_ > kNamed ? ", ..." : "";
    out->push_back(absl::StrCat(count_, " ", what, " (", absl::StrJoin(files_, ", "), more, ")"));
  }

 private:
  size_t count_ = 0;
  std::vector<std::string> files_;
};

}  // namespace

std::string FilesChanged(const v1::Snapshot& then, const google::protobuf::RepeatedPtrField<v1::Shard>& now,
                         const google::protobuf::RepeatedField<uint32_t>& set_files) {
  const auto& before = then.shards();
  const auto place = [](const v1::Shard& file) { return std::pair(file.root(), file.path()); };
  Group added, gone, resized;
  int i = 0, j = 0;
  const auto compare = [&](int end_i, int end_j) {
    while (i < end_i || j < end_j) {
      if (j == end_j || (i < end_i && place(before[i]) < place(now[j]))) {
        gone.Add(Name(before[i++]));
      } else if (i == end_i || place(now[j]) < place(before[i])) {
        added.Add(Name(now[j++]));
      } else {
        if (before[i].size() != now[j].size()) {
          resized.Add(absl::StrCat(Name(now[j]), ": ", before[i].size(), " bytes, ", now[j].size(), " now"));
        }
        ++i, ++j;
      }
    }
  };
  const int sets = std::min(then.set_shards_size(), set_files.size());
  for (int set = 0; set < sets; ++set) {
    compare(std::min(before.size(), i + static_cast<int>(then.set_shards(set))),
            std::min(now.size(), j + static_cast<int>(set_files[set])));
  }
  compare(before.size(), now.size());
  std::vector<std::string> parts;
  added.AddTo("new", &parts);
  gone.AddTo("gone", &parts);
  resized.AddTo("of another size", &parts);
  return absl::StrJoin(parts, ", ");
}

}  // namespace penstock::coordinator
