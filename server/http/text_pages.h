// Pages whose text takes time to make. They are made on a thread of a pool, so that the server's thread stays free.
#ifndef PENSTOCK_SERVER_HTTP_TEXT_PAGES_H_
#define PENSTOCK_SERVER_HTTP_TEXT_PAGES_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/runtime/thread_pool.h"
#include "server/http/http_message.h"

namespace penstock::server {

// Makes the text of a page. Runs on a thread of the pool, and may block it for a short time.
using PageText = std::function<std::string()>;

// Obtains the data of a page and calls `done` once, on any thread, with a function that converts them to text, or with
// an error. Must not block.
using PageDone = std::function<void(absl::StatusOr<PageText>)>;
using PageSource = std::function<void(PageDone done)>;

// Adds a page. Requests that arrive while the source obtains data share its next result, so that any number of clients
// causes one query at a time. An error is answered with 503 and its message, and so is a request if too many wait. The
// page keeps a reference to the pool. Replies under way may keep it longer than the server, so the caller stops the
// pool (ThreadPool::Stop) after the server and before it drops its own reference.
void AddSharedPage(const std::string& path, std::string content_type, PageSource source,
                   std::shared_ptr<ThreadPool> pool, HttpRoutes* routes);

// Obtains the data of a page for one request. Otherwise as PageSource.
using QuerySource = std::function<void(const HttpRequest& request, PageDone done)>;

// Adds a page that depends on the query. The source is called for each request, on the server's thread. The errors
// NotFound and FailedPrecondition become 404 and 409, others 503. Otherwise as AddSharedPage.
void AddQueryPage(const std::string& path, std::string content_type, QuerySource source,
                  std::shared_ptr<ThreadPool> pool, HttpRoutes* routes);

// Returns the decoded value of the first field `name` in a query, such as "a b" for "job=a%20b", or "" without one.
std::string QueryValue(std::string_view query, std::string_view name);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_HTTP_TEXT_PAGES_H_
