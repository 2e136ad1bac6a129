// docs/mistakes.md shows the output of the programs. This test runs each of its commands in the folder that it
// describes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "pipeline/sources/tfrecord/tfrecord_writer.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"
#include "tests/support/wait_until.h"

namespace penstock::integration {
namespace {

namespace fs = std::filesystem;

// A row of the page's table.
struct Mistake {
  std::string what, command, line;
};

// Parses `...`, or ``...`` with inner blanks if the text contains backticks. A table's bars are escaped.
std::string Code(absl::string_view cell) {
  cell = absl::StripAsciiWhitespace(cell);
  if (absl::ConsumePrefix(&cell, "`` ") && absl::ConsumeSuffix(&cell, " ``")) {
  } else if (!absl::ConsumePrefix(&cell, "`") || !absl::ConsumeSuffix(&cell, "`")) {
    return "";
  }
  return absl::StrReplaceAll(cell, {{"\\|", "|"}});
}

std::string AsCode(const std::string& text) {
  const std::string escaped = absl::StrReplaceAll(text, {{"|", "\\|"}});
  return absl::StrContains(text, "`") ? absl::StrCat("`` ", escaped, " ``") : absl::StrCat("`", escaped, "`");
}

std::vector<Mistake> Page() {
  std::vector<Mistake> mistakes;
  const auto page = ReadWholeFile("docs/mistakes.md");
  EXPECT_TRUE(page.ok()) << page.status();
  bool table = false;
  for (const absl::string_view line : absl::StrSplit(page.value_or(""), '\n')) {
    if (absl::StartsWith(line, "| mistake | command |")) table = true;
    if (!absl::StartsWith(line, "|")) table = false;
    if (!table || !absl::StrContains(line, '`')) continue;
    const std::vector<std::string> cells = absl::StrSplit(absl::StrReplaceAll(line, {{" | ", "\n"}}), '\n');
    EXPECT_EQ(cells.size(), 3u) << line;
    if (cells.size() != 3) continue;
    mistakes.push_back({std::string(absl::StripPrefix(cells[0], "| ")), Code(cells[1]),
                        Code(absl::StripSuffix(absl::StripAsciiWhitespace(cells[2]), "|"))});
  }
  return mistakes;
}

// Whether `line` matches `pattern`, in which a "…" stands for any text.
bool Matches(const std::string& line, const std::string& pattern) {
  const std::vector<std::string> pieces = absl::StrSplit(pattern, "…");
  if (pieces.size() == 1) return line == pattern;
  if (!absl::StartsWith(line, pieces.front())) return false;
  size_t at = pieces.front().size();
  for (size_t i = 1; i + 1 < pieces.size(); ++i) {
    at = line.find(pieces[i], at);
    if (at == std::string::npos) return false;
    at += pieces[i].size();
  }
  return line.size() >= at + pieces.back().size() && absl::EndsWith(line, pieces.back());
}

std::string Delimited(const std::string& bytes) {
  EXPECT_LT(bytes.size(), 128u);
  return absl::StrCat(std::string(1, static_cast<char>(bytes.size())), bytes);
}

// A tf.train.SequenceExample with the feature list "frames" of two int64 values.
std::string Sequence() {
  const std::string feature = "\x1A" + Delimited("\x0A" + Delimited("\x07"));
  const std::string list = "\x0A" + Delimited(feature) + "\x0A" + Delimited(feature);
  return "\x12" + Delimited("\x0A" + Delimited("\x0A" + Delimited("frames") + "\x12" + Delimited(list)));
}

class Mistakes : public ::testing::Test {
 protected:
  Mistakes() : home_(fs::canonical(folder_.path()).string()) {}

  // Returns the first line of the command's output: of stderr, or of stdout if stderr is empty.
  std::string FirstLine(const std::string& command) {
    const auto write = [&](const std::string& name, const std::string& text) {
      EXPECT_TRUE(WriteFileAtomically(outputs_.File(name), text).ok());
    };
    write("command", absl::StrCat("cd '", home_, "'\n", command, "\n"));
    const std::string run = absl::StrCat(
        "env PATH='", fs::path(PENSTOCK).parent_path().string(), "':\"$PATH\" XDG_CACHE_HOME='", outputs_.File("cache"),
        "' ", coordinator_.empty() ? "" : absl::StrCat("PENSTOCK_COORDINATOR=", coordinator_), " bash '",
        outputs_.File("command"), "' >'", outputs_.File("out"), "' 2>'", outputs_.File("err"), "' </dev/null");
    (void)!std::system(run.c_str());
    std::string said = ReadWholeFile(outputs_.File("err")).value_or("");
    if (said.empty()) said = ReadWholeFile(outputs_.File("out")).value_or("");
    return said.substr(0, said.find('\n'));
  }
  void Do(const std::string& command) {
    const std::string said = FirstLine(command + " || echo FAILED >&2");
    ASSERT_FALSE(absl::StrContains(said, "FAILED") || absl::StartsWith(said, "penstock")) << command << "\n" << said;
  }

