// SPDX-License-Identifier: Apache-2.0
//
// What update() reports to the other threads.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>

#include "controller.h"
#include "goal_tolerances.hpp"

namespace RD_PACKAGE
{
struct Status
{
  rd_mode mode = RD_STOPPED;
  rd_finding reason = {RD_NO_STATE, -1, 0.0, 0.0};
  long reference = 0;  // Number of the last reference, and what became of it.
  rd_refusal refusal = RD_FOLLOWED;
  int joint = -1;
  double value = 0.0;
  long followed = 0;    // Number of the reference that is followed.
  Violation violation;  // Of its bounds.
  double time = 0.0, end = 0.0;  // Of the last state, and of the end of the motion, s.
  Joints q_d{}, v_d{}, a_d{}, q{}, v{};
  long requests = 0;  // Number of requests that were answered, and whether the last was granted.
  bool is_granted = false;
};

// The status between the threads.
class SharedStatus
{
public:
  void set(const Status & status)
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    status_ = status;
  }

  // Without waiting: while another thread reads, the status before stays.
  void try_set(const Status & status)
  {
    const std::unique_lock<std::mutex> guard(mutex_, std::try_to_lock);
    if (guard.owns_lock()) {
      status_ = status;
    }
  }

  Status get() const
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    return status_;
  }

  // Status after an answer of update(), or after 0.2 s without one.
  template <class Predicate>
  Status wait_for(Predicate is_answered) const
  {
    using std::chrono::steady_clock;
    const auto end = steady_clock::now() + std::chrono::milliseconds(200);
    Status now = get();
    while (!is_answered(now) && steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      now = get();
    }
    return now;
  }

private:
  mutable std::mutex mutex_;
  Status status_;
};
}  // namespace RD_PACKAGE
