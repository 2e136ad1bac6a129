// A machine that tests describe, and a token service whose answers they choose.
#ifndef PENSTOCK_TESTS_PIPELINE_STORAGE_OBJECT_KEY_TESTING_H_
#define PENSTOCK_TESTS_PIPELINE_STORAGE_OBJECT_KEY_TESTING_H_

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "pipeline/storage/object/common/bearer_token.h"
#include "pipeline/storage/object/common/environment.h"
#include "tests/support/http_server/http_server.h"

namespace penstock::storage {

class KeyTest : public testing::Test {
 protected:
  Environment Machine() {
    return {.variable = [this](const std::string& name) { return variables_[name]; },
            .file = [this](const std::string& path) -> absl::StatusOr<std::string> {
              const auto found = files_.find(path);
              if (found == files_.end()) return absl::NotFoundError(absl::StrCat(path, ": No such file"));
              return found->second;
            },
            .now = [this] { return now_.load(); }};
  }
  static absl::StatusOr<BearerToken> Get(TokenSource* source) {
    return WaitForCall<BearerToken>([source](CallDone<BearerToken> done) { source->Get(std::move(done)); });
  }
  std::vector<support::ServedRequest> Asked() {
    MutexLock lock(&mutex_);
    return asked_;
  }

  std::map<std::string, std::string> variables_ = {{"HOME", "/home/me"}};
  std::map<std::string, std::string> files_;
  std::atomic<int64_t> now_{1'790'000'000};
  std::function<support::ServedAnswer(const support::ServedRequest&)> answer_ = [](const support::ServedRequest&) {
    return support::ServedAnswer{.body = "{\"access_token\": \"token-1\", \"expires_in\": 3600}"};
  };
  Mutex mutex_;
  std::vector<support::ServedRequest> asked_ ABSL_GUARDED_BY(mutex_);
  support::HttpServer server_{[this](const support::ServedRequest& request) {
    {
      MutexLock lock(&mutex_);
      asked_.push_back(request);
    }
    return answer_(request);
  }};
  HttpClient http_{1};
};

}  // namespace penstock::storage

#endif  // PENSTOCK_TESTS_PIPELINE_STORAGE_OBJECT_KEY_TESTING_H_
