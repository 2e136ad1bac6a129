// Requests to the HTTP port of a daemon, their answers, and the table of handlers.
#ifndef PENSTOCK_SERVER_HTTP_HTTP_MESSAGE_H_
#define PENSTOCK_SERVER_HTTP_HTTP_MESSAGE_H_

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace penstock::server {

struct HttpRequest {
  std::string method;      // "GET" or "HEAD"; the server omits the body of the answer to HEAD
  std::string path;        // "/healthz", as sent: percent-encoding is not decoded
  std::string query;       // the text after "?", as sent
  std::string token = {};  // shown in the field Authorization, or that of the session in the cookie; "": none
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> fields = {};  // further fields of the head: name, value
};

// Sends the answer to one request. The first call counts; later ones do nothing. Any thread may call it, also after the
// connection has gone and after the server has stopped; then it does nothing.
using HttpReply = std::function<void(HttpAnswer)>;

// Runs on the server's thread and must not block. It may call `reply` before it returns, or keep it for later.
using HttpHandler = std::function<void(const HttpRequest& request, HttpReply reply)>;

struct HttpRoute {
  HttpHandler handler;
  // Without a reply in this time, the server answers 503 with the text `late`.
  std::chrono::milliseconds timeout = std::chrono::seconds(5);
  std::string late = "the daemon did not answer in time; try again";
  bool open = false;  // serves clients without a token, even if the server asks for tokens
};

// The handlers of a server by path.
class HttpRoutes {
 public:
  // Adds a route, or replaces the one of this path. `path` begins with "/" and has no query.
  void Add(std::string path, HttpRoute route) { routes_.insert_or_assign(std::move(path), std::move(route)); }
  // Returns null if there is none.
  const HttpRoute* Find(const std::string& path) const {
    const auto found = routes_.find(path);
    return found == routes_.end() ? nullptr : &found->second;
  }
  // Returns all paths in alphabetical order.
  std::vector<std::string> Paths() const {
    std::vector<std::string> paths;
    for (const auto& [path, route] : routes_) paths.push_back(path);
    return paths;
  }

 private:
  std::map<std::string, HttpRoute> routes_;
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_HTTP_HTTP_MESSAGE_H_
