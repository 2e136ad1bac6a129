#include "server/page/page_routes.h"

#include <cstddef>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "net/message_json.h"
#include "server/http/text_pages.h"
#include "server/page/page_files.h"
#include "server/page/page_history.h"
#include "server/page/page_json.h"

namespace penstock::server {
namespace {

constexpr Nanos kLook = 5 * kSecond;  // between two looks at the status
constexpr size_t kMostRanks = 32;     // with a chart in one answer
constexpr size_t kMostShards = 200;
constexpr char kJson[] = "application/json";

// The browser loads scripts and styles only from this port, sends requests only to it, and runs no script and no style
// that is part of a text. No other page can put it in a frame.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

HttpRoute FileRoute(const PageFile& file) {
  HttpRoute route;
  route.open = true;
  route.handler = [file](const HttpRequest&, const HttpReply& reply) {
    HttpAnswer answer;
    answer.content_type = file.content_type;
    answer.body = std::string(file.bytes);
    answer.fields = {{"Content-Security-Policy", kPolicy},
                     {"Referrer-Policy", "no-referrer"},
                     {"Cross-Origin-Opener-Policy", "same-origin"},
                     {"Cross-Origin-Resource-Policy", "same-origin"}};
    reply(std::move(answer));
  };
  return route;
}

// A request that the server admits shows a valid token. The field Authorization cannot come from another site.
HttpRoute LoginRoute(std::shared_ptr<HttpSessions> sessions) {
  HttpRoute route;
  route.handler = [sessions = std::move(sessions)](const HttpRequest& request, const HttpReply& reply) {
    HttpAnswer answer;
    answer.body = "ok\n";
    if (!request.token.empty()) answer.fields = {{"Set-Cookie", sessions->Open(request.token)}};
    reply(std::move(answer));
  };
  return route;
}

// The history, which looks at the status again and again.
class Watcher : public std::enable_shared_from_this<Watcher> {
 public:
  Watcher(PageSources sources, std::weak_ptr<ThreadPool> pool) : sources_(std::move(sources)), pool_(std::move(pool)) {}

  void Look() {
    sources_.status([self = shared_from_this()](absl::StatusOr<v1::StatusReply> status) {
      if (!status.ok()) return;
      MutexLock lock(&self->mutex_);
      self->history_.Add(absl::ToUnixSeconds(absl::Now()), *status);
    });
    const std::shared_ptr<ThreadPool> pool = pool_.lock();
    if (pool == nullptr) return;
    pool->PostAt(pool->clock()->Now() + kLook, [self = shared_from_this()] { self->Look(); });
  }
  std::string RanksJson(const std::string& job) {
    MutexLock lock(&mutex_);
    return history_.RanksJson(job, kMostRanks);
  }
  std::string EventsJson() {
    MutexLock lock(&mutex_);
    return history_.EventsJson();
  }

 private:
  const PageSources sources_;
  const std::weak_ptr<ThreadPool> pool_;
  Mutex mutex_;
  PageHistory history_ ABSL_GUARDED_BY(mutex_);
};

// Returns a callback that calls `done` with the text that `convert` makes of the reply.
template <typename Reply, typename Convert>
ReplyDone<Reply> Converted(PageDone done, Convert convert) {
  return [done = std::move(done), convert = std::move(convert)](absl::StatusOr<Reply> reply) {
    if (!reply.ok()) return done(reply.status());
    auto kept = std::make_shared<const Reply>(*std::move(reply));
    done(PageText([kept, convert] { return convert(*kept) + "\n"; }));
  };
}

}  // namespace

void AddPage(PageSources sources, std::shared_ptr<HttpSessions> sessions, std::shared_ptr<ThreadPool> pool,
             HttpRoutes* routes) {
  for (const PageFile& file : PageFiles()) routes->Add(file.path, FileRoute(file));
  routes->Add("/api/v1/login", LoginRoute(std::move(sessions)));

  const auto watcher = std::make_shared<Watcher>(sources, pool);
  pool->Post([watcher] { watcher->Look(); });
  AddQueryPage(
      "/api/v1/history", kJson,
      [watcher](const HttpRequest& request, const PageDone& done) {
        done(PageText([watcher, job = QueryValue(request.query, "job")] { return watcher->RanksJson(job) + "\n"; }));
      },
      pool, routes);
  AddSharedPage(
      "/api/v1/events", kJson,
      [watcher](const PageDone& done) { done(PageText([watcher] { return watcher->EventsJson() + "\n"; })); }, pool,
      routes);

  AddSharedPage(
      "/api/v1/explain", kJson,
      [explain = sources.explain, coordinator = sources.coordinator](PageDone done) {
        explain({}, Converted<v1::ExplainReply>(std::move(done), [coordinator](const v1::ExplainReply& reply) {
                  return ExplainJson(reply, coordinator);
                }));
      },
      pool, routes);
  AddQueryPage(
      "/api/v1/shards", kJson,
      [shards = sources.shards](const HttpRequest& request, PageDone done) {
        v1::ListShardsRequest query;
        query.set_job(QueryValue(request.query, "job"));
        shards(std::move(query), Converted<v1::ListShardsReply>(std::move(done), [](const v1::ListShardsReply& reply) {
                 return ShardsJson(reply, kMostShards);
               }));
      },
      pool, routes);
  AddQueryPage(
      "/api/v1/quarantine", kJson,
      [quarantine = sources.quarantine](const HttpRequest& request, PageDone done) {
        v1::QuarantineRequest query;
        query.set_job(QueryValue(request.query, "job"));
        quarantine(std::move(query),
                   Converted<v1::QuarantineReply>(
                       std::move(done), [](const v1::QuarantineReply& reply) { return net::MessageToJson(reply); }));
      },
      pool, routes);
}

}  // namespace penstock::server
