// SPDX-License-Identifier: Apache-2.0
//
// Trajectories on their way to the controller, and what became of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <rclcpp/rclcpp.hpp>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <realtime_tools/realtime_buffer.hpp>
#include <std_msgs/msg/string.hpp>
#include <trajectory_msgs/msg/joint_trajectory.hpp>

#include "controller.h"
#include "goal_tolerances.hpp"
#include "messages.hpp"
#include "status.hpp"

namespace RD_PACKAGE
{
// Rows of points in the order of the joints. Without points it stops the arm on its path.
struct Reference
{
  long number = 0;         // Counts references, from 1 on.
  std::int64_t stamp = 0;  // Start, ns; 0 for now.
  std::vector<double> t, q, v, a;
  ErrorBounds path;  // Beyond them the arm is stopped on its path.
};

// Read a trajectory; throws a TrajectoryError.
inline void read_trajectory(
  const trajectory_msgs::msg::JointTrajectory & message, const std::vector<std::string> & joints,
  Reference & reference)
{
  reference.stamp = nanoseconds(message.header.stamp);
  std::array<std::size_t, RD_N> order;
  for (std::size_t i = 0; i < RD_N; ++i) {
    const auto & names = message.joint_names;
    const auto found = std::find(names.begin(), names.end(), joints[i]);
    if (names.size() != RD_N || found == names.end()) {
      throw JointNamesError("joint_names must name every joint of the controller once");
    }
    order[i] = static_cast<std::size_t>(found - names.begin());
  }
  if (message.points.size() > RD_MAX_POINTS) {
    throw TrajectoryError("it must have at most " + std::to_string(RD_MAX_POINTS) + " points");
  }
  for (const auto & point : message.points) {
    const auto & first = message.points.front();
    if (point.positions.size() != RD_N ||
      point.velocities.size() != first.velocities.size() ||
      point.accelerations.size() != first.accelerations.size())
    {
      throw TrajectoryError(
              "every point must have one position for each joint, and the same derivatives");
    }
    reference.t.push_back(1e-9 * static_cast<double>(nanoseconds(point.time_from_start)));
    for (const auto & [values, row] :
      {std::make_pair(&point.positions, &reference.q),
        std::make_pair(&point.velocities, &reference.v),
        std::make_pair(&point.accelerations, &reference.a)})
    {
      if (!values->empty() && values->size() != RD_N) {
        throw TrajectoryError(
                "velocities and accelerations must have one value for each joint, or none");
      }
      for (std::size_t i = 0; i < values->size(); ++i) {row->push_back((*values)[order[i]]);}
    }
  }
}

// Passes trajectories to update(), one at a time, and reports which are followed.
class References
{
public:
  // Subscribe to a topic; `status` is that of the controller.
  void open(
    const std::shared_ptr<rclcpp_lifecycle::LifecycleNode> & node, const std::string & topic,
    const std::vector<std::string> & joints, const SharedStatus & status)
  {
    using trajectory_msgs::msg::JointTrajectory;
    node_ = node;
    joints_ = joints;
    status_ = &status;
    results_ = node->create_publisher<std_msgs::msg::String>(
      "~/reference_status", rclcpp::QoS(1).reliable().transient_local());
    subscription_ = node->create_subscription<JointTrajectory>(
      topic, rclcpp::QoS(1).reliable(), [this](const JointTrajectory & message) {
        auto reference = std::make_shared<Reference>();
        try {
          read_trajectory(message, joints_, *reference);
          pass_on(reference);
        } catch (const TrajectoryError & error) {
          report(reference->stamp, false, error.what());
        }
      });
  }

  void close()
  {
    subscription_.reset();
  }

  // In update(): the reference after the one of a number, nullptr for none.
  const Reference * next(long number)
  {
    const auto & reference = *buffer_.readFromRT();
    return reference && reference->number != number ? reference.get() : nullptr;
  }

  // Pass a reference on to update(), and wait for its answer; throws a TrajectoryError.
  void follow(const std::shared_ptr<Reference> & reference)
  {
    pass_on(reference);
    const Status now = status_->wait_for(
      [&reference](const Status & each) {return each.reference == reference->number;});
    if (now.reference != reference->number) {
      throw TrajectoryError("this controller does not command the arm");
    }
    const std::string text = text_of(rd_refusal_text[now.refusal], now.joint, now.value);
    if (now.refusal == RD_TOO_OLD) {
      throw OldTrajectoryError(text);
    }
    if (now.refusal != RD_FOLLOWED) {
      throw TrajectoryError(text);
    }
  }

  // Publish what became of the last reference, once.
  void report(const Status & now)
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (now.reference == reported_) {
      return;
    }
    reported_ = now.reference;
    const bool is_followed = now.refusal == RD_FOLLOWED;
    const std::size_t points = last_->t.size();
    report(last_->stamp, is_followed, !is_followed
      ? text_of(rd_refusal_text[now.refusal], now.joint, now.value) : points == 0
      ? "the motion was ended"
      : "a trajectory of " + std::to_string(points) + " points is followed");
  }

private:
  void pass_on(const std::shared_ptr<Reference> & reference)
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    reference->number = last_ ? last_->number + 1 : 1;
    if (status_->get().mode == RD_STOPPED) {
      throw TrajectoryError("this controller does not command the arm");
    }
    last_ = reference;
    buffer_.writeFromNonRT(reference);
  }

  void report(std::int64_t stamp, bool is_accepted, const std::string & text)
  {
    std_msgs::msg::String message;
    message.data = std::string("{\"accepted\": ") + (is_accepted ? "true" : "false") +
      ", \"stamp\": " + std::to_string(stamp) + ", \"text\": " + quoted(text) + "}";
    results_->publish(message);
    if (!is_accepted) {
      RCLCPP_WARN_THROTTLE(
        node_->get_logger(), *node_->get_clock(), 2000, "trajectory rejected: %s", text.c_str());
    }
  }

  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> node_;
  std::vector<std::string> joints_;
  const SharedStatus * status_ = nullptr;
  realtime_tools::RealtimeBuffer<std::shared_ptr<const Reference>> buffer_;
  std::shared_ptr<const Reference> last_;
  long reported_ = 0;
  std::mutex mutex_;
  rclcpp::Publisher<std_msgs::msg::String>::SharedPtr results_;
  std::shared_ptr<void> subscription_;
};
}  // namespace RD_PACKAGE
