// A file descriptor with an owner.
#ifndef PENSTOCK_BASE_OWNED_FD_H_
#define PENSTOCK_BASE_OWNED_FD_H_

namespace penstock {

// Closes the descriptor on destruction.
class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  ~OwnedFd() { Reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void Reset();
  // Returns the descriptor, which the caller then owns.
  int Release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_OWNED_FD_H_
