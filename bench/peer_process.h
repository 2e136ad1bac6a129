// Another program as a side of a benchmark: a child that answers each line with a line.
#ifndef PENSTOCK_BENCH_PEER_PROCESS_H_
#define PENSTOCK_BENCH_PEER_PROCESS_H_

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace penstock::bench {

class PeerProcess {
 public:
  // Starts argv[0]. Ends this process if a pipe or the fork fails. If the program does not exist, Ask ends this
  // process.
  explicit PeerProcess(const std::vector<std::string>& argv) {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) std::perror("pipe"), std::exit(1);
    child_ = fork();
    if (child_ < 0) std::perror("fork"), std::exit(1);
    if (child_ == 0) {
      dup2(to[0], 0);
      dup2(from[1], 1);
      for (const int end : {to[0], to[1], from[0], from[1]}) close(end);
      std::vector<char*> words;
      for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
      words.push_back(nullptr);
      execvp(words[0], words.data());
      std::perror(words[0]);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = fdopen(to[1], "w");
    from_ = fdopen(from[0], "r");
  }
  ~PeerProcess() {
    std::fclose(to_);  // the child ends at the end of its input
    std::fclose(from_);
    waitpid(child_, nullptr, 0);
  }
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  // Returns the answer without its newline. Ends this process if there is no answer. The peer reports the reason on
  // stderr.
  std::string Ask(const std::string& line) {
    std::fprintf(to_, "%s\n", line.c_str());
    std::fflush(to_);
    char answer[256];
    if (std::fgets(answer, sizeof(answer), from_) == nullptr) {
      std::fprintf(stderr, "the peer process gave no answer to '%s'\n", line.c_str());
      std::exit(1);
    }
    std::string text = answer;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

 private:
  pid_t child_ = 0;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_PEER_PROCESS_H_
