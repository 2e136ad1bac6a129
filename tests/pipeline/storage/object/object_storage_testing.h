// An ObjectStorage and its S3 server, whose answers a test may spoil.
#ifndef PENSTOCK_TESTS_PIPELINE_STORAGE_OBJECT_OBJECT_STORAGE_TESTING_H_
#define PENSTOCK_TESTS_PIPELINE_STORAGE_OBJECT_OBJECT_STORAGE_TESTING_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/mutex.h"
#include "pipeline/storage/object/object_storage.h"
#include "tests/support/http_server/fake_s3.h"
#include "tests/support/http_server/http_server.h"

namespace penstock::storage {

inline constexpr int64_t kToday = 1'790'000'000;

class ObjectStorageTest : public testing::Test {
 protected:
  ObjectStorage::Options Options() {
    ObjectStorage::Options options;
    options.s3.endpoint = server_.url();
    options.s3.path_style = true;
    options.s3.now = [] { return kToday; };
    options.environment.variable = [this](const std::string& name) {
      MutexLock lock(&mutex_);
      return variables_[name];
    };
    options.environment.file = [](const std::string& path) { return absl::NotFoundError(path); };
    options.environment.now = [] { return kToday; };
    options.pause = kMillisecond;
    return options;
  }
  // Reads the whole object.
  static absl::StatusOr<std::string> ReadAll(Storage* storage, const std::string& name) {
    auto file = storage->OpenAndWait(name);
    if (!file.ok()) return file.status();
    std::string bytes((*file)->opened().size + 10, '\0');
    const auto read = (*file)->ReadAt(0, bytes.size(), bytes.data());
    if (!read.ok()) return read.status();
    bytes.resize(*read);
    return bytes;
  }
  // Returns true once for each path.
  bool First(const std::string& path) {
    MutexLock lock(&mutex_);
    return seen_.insert(path).second;
  }

  Mutex mutex_;
  std::map<std::string, std::string> variables_ ABSL_GUARDED_BY(mutex_) = {{"AWS_ACCESS_KEY_ID", "id"},
                                                                           {"AWS_SECRET_ACCESS_KEY", "hunter2"}};
  std::set<std::string> seen_ ABSL_GUARDED_BY(mutex_);
  support::FakeS3 s3_;
  support::HttpServer server_{[this](const support::ServedRequest& request) { return s3_(request); }};
};

}  // namespace penstock::storage

#endif  // PENSTOCK_TESTS_PIPELINE_STORAGE_OBJECT_OBJECT_STORAGE_TESTING_H_
