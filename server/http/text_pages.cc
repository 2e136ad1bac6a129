#include "server/http/text_pages.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"

namespace penstock::server {
namespace {

// Limit of the requests for one page that wait. A server has fewer connections than this by default.
constexpr size_t kMaxWaiting = 256;

HttpAnswer PageError(const std::string& why) {
  HttpAnswer answer;
  answer.status = 503;
  answer.body = absl::StrCat(why, "\n");
  return answer;
}

HttpAnswer TooManyRequests() { return PageError("too many requests wait for this page; try again"); }

// A page whose waiting requests share a result.
class SharedPage : public std::enable_shared_from_this<SharedPage> {
 public:
  SharedPage(std::string content_type, PageSource source, std::shared_ptr<ThreadPool> pool)
      : content_type_(std::move(content_type)), source_(std::move(source)), pool_(std::move(pool)) {}

  void Ask(HttpReply reply) {
    bool full = false, first = false;
    {
      MutexLock lock(&mutex_);
      full = waiting_.size() >= kMaxWaiting;
      if (!full) {
        waiting_.push_back(reply);
        first = !std::exchange(busy_, true);
      }
    }
    if (full) return reply(TooManyRequests());
    if (first) Begin();
  }

 private:
  using Replies = std::vector<HttpReply>;

  // Starts a query for all requests that wait.
  void Begin() {
    auto replies = std::make_shared<Replies>();
    {
      MutexLock lock(&mutex_);
      replies->swap(waiting_);
      busy_ = !replies->empty();
      if (!busy_) return;
    }
    source_([self = shared_from_this(), replies](absl::StatusOr<PageText> text) {
      if (!text.ok()) return self->Answer(*replies, PageError(std::string(text.status().message())));
      const bool queued = self->pool_->TryPost(
          [self, replies, text = *std::move(text)] {
            HttpAnswer answer;
            answer.content_type = self->content_type_;
            answer.body = text();
            self->Answer(*replies, answer);
          },
          kMaxWaiting);
      if (!queued) self->Answer(*replies, TooManyRequests());
    });
  }

  void Answer(const Replies& replies, const HttpAnswer& answer) {
    for (const HttpReply& reply : replies) reply(answer);
    // The pool's thread starts the next query, so that a source that answers at once does not recurse.
    const bool queued = pool_->TryPost([self = shared_from_this()] { self->Begin(); }, 2 * kMaxWaiting);
    if (queued) return;
    MutexLock lock(&mutex_);  // the pool has stopped
    busy_ = false;
  }

  const std::string content_type_;
  const PageSource source_;
  const std::shared_ptr<ThreadPool> pool_;
  Mutex mutex_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // a query is under way
  Replies waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void AddSharedPage(const std::string& path, std::string content_type, PageSource source,
                   std::shared_ptr<ThreadPool> pool, HttpRoutes* routes) {
  HttpRoute route;
  route.handler = [page = std::make_shared<SharedPage>(std::move(content_type), std::move(source), std::move(pool))](
                      const HttpRequest&, const HttpReply& reply) { page->Ask(reply); };
  routes->Add(path, std::move(route));
}

}  // namespace penstock::server
