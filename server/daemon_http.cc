#include "server/daemon_http.h"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "net/address.h"
#include "net/message_json.h"
#include "net/tls/handshake_fault.h"
#include "net/tls/live_certificates.h"
#include "penstock/v1/control.pb.h"
#include "penstock/v1/explain.pb.h"
#include "server/http/health_pages.h"
#include "server/http/http_message.h"
#include "server/http/http_sessions.h"
#include "server/http/text_pages.h"
#include "server/metrics/process_metrics.h"
#include "server/page/page_routes.h"
#include "server/peers/rejections.h"

namespace penstock::server {
namespace {

// A coordinator whose store another process has changed still answers: it ends by itself.
HealthCheck CoordinatorAlive(coordinator::Coordinator* coordinator) {
  return [coordinator](const HealthDone& done) {
    coordinator->CheckServing(
        [done](const absl::Status& status) { done(absl::IsResourceExhausted(status) ? status : absl::OkStatus()); });
  };
}

HealthChecks ChecksOf(const DaemonParts& parts) {
  HealthChecks coordinator, worker;
  if (parts.coordinator != nullptr) {
    coordinator.alive = CoordinatorAlive(parts.coordinator);
    coordinator.ready = [part = parts.coordinator](const HealthDone& done) { part->CheckServing(done); };
  }
  if (parts.worker != nullptr) {
    worker.alive = [part = parts.worker](const HealthDone& done) { part->CheckAlive(done); };
    worker.ready = [part = parts.worker](const HealthDone& done) { part->CheckReady(done); };
  }
  if (parts.worker == nullptr) return coordinator;
  if (parts.coordinator == nullptr) return worker;
  return {BothHealthy(coordinator.alive, worker.alive), BothHealthy(coordinator.ready, worker.ready)};
}

// The text of `penstock status --json`.
PageSource StatusOf(coordinator::Coordinator* coordinator) {
  return [coordinator](const PageDone& done) {
    coordinator->GetStatus([done](absl::StatusOr<v1::StatusReply> status) {
      if (!status.ok()) return done(status.status());
      auto reply = std::make_shared<const v1::StatusReply>(*std::move(status));
      done(PageText([reply] { return net::MessageToJson(*reply) + "\n"; }));
    });
  };
}

std::string_view RoleOf(const DaemonParts& parts) {
  if (parts.worker == nullptr) return "coordinator";
  return parts.coordinator == nullptr ? "worker" : "standalone";
}

// Returns nullopt without certificates.
std::optional<CertificateState> StateOf(const net::LiveCertificates* certificates) {
  if (certificates == nullptr) return std::nullopt;
  return CertificateState{static_cast<double>(absl::ToUnixSeconds(certificates->current()->expires)),
                          !certificates->fault().ok(), net::FailedHandshakes()};
}

// The metrics of the process and of its parts.
PageSource MetricsOf(const DaemonParts& parts, std::shared_ptr<const net::LiveCertificates> certificates) {
  // Runs on the pool's thread, which may block.
  const auto own = [role = std::string(RoleOf(parts)), worker = parts.worker, certificates = std::move(certificates),
                    tokens_fault = parts.tokens_fault] {
    const std::optional<bool> fault = tokens_fault == nullptr ? std::nullopt : std::optional(tokens_fault());
    return absl::StrCat(ProcessMetricsText(role, StateOf(certificates.get()), fault),
                        worker == nullptr ? "" : worker->Metrics());
  };
  if (parts.coordinator == nullptr) return [own](const PageDone& done) { done(PageText(own)); };
  return [own, coordinator = parts.coordinator](const PageDone& done) {
    coordinator->CollectMetrics([own, done](absl::StatusOr<coordinator::Coordinator::MetricsText> text) {
      if (!text.ok()) return done(text.status());
      done(PageText([own, text = *std::move(text)] { return absl::StrCat(own(), text()); }));
    });
  };
}

PageSources SourcesOf(coordinator::Coordinator* part, const std::string& advertise) {
  PageSources sources;
  sources.coordinator = advertise.empty() ? part->address() : advertise;
  sources.status = [part](ReplyDone<v1::StatusReply> done) { part->GetStatus(std::move(done)); };
  sources.explain = [part](v1::ExplainRequest request, ReplyDone<v1::ExplainReply> done) {
    part->Explain(std::move(request), std::move(done));
  };
  sources.shards = [part](v1::ListShardsRequest request, ReplyDone<v1::ListShardsReply> done) {
    part->ListShards(std::move(request), std::move(done));
  };
  sources.quarantine = [part](v1::QuarantineRequest request, ReplyDone<v1::QuarantineReply> done) {
    part->GetQuarantine(std::move(request), std::move(done));
  };
  return sources;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DaemonHttp>> DaemonHttp::Start(HttpOptions options, const DaemonParts& parts) {
  options.on_rejected = [record = parts.record_call, rejections = parts.coordinator != nullptr
                                                                      ? parts.coordinator->rejections()
                                                                      : parts.worker->rejections()](
                            const transport::Peer& peer, std::string_view path, const absl::Status& why) {
    rejections->Add(RejectionOf(peer, why));
    if (record != nullptr) record(peer, "HTTP", path, why);
  };
  auto pages = std::make_shared<ThreadPool>(1, "ps-pages");
  HttpRoutes routes;
  AddHealthPages(ChecksOf(parts), &routes);
  if (parts.coordinator != nullptr) {
    AddSharedPage("/api/v1/status", "application/json", StatusOf(parts.coordinator), pages, &routes);
    PS_ASSIGN_OR_RETURN(const net::Address listen, net::ParseAddress(options.listen));
    const auto sessions =
        std::make_shared<HttpSessions>(absl::StrCat("penstock-", listen.port), options.certificates != nullptr);
    options.sessions = sessions;
    AddPage(SourcesOf(parts.coordinator, parts.advertise), sessions, pages, &routes);
  }
  AddSharedPage("/metrics", "text/plain; version=0.0.4; charset=utf-8", MetricsOf(parts, options.certificates), pages,
                &routes);
  absl::StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Start(options, std::move(routes));
  if (!server.ok()) {
    pages->Stop();  // the page looks at the status on it
    return server.status();
  }
  return std::unique_ptr<DaemonHttp>(new DaemonHttp(std::move(pages), *std::move(server)));
}

void DaemonHttp::Stop() {
  server_->Stop();
  pages_->Stop();
}

}  // namespace penstock::server
