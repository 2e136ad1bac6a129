#include "server/http/text_pages.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"

namespace penstock::server {
namespace {

// Limit of the requests for one page that wait. A server has fewer connections than this by default.
constexpr size_t kMaxWaiting = 256;

HttpAnswer PageError(const std::string& why, int status = 503) {
  HttpAnswer answer;
  answer.status = status;
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

// Returns the value of a hexadecimal digit, or -1.
int HexDigit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(digit));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string Decoded(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 && HexDigit(text[i + 2]) >= 0) {
      out += static_cast<char>(16 * HexDigit(text[i + 1]) + HexDigit(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

int HttpStatusOf(const absl::Status& status) {
  if (absl::IsNotFound(status)) return 404;
  return absl::IsFailedPrecondition(status) ? 409 : 503;
}

}  // namespace

void AddSharedPage(const std::string& path, std::string content_type, PageSource source,
                   std::shared_ptr<ThreadPool> pool, HttpRoutes* routes) {
  HttpRoute route;
  route.handler = [page = std::make_shared<SharedPage>(std::move(content_type), std::move(source), std::move(pool))](
                      const HttpRequest&, const HttpReply& reply) { page->Ask(reply); };
  routes->Add(path, std::move(route));
}

void AddQueryPage(const std::string& path, std::string content_type, QuerySource source,
                  std::shared_ptr<ThreadPool> pool, HttpRoutes* routes) {
  HttpRoute route;
  route.handler = [content_type = std::move(content_type), source = std::move(source), pool = std::move(pool)](
                      const HttpRequest& request, const HttpReply& reply) {
    source(request, [content_type, pool, reply](absl::StatusOr<PageText> text) {
      if (!text.ok()) return reply(PageError(std::string(text.status().message()), HttpStatusOf(text.status())));
      const bool queued = pool->TryPost(
          [content_type, reply, text = *std::move(text)] {
            HttpAnswer answer;
            answer.content_type = content_type;
            answer.body = text();
            reply(std::move(answer));
          },
          kMaxWaiting);
      if (!queued) reply(TooManyRequests());
    });
  };
  routes->Add(path, std::move(route));
}

std::string QueryValue(std::string_view query, std::string_view name) {
  for (const absl::string_view field : absl::StrSplit(absl::string_view(query.data(), query.size()), '&')) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(field, absl::MaxSplits('=', 1));
    if (parts.first == absl::string_view(name.data(), name.size())) return Decoded(parts.second);
  }
  return "";
}

}  // namespace penstock::server
