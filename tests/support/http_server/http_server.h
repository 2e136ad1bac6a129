// A small HTTP server for tests: on this machine, with a thread per connection. A function makes the answers.
#ifndef PENSTOCK_TESTS_SUPPORT_HTTP_SERVER_HTTP_SERVER_H_
#define PENSTOCK_TESTS_SUPPORT_HTTP_SERVER_HTTP_SERVER_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/owned_fd.h"

namespace penstock::support {

struct ServedRequest {
  std::string method, path, query;             // "/bucket/a%20b", "list-type=2"
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

struct ServedAnswer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  // Faults. The server ends the connection after `cut_after` bytes of the body. After `stall_after` bytes it sends
  // nothing more, and keeps the connection open.
  std::optional<size_t> cut_after = {}, stall_after = {};
};

// Answers that replace a server's own. Initially there are none. Thread-safe.
class ServedFault {
 public:
  // Returns nullopt for the server's own answer. Called without locks, on many threads.
  using Answer = std::function<std::optional<ServedAnswer>(const ServedRequest&)>;

  // Replaces the function. Returns after all running calls of the old one have returned.
  ServedFault& operator=(Answer answer);
  std::optional<ServedAnswer> operator()(const ServedRequest& request);

 private:
  struct Current {
    Answer answer;
    int running = 0;  // guarded by the mutex
  };
  Mutex mutex_;
  CondVar returned_;
  std::shared_ptr<Current> current_ ABSL_GUARDED_BY(mutex_);
};

// Ends a fault. A request may reach a server after its test has ended and no caller waits for the answer. Declared
// after the variables that the fault uses, this ends the fault before they are destroyed.
class FaultEnds {
 public:
  explicit FaultEnds(ServedFault* fault) : fault_(fault) {}
  ~FaultEnds() { *fault_ = nullptr; }
  FaultEnds(const FaultEnds&) = delete;
  FaultEnds& operator=(const FaultEnds&) = delete;

 private:
  ServedFault* const fault_;
};

class HttpServer {
 public:
  using Answer = std::function<ServedAnswer(const ServedRequest&)>;
  // Calls `answer` on many threads. Sets no_proxy in this process's environment.
  explicit HttpServer(Answer answer);
  ~HttpServer();

  std::string url() const;  // "http://127.0.0.1:12345"
  int requests() const { return requests_.load(); }
  // Blocks until the number of open connections is `connections`.
  void WaitForOpen(int connections);

 private:
  void Accept();
  void Serve(int socket);

  const Answer answer_;
  OwnedFd listener_;
  int port_ = 0;
  std::atomic<int> requests_{0};
  Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<int> open_ ABSL_GUARDED_BY(mutex_);
  CondVar open_changed_;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  std::thread acceptor_;
};

// Decodes percent-encoding.
std::string Unescaped(const std::string& text);
// Parses "a=1&b=%20".
std::map<std::string, std::string> FieldsOfQuery(const std::string& query);

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_HTTP_SERVER_HTTP_SERVER_H_
