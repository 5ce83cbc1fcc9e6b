// SPDX-License-Identifier: BSD-3-Clause
// Makes a sleeping carrier look after its groups, from any process of the node.
#pragma once

namespace tutti::transport::carrier {

class Waker {
  public:
    virtual ~Waker() = default;
    // The caller may do itself what there is to do.
    virtual void wake() = 0;
    // The thread does it, where it sleeps; where it does not, or there is none, as wake().
    virtual void wake_thread() { wake(); }
};

// By a byte in the carrier's pipe; one that is there already does for all.
class PipeWaker final : public Waker {
  public:
    // `fd` is the caller's: Carrier::wake_fd(), or the same pipe opened again with O_RDWR and
    // O_NONBLOCK. With a reading end of its own, no writer is killed when the carrier's process is
    // gone.
    explicit PipeWaker(int fd) : fd_(fd) {}
    void wake() override;

  private:
    int fd_;
};

}  // namespace tutti::transport::carrier
