// The part of a session that carries out what the delivery core asks for: streams are opened and closed, views, grants
// and fetches sent.
#ifndef PENSTOCK_CLIENT_SESSION_WORKER_LINKS_H_
#define PENSTOCK_CLIENT_SESSION_WORKER_LINKS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/runtime/strand.h"
#include "client/delivery/commands.h"
#include "client/session/window.h"
#include "client/session/worker_link.h"

namespace penstock {

// For the strand's tasks alone.
class WorkerLinks {
 public:
  // A worker that was connected to and has said nothing for so long is broken: nobody listens there but an address
  // that swallows packets, or something that is no worker.
  static constexpr Nanos kAnswerWithin = 3 * kSecond;

  // `first` is what each stream begins with, without the session's id. Strand and transport outlive this.
  WorkerLinks(Strand* strand, Transport* transport, v1::Open first, std::shared_ptr<Window> window,
              std::shared_ptr<LinkEvents> events);
  // Lets go of all links: they are ended, and say nothing any more.
  ~WorkerLinks();

  void Open(const OpenStream& open, const std::string& session_id);
  void Close(const CloseStream& close);
  void Send(const SendView& send);
  void Send(const SendGrant& send);
  void Send(const SendFetch& send);
  void Send(const SendWaiting& send);

  // The link has ended.
  void Closed(uint64_t link);
  void CancelAll();
  bool empty() const;

  // Gives up the links that have said nothing for too long. Returns when to call this again at the latest.
  Nanos BreakSilent(Nanos now);

 private:
  struct Link {
    std::shared_ptr<WorkerLink> link;
    Nanos answer_by = 0;
  };
  void SendTo(uint64_t link, const v1::ClientMessage& message);

  Strand* const strand_;
  Transport* const transport_;
  const v1::Open first_;
  const std::shared_ptr<Window> window_;
  const std::shared_ptr<LinkEvents> events_;
  std::unordered_map<uint64_t, Link> links_ ABSL_GUARDED_BY(strand_);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_WORKER_LINKS_H_
