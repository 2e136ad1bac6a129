#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/base/temp_dir.h"

namespace penstock {
namespace {

TEST(File, ReadsAtAnyOffsetAndReturnsFewerBytesOnlyAtTheEnd) {
  TempDir dir;
  dir.Write("a", "0123456789");
  auto file = OpenFile(dir.File("a")).value();
  EXPECT_EQ(file->path(), dir.File("a"));
  EXPECT_EQ(file->Info().value().size, 10u);
  EXPECT_EQ(file->Info().value().mtime_ns, StatFile(dir.File("a")).value().mtime_ns);
  std::string out(20, '.');
  EXPECT_EQ(file->ReadAt(3, 4, out.data()).value(), 4u);
  EXPECT_EQ(out.substr(0, 5), "3456.");
  EXPECT_EQ(file->ReadAt(8, 20, out.data()).value(), 2u);
  EXPECT_EQ(out.substr(0, 3), "895");
  EXPECT_EQ(file->ReadAt(10, 1, out.data()).value(), 0u);
  EXPECT_EQ(file->ReadAt(1000, 1, out.data()).value(), 0u);
  EXPECT_EQ(file->ReadAt(0, 0, out.data()).value(), 0u);
}

// Reads more parts than one system call accepts. Some parts are long and have no destination.
TEST(File, ReadPartsReceiveExactlyTheirBytes) {
  TempDir dir;
  std::string content;
  for (int i = 0; i < 400'000; ++i) content += static_cast<char>(i * 7 + i / 251);
  dir.Write("a", content);
  const auto file = OpenFile(dir.File("a")).value();
  for (const uint64_t offset : {0, 1000, 399'000}) {
    std::string out(content.size() + 300, '.'), expected = out;
    std::vector<ReadPart> parts;
    size_t at = 0;
    for (size_t i = 0; i < 300; ++i) {
      const size_t bytes = i % 50 == 7 ? 50'000 : i * 37 % 1000;
      const bool wanted = i % 3 != 1;
      parts.push_back({wanted ? out.data() + at : nullptr, bytes});
      for (size_t k = at; wanted && k < at + bytes && offset + k < content.size(); ++k)
        expected[k] = content[offset + k];
      at += bytes;
    }
    EXPECT_EQ(file->ReadPartsAt(offset, parts).value(), std::min(at, content.size() - offset));
    EXPECT_TRUE(out == expected) << offset;
  }
}

// Reads parts with the default implementation.
class PlainFile final : public RandomAccessFile {
 public:
  explicit PlainFile(std::string content) : content_(std::move(content)) {}
  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
    return offset < content_.size() ? content_.copy(out, length, offset) : 0;
  }
  absl::StatusOr<FileInfo> Info() const override { return FileInfo{.size = content_.size()}; }
  const std::string& path() const override { return path_; }

 private:
  const std::string content_, path_ = "plain";
};

TEST(File, SkippedBytesCountUpToTheEndOfTheFile) {
  TempDir dir;
  dir.Write("a", "0123456789");
  const auto posix = OpenFile(dir.File("a")).value();
  const PlainFile plain("0123456789");
  for (const RandomAccessFile* file :
       {static_cast<const RandomAccessFile*>(posix.get()), static_cast<const RandomAccessFile*>(&plain)}) {
    SCOPED_TRACE(file->path());
    char out[20];
    EXPECT_EQ(file->ReadPartsAt(2, {{out, 3}, {nullptr, 3}}).value(), 6u);
    EXPECT_EQ(file->ReadPartsAt(2, {{out, 3}, {nullptr, 30}}).value(), 8u);
    EXPECT_EQ(file->ReadPartsAt(2, {{nullptr, 5}, {nullptr, 5}}).value(), 8u);
    EXPECT_EQ(file->ReadPartsAt(2, {{nullptr, 7}, {out, 3}}).value(), 8u);
    EXPECT_EQ(file->ReadPartsAt(2, {{nullptr, 9}, {out, 3}}).value(), 8u);
    EXPECT_EQ(file->ReadPartsAt(2, {{nullptr, 9}, {out, 0}}).value(), 8u);
    EXPECT_EQ(file->ReadPartsAt(20, {{nullptr, 3}, {out, 3}}).value(), 0u);
  }
}

TEST(File, ManyThreadsReadOneFileAtOnce) {
  TempDir dir;
  std::string content;
  for (int i = 0; i < 10'000; ++i) content += static_cast<char>(i * 7);
  dir.Write("a", content);
  const auto file = OpenFile(dir.File("a")).value();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::string out(100, '\0');
      for (uint64_t k = 0; k < 500; ++k) {
        const uint64_t offset = (k * 37 + t * 1000) % 9900;
        const auto n = file->ReadAt(offset, 100, out.data());
        if (!n.ok() || *n != 100 || out != content.substr(offset, 100)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(File, ErrorsNameThePathAndTheCause) {
  TempDir dir;
  const std::string missing = dir.File("missing");
  for (const absl::Status& status :
       {OpenFile(missing).status(), StatFile(missing).status(), ReadWholeFile(missing).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_NE(status.message().find(missing), std::string::npos);
  }
  const absl::Status folder = OpenFile(dir.path()).status();
  EXPECT_EQ(folder.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(folder.message().find("is a directory"), std::string::npos);
  EXPECT_EQ(ErrnoStatus(EACCES, "x").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_NE(ErrnoStatus(ENOSPC, "writing x").message().find("writing x"), std::string::npos);
}

TEST(File, ReadWholeFileRejectsAFileAboveTheLimit) {
  TempDir dir;
  dir.Write("a", std::string(1000, 'x'));
  EXPECT_EQ(ReadWholeFile(dir.File("a"), 1000).value(), std::string(1000, 'x'));
  const absl::Status status = ReadWholeFile(dir.File("a"), 999).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("1000 bytes"), std::string::npos);
  dir.Write("empty", "");
  EXPECT_EQ(ReadWholeFile(dir.File("empty")).value(), "");
}

// The system reports size 0 for these files.
TEST(File, ReadWholeFileReadsPipesAndFilesOfProcToTheirEnd) {
  TempDir dir;
  const auto before = signal(SIGPIPE, SIG_IGN);  // a reader that reaches its limit closes the pipe before its end
  const std::string pipe = dir.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string content;
  for (int i = 0; i < 300'000; ++i) content += static_cast<char>(i * 7 + i / 251);
  const auto read = [&](uint64_t limit) {
    std::thread writer([&] {
      std::ofstream out(pipe, std::ios::binary);
      out << content;
    });
    absl::StatusOr<std::string> got = ReadWholeFile(pipe, limit);
    writer.join();
    return got;
  };
  EXPECT_TRUE(read(content.size()).value_or("") == content);
  EXPECT_EQ(read(content.size() - 1).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReadWholeFile("/proc/sys/kernel/ostype").value(), "Linux\n");
  signal(SIGPIPE, before);
}

TEST(WriteFileAtomically, ReplacesTheFileAndLeavesNoOtherFile) {
  TempDir dir;
  const std::string path = dir.File("state");
  ASSERT_TRUE(WriteFileAtomically(path, "one").ok());
  EXPECT_EQ(ReadWholeFile(path).value(), "one");
  const std::string large(3 << 20, 'y');
  ASSERT_TRUE(WriteFileAtomically(path, large).ok());
  EXPECT_EQ(ReadWholeFile(path).value(), large);
  ASSERT_TRUE(WriteFileAtomically(path, "").ok());
  EXPECT_EQ(ReadWholeFile(path).value(), "");
  EXPECT_EQ(dir.Entries(), 1u);
}

TEST(WriteFileAtomically, AFailureLeavesTheOldFileAndNoTemporary) {
  TempDir dir;
  std::filesystem::create_directories(dir.File("folder/inside"));
  // rename() of a file over a folder fails after the temporary file was written.
  const absl::Status status = WriteFileAtomically(dir.File("folder"), "x");
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("renaming"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_directory(dir.File("folder/inside")));
  EXPECT_EQ(dir.Entries(), 1u);
  const absl::Status missing = WriteFileAtomically(dir.File("none/x"), "x");
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(missing.message().find("none/x"), std::string::npos);
}

// At any time, a reader sees either the whole old content or the whole new content.
TEST(WriteFileAtomically, ReadersNeverSeeAPartOfAFile) {
  TempDir dir;
  const std::string path = dir.File("a");
  ASSERT_TRUE(WriteFileAtomically(path, std::string(100'000, 'a')).ok());
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0}, reads{0};
  std::thread reader([&] {
    do {
      const auto content = ReadWholeFile(path);
      if (!content.ok() || content->size() != 100'000 || *content != std::string(100'000, (*content)[0])) {
        ++wrong;
      }
      ++reads;
    } while (!done);
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(WriteFileAtomically(path, std::string(100'000, static_cast<char>('a' + i))).ok());
  }
  done = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(reads, 0);
}

}  // namespace
}  // namespace penstock
