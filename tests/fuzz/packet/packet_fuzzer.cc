// Any packets from the other side of a shared-memory stream: rejected, or messages whose slices are in the ring or in
// memory of their own. Written messages are read back.
//
// The input: packets, each after its length in two bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/sealed_memory.h"
#include "transport/shared_memory/message_parts.h"
#include "transport/shared_memory/packet.h"
#include "transport/shared_memory/ring.h"
#include "transport/slice.h"

namespace {

using penstock::SealedMemory;
using penstock::transport::FilePacket;
using penstock::transport::IncomingMessages;
using penstock::transport::OutgoingMessage;
using penstock::transport::Packet;
using penstock::transport::ParsePacket;
using penstock::transport::PartsPacket;
using penstock::transport::Ring;
using penstock::transport::Slice;
using penstock::transport::SliceList;

constexpr uint64_t kRing = 1 << 16;

const std::shared_ptr<const SealedMemory>& WorkersRing() {
  static const auto* const ring = new std::shared_ptr<const SealedMemory>(std::make_shared<const SealedMemory>(
      *SealedMemory::Create("fuzz", kRing, SealedMemory::Others::kRead, "a fuzzer")));
  return *ring;
}

void Receive(std::string_view input, IncomingMessages* incoming, size_t* messages) {
  while (input.size() >= 2) {
    const size_t size =
        std::min<size_t>(static_cast<uint8_t>(input[0]) | static_cast<uint8_t>(input[1]) << 8, input.size() - 2);
    const std::string packet_bytes(input.substr(2, size));  // a copy, so that a sanitizer detects reads after its end
    input.remove_prefix(2 + size);
    const absl::StatusOr<Packet> packet = ParsePacket(packet_bytes);
    if (!packet.ok()) return;
    if (const auto* const file = std::get_if<FilePacket>(&*packet); file != nullptr && file->bytes <= kRing) {
      // The carrier rejects descriptors that are no memory files of that size before this point.
      auto memory =
          SealedMemory::Create("fuzz", std::max<uint64_t>(file->bytes, 1), SealedMemory::Others::kRead, "a fuzzer");
      if (!memory.ok() || !incoming->AddFile(*std::move(memory)).ok()) return;
    }
    const auto* const parts = std::get_if<PartsPacket>(&*packet);
    if (parts == nullptr) continue;
    const auto message = incoming->Add(*parts);
    if (!message.ok()) return;
    if (!message->has_value()) continue;
    ++*messages;
    size_t bytes = 0;
    for (const Slice& slice : (*message)->slices()) bytes += slice.size();
    PS_CHECK(bytes == (*message)->bytes());
    (void)(*message)->Joined();  // reads every byte
  }
}

// A message of slices of the input's sizes, some of them in the ring, arrives unchanged.
void SendAndReceive(std::string_view input) {
  const std::shared_ptr<Ring> ring = *Ring::Create(kRing, nullptr);
  SliceList message;
  std::string whole;
  for (size_t i = 0; i + 2 < input.size() && i < 60; i += 3) {
    const size_t size = static_cast<uint8_t>(input[i]) * size_t{40} + static_cast<uint8_t>(input[i + 1]);
    const std::string bytes(size, input[i + 2]);
    whole += bytes;
    if ((input[i] & 1) != 0) {
      message.Add(Slice::Of(bytes));
      continue;
    }
    auto block = std::make_shared<penstock::OwnedBlock>(penstock::AllocateBlock(ring, std::max<size_t>(size, 1)));
    std::memcpy(block->get(), bytes.data(), size);
    message.Add(Slice(block->get(), size, block));
  }
  OutgoingMessage outgoing(std::move(message), ring.get());
  std::vector<std::string> packets;
  for (std::string packet = outgoing.NextPacket(); !packet.empty(); packet = outgoing.NextPacket()) {
    PS_CHECK(packet.size() <= penstock::transport::kMostPacketBytes);
    packets.push_back(std::move(packet));
  }
  const OutgoingMessage::Kept kept = outgoing.TakeKept();
  // The client's mapping is this process's own here, so the test resolves the places itself.
  std::string got;
  for (const std::string& bytes : packets) {
    const absl::StatusOr<Packet> packet = ParsePacket(bytes);
    PS_CHECK(packet.ok());
    for (const penstock::transport::MessagePart& part : std::get<PartsPacket>(*packet).parts) {
      if (!part.bytes.empty()) {
        got += part.bytes;
        continue;
      }
      bool found = false;
      for (const Slice& slice : kept.slices) {
        if (ring->PlaceOf(slice.data(), slice.size()) != part.from) continue;
        got.append(reinterpret_cast<const char*>(slice.data()), slice.size());
        found = true;
        break;
      }
      if (found) continue;
      const uint64_t start = *ring->PlaceOf(kept.copy.get(), 1);
      PS_CHECK(part.from >= start);
      got.append(reinterpret_cast<const char*>(kept.copy.get()) + (part.from - start), part.size);
    }
  }
  PS_CHECK(got == whole);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  size_t messages = 0, released = 0, of_client = 0;
  {
    IncomingMessages from_worker(WorkersRing(), [&](uint64_t) { ++released; });
    Receive(input, &from_worker, &messages);
  }
  PS_CHECK(released <= messages + 1);  // the last message may be incomplete
  IncomingMessages from_client;
  Receive(input, &from_client, &of_client);
  SendAndReceive(input);
  return 0;
}
