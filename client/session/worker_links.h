// Part of a session: carries out the commands of the delivery core. It opens and closes streams, and sends views,
// grants and fetches.
#ifndef PENSTOCK_CLIENT_SESSION_WORKER_LINKS_H_
#define PENSTOCK_CLIENT_SESSION_WORKER_LINKS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "base/runtime/strand.h"
#include "client/delivery/commands.h"
#include "client/session/window.h"
#include "client/session/worker_link.h"

namespace penstock::client {

// For tasks of the strand only.
class WorkerLinks {
 public:
  // A stream counts as broken if the worker sends nothing for this long: the address drops packets, or another program
  // listens there. The time doubles with each further stream to a worker that did not answer, up to kLongestAnswer: a
  // new stream resolves the worker's name again, which takes seconds if a DNS server is down.
  static constexpr Nanos kAnswerWithin = 3 * kSecond;
  static constexpr Nanos kLongestAnswer = 48 * kSecond;

  // `first` is the first message of each stream, without the session's id. `strand` and `transport` must outlive this
  // object.
  WorkerLinks(Strand* strand, transport::Transport* transport, v1::Open first, std::shared_ptr<Window> window,
              std::shared_ptr<LinkEvents> events);
  // Closes all links, which then report no events.
  ~WorkerLinks();

  // Replaces the ticket that further connections show, even those of open streams. "": none. Any thread may call it.
  void SetTicket(std::string ticket);
  void Open(const OpenStream& open, const std::string& session_id);
  void Close(const CloseStream& close);
  void Send(const SendView& send);
  void Send(const SendGrant& send);
  void Send(const SendFetch& send);
  void Send(const SendWaiting& send);

  // Removes a link that has ended.
  void Closed(uint64_t link);
  void CancelAll();
  bool empty() const;

  // Records that the process did not run for this long. Extends the workers' time to answer by it.
  void Stopped(Nanos length);

  // Breaks the links that have been silent for too long. Returns the latest time of the next call.
  Nanos BreakSilent(Nanos now);

 private:
  struct Link {
    std::shared_ptr<WorkerLink> link;
    std::string worker;  // id
    Nanos answer_by = 0;
  };
  // Shared with the carriers, whose threads read it.
  struct Ticket {
    Mutex mutex;
    std::string bytes ABSL_GUARDED_BY(mutex);
  };
  void SendTo(uint64_t link, const v1::ClientMessage& message);

  Strand* const strand_;
  transport::Transport* const transport_;
  const v1::Open first_;
  const std::shared_ptr<Window> window_;
  const std::shared_ptr<LinkEvents> events_;
  const std::shared_ptr<Ticket> ticket_ = std::make_shared<Ticket>();
  std::unordered_map<uint64_t, Link> links_ ABSL_GUARDED_BY(strand_);
  // By id: workers that did not answer, and the time that the next stream has.
  std::unordered_map<std::string, Nanos> patience_ ABSL_GUARDED_BY(strand_);
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_WORKER_LINKS_H_
