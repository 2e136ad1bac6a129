// The HTTP port of penstockd: /healthz, /readyz, /metrics and, with a coordinator, the web page and its data.
#ifndef PENSTOCK_SERVER_DAEMON_HTTP_H_
#define PENSTOCK_SERVER_DAEMON_HTTP_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/runtime/thread_pool.h"
#include "server/coordinator/service/coordinator.h"
#include "server/http/http_server.h"
#include "server/worker/worker.h"

namespace penstock::server {

// The parts of this process, at least one. They must outlive the port's Stop().
struct DaemonParts {
  coordinator::Coordinator* coordinator = nullptr;
  worker::Worker* worker = nullptr;
  std::string advertise = {};        // address of the coordinator for the page's commands; "": the listening address
  RecordCall record_call = nullptr;  // called for rejected requests; may be null
  std::function<bool()> tokens_fault = nullptr;  // returns whether the file of --tokens has a fault; unset: no file
};

class DaemonHttp {
 public:
  // Starts to serve the pages of `parts` at options.listen. Errors are those of HttpServer::Start.
  static absl::StatusOr<std::unique_ptr<DaemonHttp>> Start(HttpOptions options, const DaemonParts& parts);

  // Calls Stop().
  ~DaemonHttp() { Stop(); }

  std::string address() const { return server_->address(); }  // the requested host, with the bound port
  int port() const { return server_->port(); }

  // Closes all connections. No page calls the parts after this has returned. A second call does nothing.
  void Stop();

 private:
  DaemonHttp(std::shared_ptr<ThreadPool> pages, std::unique_ptr<HttpServer> server)
      : pages_(std::move(pages)), server_(std::move(server)) {}

  const std::shared_ptr<ThreadPool> pages_;  // makes texts that take time; replies under way may keep it longer
  const std::unique_ptr<HttpServer> server_;
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_DAEMON_HTTP_H_
