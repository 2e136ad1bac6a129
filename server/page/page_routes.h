// The routes of the web page: its files, its data, and the login of a browser.
#ifndef PENSTOCK_SERVER_PAGE_PAGE_ROUTES_H_
#define PENSTOCK_SERVER_PAGE_PAGE_ROUTES_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/runtime/thread_pool.h"
#include "penstock/v1/control.pb.h"
#include "penstock/v1/explain.pb.h"
#include "server/http/http_message.h"
#include "server/http/http_sessions.h"

namespace penstock::server {

// Calls the function once, on any thread, with the reply or an error.
template <typename Reply>
using ReplyDone = std::function<void(absl::StatusOr<Reply>)>;

// Sources of the page's data. The functions must not block.
struct PageSources {
  std::string coordinator;  // address for commands
  std::function<void(ReplyDone<v1::StatusReply>)> status;
  std::function<void(v1::ExplainRequest, ReplyDone<v1::ExplainReply>)> explain;
  std::function<void(v1::ListShardsRequest, ReplyDone<v1::ListShardsReply>)> shards;
  std::function<void(v1::QuarantineRequest, ReplyDone<v1::QuarantineReply>)> quarantine;
};

// Adds the routes. The files are open to all clients, because a browser without a token needs them to ask for one.
// Looks at the status every few seconds, on the pool, until the pool stops.
void AddPage(PageSources sources, std::shared_ptr<HttpSessions> sessions, std::shared_ptr<ThreadPool> pool,
             HttpRoutes* routes);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_PAGE_PAGE_ROUTES_H_
