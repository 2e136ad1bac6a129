// Checks of folders and of the storage of data sets. They block as long as the file system or the storage does.
#ifndef PENSTOCK_SERVER_SELF_CHECKS_FOLDER_CHECKS_H_
#define PENSTOCK_SERVER_SELF_CHECKS_FOLDER_CHECKS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pipeline/sources/dataset_files.h"
#include "pipeline/storage/storage.h"
#include "server/self_checks/self_checks.h"

namespace penstock::server {

// Finds a folder of the daemon that cannot be written, or whose disk is nearly full.
v1::Finding CheckWritableFolder(const std::string& folder);

// Finds a data root that is missing, empty or unreadable, or whose storage rejects this process.
v1::Finding CheckDataRoot(storage::Storage* storage, const sources::DataRoot& root);

// Finds credentials of storage that end in the next minutes, because they could not be renewed. `end`: in seconds since
// 1970, or 0 if none ends.
v1::Finding CheckStorageCredentials(int64_t end, int64_t now);

// Return the checks of a worker's data roots, with one of their storage's credentials if any of them is a URL, and the
// check of a folder of the daemon. `storage` must live as long as the process.
std::vector<SelfCheck> DataRootChecks(storage::Storage* storage, const std::vector<sources::DataRoot>& roots);
SelfCheck WritableFolderCheck(const std::string& name, const std::string& folder);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_SELF_CHECKS_FOLDER_CHECKS_H_
