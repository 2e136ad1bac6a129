#include "pipeline/loader/row_scheduler.h"

#include <algorithm>

#include "base/check.h"

namespace penstock::loader {
namespace {

// Cost of a row in nanoseconds until the first one was measured.
constexpr double kFirstCost = 1e6;

}  // namespace

void RowScheduler::AddSession(SessionId id, uint32_t weight) {
  const auto [it, added] = sessions_.try_emplace(id);
  PS_CHECK(added);
  it->second.weight = std::max<uint32_t>(weight, 1);
  it->second.cost = kFirstCost;
  it->second.virtual_time = virtual_now_;
}

std::vector<std::unique_ptr<RowTask>> RowScheduler::RemoveSession(SessionId id) {
  const auto it = sessions_.find(id);
  PS_CHECK(it != sessions_.end());
  std::vector<std::unique_ptr<RowTask>> rows;
  for (auto* queue : {&it->second.urgent, &it->second.normal}) {
    for (auto& [key, row] : *queue) rows.push_back(std::move(row));
  }
  waiting_ -= rows.size();
  sessions_.erase(it);
  return rows;
}

void RowScheduler::Insert(Session* session, std::unique_ptr<RowTask> row) {
  PS_CHECK(row->waits_in_queue());
  if (session->idle()) session->virtual_time = std::max(session->virtual_time, virtual_now_);
  if (session->has_head && row->request.step <= session->head) row->request.urgent = true;
  const bool urgent = row->request.urgent;
  const Key key{row->request.step, row->id().number};
  if (session->WasAnnounced(key)) ++session->announced_waiting;
  if (session->to_look_for.has_value() && !row->looked_for) session->to_look_for->emplace(!urgent, key);
  (urgent ? session->urgent : session->normal).emplace(key, std::move(row));
  ++waiting_;
}

void RowScheduler::Add(SessionId id, const std::vector<RowRequest>& rows, size_t count) {
  Session& session = sessions_.at(id);
  for (size_t i = 0; i < std::min(count, rows.size()); ++i) {
    Insert(&session, std::make_unique<RowTask>(TaskId{id, next_number_++}, rows[i]));
  }
}

void RowScheduler::SetHead(SessionId id, uint64_t step) {
  Session& session = sessions_.at(id);
  session.head = session.has_head ? std::max(session.head, step) : step;
  session.has_head = true;
  while (!session.normal.empty() && session.normal.begin()->first.first <= session.head) {
    auto node = session.normal.extract(session.normal.begin());
    node.mapped()->request.urgent = true;
    if (session.to_look_for.has_value() && session.to_look_for->erase({true, node.key()}) > 0) {
      session.to_look_for->emplace(false, node.key());
    }
    session.urgent.insert(std::move(node));
  }
}

std::vector<RowRequest> RowScheduler::Announce(SessionId id, size_t ahead) {
  Session& session = sessions_.at(id);
  std::vector<RowRequest> rows;
  for (const auto* queue : {&session.urgent, &session.normal}) {
    auto it = session.announced.has_value() ? queue->upper_bound(*session.announced) : queue->begin();
    for (; it != queue->end() && session.announced_waiting < ahead; ++it) {
      // This row was fetched early. The rows of the steps before it are not announced yet.
      if (queue == &session.urgent && session.has_head && it->first.first > session.head) break;
      rows.push_back(it->second->request);
      session.announced = it->first;
      ++session.announced_waiting;
    }
  }
  return rows;
}

std::unique_ptr<RowTask> RowScheduler::TakeOut(Session* session, Queue* queue, Queue::iterator row) {
  std::unique_ptr<RowTask> picked = std::move(row->second);
  // A row that was fetched early, and that announcements then passed, was never counted.
  if (session->WasAnnounced(row->first) && session->announced_waiting > 0) --session->announced_waiting;
  if (session->to_look_for.has_value()) session->to_look_for->erase({queue == &session->normal, row->first});
  queue->erase(row);
  --waiting_;
  virtual_now_ = std::max(virtual_now_, session->virtual_time);
  session->virtual_time += session->cost / session->weight;
  return picked;
}

RowScheduler::Choice RowScheduler::Pick(NeedOf need_of) {
  Choice choice;
  double blocked_time = 0;
  for (const auto& [id, session] : sessions_) {
    if (session.urgent.empty() || session.held) continue;
    const Need need = need_of(*session.urgent.begin()->second, nullptr);
    if (need.shortage == 0) continue;
    // Rows that only wait for their own job's memory come last, because they hold back no other job.
    const auto place = [](const Need& of) { return std::make_pair(of.capped, !of.reserved); };
    const bool first = !choice.blocked.has_value() || place(need) < place(choice.blocked->need) ||
                       (place(need) == place(choice.blocked->need) && session.virtual_time < blocked_time);
    if (!first) continue;
    choice.blocked = Blocked{id, need};
    blocked_time = session.virtual_time;
  }
  for (const bool urgent : {true, false}) {
    Session* best = nullptr;
    for (auto& [id, session] : sessions_) {
      auto& queue = urgent ? session.urgent : session.normal;
      if (queue.empty() || session.held) continue;
      // Within a session, no row overtakes an urgent row that waits for memory.
      if (!urgent && !session.urgent.empty()) continue;
      if (best != nullptr && best->virtual_time <= session.virtual_time) continue;
      if (need_of(*queue.begin()->second, BlockedBefore(id, choice.blocked)).shortage > 0) continue;
      best = &session;
    }
    if (best != nullptr) {
      auto& queue = urgent ? best->urgent : best->normal;
      choice.picked = TakeOut(best, &queue, queue.begin());
      return choice;
    }
  }
  return choice;
}

std::unique_ptr<RowTask> RowScheduler::PickMore(SessionId id, bool urgent, size_t rows,
                                                const std::optional<Blocked>& blocked, NeedOf need_of) {
  Session& session = sessions_.at(id);
  auto& queue = urgent ? session.urgent : session.normal;
  if (session.cost * static_cast<double>(rows) >= kTurn || queue.empty()) return nullptr;
  if (!urgent && !session.urgent.empty()) return nullptr;
  if (need_of(*queue.begin()->second, BlockedBefore(id, blocked)).shortage > 0) return nullptr;
  return TakeOut(&session, &queue, queue.begin());
}

std::unique_ptr<RowTask> RowScheduler::PickToLookFor(SessionId id) {
  const auto it = sessions_.find(id);
  if (it == sessions_.end()) return nullptr;
  Session& session = it->second;
  if (session.held) return nullptr;
  if (!session.to_look_for.has_value()) {
    session.to_look_for.emplace();
    for (const bool urgent : {true, false}) {
      for (const auto& [key, row] : urgent ? session.urgent : session.normal) {
        if (!row->looked_for) session.to_look_for->emplace(!urgent, key);
      }
    }
  }
  if (session.to_look_for->empty()) return nullptr;
  const auto [is_normal, key] = *session.to_look_for->begin();
  auto& queue = is_normal ? session.normal : session.urgent;
  const auto row = queue.find(key);
  PS_CHECK(row != queue.end());
  return TakeOut(&session, &queue, row);
}

void RowScheduler::PutBack(std::unique_ptr<RowTask> row) {
  Park(row->id().session);
  PutBackParked(std::move(row));
}

void RowScheduler::Park(SessionId id) {
  const auto it = sessions_.find(id);
  if (it != sessions_.end()) it->second.virtual_time -= it->second.cost / it->second.weight;
}

void RowScheduler::PutBackParked(std::unique_ptr<RowTask> row) {
  const auto it = sessions_.find(row->id().session);
  if (it != sessions_.end()) Insert(&it->second, std::move(row));
}

void RowScheduler::Done(SessionId id, uint64_t nanos) {
  const auto it = sessions_.find(id);
  if (it == sessions_.end()) return;
  Session& session = it->second;
  const double cost = static_cast<double>(nanos);
  session.virtual_time += (cost - session.cost) / session.weight;
  session.cost += (cost - session.cost) / 16;
}

RowTask* RowScheduler::LastHolder(std::optional<SessionId> blocked) {
  RowTask* of_others = nullptr;
  for (auto& [id, session] : sessions_) {
    const bool own = !blocked.has_value() || *blocked == id;
    const RowTask* const first = !session.urgent.empty()   ? session.urgent.begin()->second.get()
                                 : !session.normal.empty() ? session.normal.begin()->second.get()
                                                           : nullptr;
    for (auto* queue : {&session.normal, &session.urgent}) {
      const auto found = std::find_if(queue->rbegin(), queue->rend(), [&](const auto& entry) {
        return entry.second->held_bytes() > 0 && (!own || entry.second.get() != first);
      });
      if (found == queue->rend()) continue;
      if (own) return found->second.get();
      if (of_others == nullptr) of_others = found->second.get();
      break;
    }
  }
  return of_others;
}

size_t RowScheduler::waiting(SessionId id) const {
  const Session& session = sessions_.at(id);
  return session.urgent.size() + session.normal.size();
}

}  // namespace penstock::loader
