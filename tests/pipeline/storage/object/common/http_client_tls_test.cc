// A server that closes a TLS connection while the client writes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "pipeline/storage/object/common/http_client.h"
#include "pipeline/storage/storage_wait.h"
#include "tests/support/certificates/closing_server.h"
#include "tests/support/temp_folder.h"

namespace penstock::storage {
namespace {

// Sends a request with a body, and returns whether it fails.
bool UploadFails() {
  support::TempFolder folder;
  support::ClosingServer server(support::ClosingServer::When::kInRequest);
  std::ofstream(folder.File("ca.pem")) << server.authority().pem();
  setenv("CURL_CA_BUNDLE", folder.File("ca.pem").c_str(), 1);
  HttpClient client(1);
  HttpRequest request;
  request.method = HttpRequest::Method::kPut;
  request.url = absl::StrCat("https://localhost:", server.port(), "/bucket/file");
  request.body = std::string(size_t{8} << 20, 'x');
  return !WaitForCall<HttpResponse>([&](CallDone<HttpResponse> done) {
            client.Send(std::move(request), CallOptions(), std::move(done));
          }).ok();
}

TEST(HttpClientTls, AServerThatClosesDuringAnUploadIsAnErrorAndNoSignal) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has not looked for its authorities yet
  EXPECT_EXIT(std::_Exit(UploadFails() ? 0 : 1), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace penstock::storage