  void MakeFolder() {
    fs::create_directories(home_ + "/photos/cat");
    fs::create_directories(home_ + "/photos/dog");
    for (uint64_t i = 0; i < 24; ++i) {
      Write(absl::StrCat("photos/", i % 2 == 0 ? "cat/" : "dog/", i, ".jpg"), support::MakeTestJpeg(64, 48, i));
    }
    Do("penstock import photos --out data --prefix train --shard-size 16KB");
    Do("mkdir data/other used; touch used/notes.txt");
    Do("cp photos/cat/0.jpg data/other/photo.tfrecord");
    Do("head -c 3000 data/train-00000.tfrecord > data/other/cut.tfrecord");
    Do("ln -s /etc/hostname data/other/link.tfrecord");
    Do("seq 100 | gzip > numbers.csv.gz");
    Write("labels.csv", "path,label\nphotos/cat/0.jpg,0\n");
    Write("data/other/lines.jsonl", "{\"image/class/label\": 1}\n");
    Write("labels.json", "[\n  {\"label\": 1},\n  {\"label\": 2}\n]\n");
    Write("digits.npz", absl::StrCat("PK\x03\x04", std::string(22, 'z'), std::string("\x0B\0\0\0", 4), "x_train.npy"));
    Write("photos.tar.zst", "\x28\xB5\x2F\xFD" + std::string(508, '\0'));
    Write("table.parquet", "PAR1" + std::string(60, 'x'));
    support::WriteShard(home_ + "/data/other/sequence.tfrecord", {Sequence(), Sequence()});
    Do("cp -r photos more; head -c 700 photos/cat/0.jpg > more/cat/0.jpg");
    Do("cp data/train-00000.tfrecord data/other/crc.tfrecord");
    support::BreakRecord(home_ + "/data/other/crc.tfrecord", 0);
    Do("penstock init 'data/train-*' --out train.textproto");
    Do("penstock init 'data/train-*' --name my --out my.textproto");
    Do("penstock init data/other/crc.tfrecord --records 3 --name crc --out crc.textproto");
  }

  // Starts a coordinator with a worker and the job 'train', one step of which has been read.
  void Serve() {
    const std::string port = outputs_.File("port");
    daemon_ = std::make_unique<support::Process>(
        std::vector<std::string>{PENSTOCKD, "standalone", "--data-root", home_ + "/data", "--listen", "127.0.0.1:0",
                                 "--state-dir", home_ + "/state", "--port-file", port, "--threads", "1"},
        outputs_.File("daemon.log"));
    ASSERT_TRUE(support::WaitUntil([&] { return StatFile(port).ok(); }));
    coordinator_ =
        absl::StrCat("localhost:", std::string(absl::StripAsciiWhitespace(ReadWholeFile(port).value_or(""))));
    const std::string log = ReadWholeFile(outputs_.File("daemon.log")).value_or("");
    std::smatch found;
    ASSERT_TRUE(std::regex_search(log, found, std::regex("worker (\\S+) \\((\\S+)\\) listens on 127.0.0.1:(\\d+)")))
        << log;
    worker_name_ = found[1];
    worker_ = found[2];
    worker_address_ = absl::StrCat("127.0.0.1:", found[3].str());
    Do("penstock submit train.textproto");
    Do("penstock read train --steps 1 --state train.state");
    Do("sed 's/seed: 17/seed: 18/; s/\"train\"/\"val\"/' train.textproto | penstock submit -");
  }

  // Replaces the usual ports of the page with those of this test.
  std::string Typed(const std::string& command) const {
    return absl::StrReplaceAll(command, {{"localhost:7070", coordinator_}, {"localhost:7071", worker_address_}});
  }
  std::string Shown(const std::string& line) const {
    return absl::StrReplaceAll(line,
                               {{home_, "/home/me"},
                                {coordinator_, "localhost:7070"},
                                {absl::StrReplaceAll(coordinator_, {{"localhost", "127.0.0.1"}}), "localhost:7070"},
                                {worker_address_, "localhost:7071"},
                                {worker_name_, "host1:7071"},
                                {worker_, "host1-0123abcd"},
                                {absl::StrCat("process ", daemon_->pid()), "process 4711"}});
  }

  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(WriteFileAtomically(home_ + "/" + name, bytes).ok());
  }

  support::TempFolder folder_, outputs_;
  const std::string home_;
  std::unique_ptr<support::Process> daemon_;
  std::string coordinator_, worker_, worker_name_, worker_address_;
};

TEST_F(Mistakes, EachCommandPrintsTheLineOfThePage) {
  MakeFolder();
  Serve();
  const std::vector<Mistake> page = Page();
  EXPECT_GE(page.size(), 40u);
  for (const Mistake& mistake : page) {
    const std::string line = Shown(FirstLine(Typed(mistake.command)));
    EXPECT_TRUE(Matches(line, mistake.line)) << "docs/mistakes.md has another first line than this:\n| " << mistake.what
                                             << " | " << AsCode(mistake.command) << " | " << AsCode(line) << " |";
  }
}

}  // namespace
}  // namespace penstock::integration
