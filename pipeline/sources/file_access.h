// The files that shards and their records name: their storage and the data roots.
#ifndef PENSTOCK_PIPELINE_SOURCES_FILE_ACCESS_H_
#define PENSTOCK_PIPELINE_SOURCES_FILE_ACCESS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/sources/dataset_files.h"
#include "pipeline/storage/storage.h"

namespace penstock::sources {

struct FileAccess {
  storage::Storage* storage = nullptr;  // must outlive all users
  std::vector<DataRoot> roots;
};

inline std::shared_ptr<const FileAccess> AccessTo(storage::Storage* storage, std::vector<DataRoot> roots) {
  return std::make_shared<const FileAccess>(FileAccess{storage, std::move(roots)});
}

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_FILE_ACCESS_H_
