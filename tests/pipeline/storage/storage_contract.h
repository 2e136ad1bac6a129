// The contract of every storage that can list.
#ifndef PENSTOCK_TESTS_PIPELINE_STORAGE_STORAGE_CONTRACT_H_
#define PENSTOCK_TESTS_PIPELINE_STORAGE_STORAGE_CONTRACT_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "pipeline/storage/storage.h"

namespace penstock::storage {

// Checks the contract. `put` makes or replaces a file.
template <typename Put>
void HoldsToTheContract(Storage* storage, const std::string& folder, Put put) {
  put(folder + "/a", "0123456789");
  auto file = storage->OpenAndWait(folder + "/a");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->path(), folder + "/a");
  EXPECT_EQ((*file)->opened().size, 10u);
  EXPECT_EQ((*file)->Info().value(), (*file)->opened());

  char bytes[20] = {};
  const auto read = [&](uint64_t offset, size_t length) {
    return WaitForCall<size_t>(
        [&](CallDone<size_t> done) { (*file)->Read(offset, length, bytes, {}, std::move(done)); });
  };
  EXPECT_EQ(read(2, 3).value(), 3u);
  EXPECT_EQ(std::string(bytes, 3), "234");
  EXPECT_EQ(read(8, 10).value(), 2u);  // fewer bytes only at the end
  EXPECT_EQ(read(10, 1).value(), 0u);
  EXPECT_EQ((*file)->ReadAt(4, 2, bytes).value(), 2u);
  EXPECT_EQ(std::string(bytes, 2), "45");

  // In parts. Some parts have no destination, and the last may end after the file.
  const auto read_parts = [&](uint64_t offset, const std::vector<ReadPart>& parts) {
    return WaitForCall<size_t>([&](CallDone<size_t> done) { (*file)->ReadParts(offset, parts, {}, std::move(done)); });
  };
  char first[8] = "-------", second[8] = "-------";
  EXPECT_EQ(read_parts(1, {{first, 2}, {nullptr, 3}, {second, 0}, {second, 3}}).value(), 8u);
  EXPECT_EQ(std::string(first), "12-----");
  EXPECT_EQ(std::string(second), "678----");
  EXPECT_EQ(read_parts(7, {{first, 1}, {second, 7}}).value(), 3u);
  EXPECT_EQ(first[0], '7');
  EXPECT_EQ(std::string(second), "898----");
  EXPECT_EQ(read_parts(10, {{first, 1}, {second, 1}}).value(), 0u);

  EXPECT_EQ(storage->StatAndWait(folder + "/a")->info, (*file)->opened());
  EXPECT_EQ(storage->StatAndWait(folder)->kind, StoredEntry::Kind::kFolder);
  const auto entries = storage->ListAndWait(folder);
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ((*entries)[0].name, "a");
  EXPECT_EQ((*entries)[0].kind, StoredEntry::Kind::kFile);
  EXPECT_EQ(storage->ListAndWait(folder + "/").value(), *entries);
  EXPECT_EQ((*entries)[0].info.value_or((*file)->opened()), (*file)->opened());

  EXPECT_TRUE(absl::IsNotFound(storage->OpenAndWait(folder + "/b").status()));
  EXPECT_TRUE(absl::IsNotFound(storage->StatAndWait(folder + "/b").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(storage->OpenAndWait(folder).status()));

  // A call whose stop was requested before it began.
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = WaitForCall<size_t>(
      [&](CallDone<size_t> done) { (*file)->Read(0, 1, bytes, {.stop = stop.get_token()}, std::move(done)); });
  EXPECT_TRUE(absl::IsCancelled(stopped.status())) << stopped.status();
  for (const std::optional<FileInfo>& listed : {std::optional<FileInfo>(), std::optional((*file)->opened())}) {
    const absl::Status open =
        storage->OpenAndWait(folder + "/a", {.stop = stop.get_token(), .listed = listed}).status();
    EXPECT_TRUE(absl::IsCancelled(open)) << open << (listed ? ", listed" : "");
  }
  EXPECT_TRUE(absl::IsCancelled(storage->StatAndWait(folder + "/a", {.stop = stop.get_token()}).status()));
  EXPECT_TRUE(absl::IsCancelled(storage->ListAndWait(folder, {.stop = stop.get_token()}).status()));

  // After the file has changed, a read returns the opened content or Aborted, never bytes of the new content.
  put(folder + "/a", "another content");
  const auto after = read(0, 4);
  if (after.ok()) {
    EXPECT_EQ(std::string(bytes, 4), "0123") << "bytes of another state than was opened";
  } else {
    EXPECT_TRUE(absl::IsAborted(after.status())) << after.status();
  }
  EXPECT_NE(storage->StatAndWait(folder + "/a")->info, (*file)->opened());
}

// Checks the contract of writes. `folder` is empty, and exists if it is local.
inline void WritesHoldToTheContract(Storage* storage, const std::string& folder) {
  const std::string name = folder + "/new";
  EXPECT_TRUE(storage->CheckName(name).ok());
  EXPECT_TRUE(storage->CheckOutput(folder).ok());
  const auto content = [&](uint64_t most = 100) { return ReadContent(storage, name, most); };

  // A new file appears when it is complete.
  for (const bool commit : {false, true}) {
    auto file = storage->Create(name);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE((*file)->Append("012").ok());
    EXPECT_TRUE((*file)->Append("345").ok());
    EXPECT_TRUE(absl::IsNotFound(content().status()));
    if (!commit) continue;
    EXPECT_TRUE((*file)->Commit().ok());
    EXPECT_EQ(content().value(), "012345");
  }
  EXPECT_TRUE(absl::IsResourceExhausted(content(5).status())) << content(5).status();

  // Put() returns the tag of the new state, and a condition compares the tag.
  const std::string tag = storage->Put(name, "other").value();
  EXPECT_EQ(content().value(), "other");
  EXPECT_EQ(storage->StatAndWait(name)->info.tag, tag);
  if (!tag.empty()) {
    EXPECT_TRUE(absl::IsAborted(storage->Put(name, "mine", {.is_new = true}).status()));
    EXPECT_NE(storage->Put(name, "third", {.tag = tag}).value(), tag);
    EXPECT_TRUE(absl::IsAborted(storage->Put(name, "mine", {.tag = tag}).status()));
    EXPECT_TRUE(absl::IsAborted(storage->Remove(name, {.tag = tag})));
    EXPECT_EQ(content().value(), "third");
  }

  // Opens a file in its listed state. The storage may detect a change as late as the first read.
  const FileInfo info = storage->StatAndWait(name)->info;
  EXPECT_EQ(storage->OpenAndWait(name, {.listed = info}).value()->opened(), info);
  EXPECT_TRUE(storage->Put(name, "a longer content").ok());
  const auto changed = storage->OpenAndWait(name, {.listed = info});
  char byte = 0;
  const absl::Status read = changed.ok() ? WaitForCall<size_t>([&](CallDone<size_t> done) {
                                             (*changed)->Read(0, 1, &byte, {}, std::move(done));
                                           }).status()
                                         : changed.status();
  EXPECT_TRUE(absl::IsAborted(read)) << read;

  EXPECT_TRUE(storage->Remove(name).ok());
  EXPECT_TRUE(storage->Remove(name).ok());
  EXPECT_TRUE(absl::IsNotFound(content().status()));
  EXPECT_TRUE(storage->RemoveUnfinished(folder).ok());
}

}  // namespace penstock::storage

#endif  // PENSTOCK_TESTS_PIPELINE_STORAGE_STORAGE_CONTRACT_H_
