// SPDX-License-Identifier: Apache-2.0
//
// Topics ~/pose and ~/twist: goals of the end effector, in the axes of the base of the arm.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <geometry_msgs/msg/pose_stamped.hpp>
#include <geometry_msgs/msg/twist_stamped.hpp>
#include <rclcpp/rclcpp.hpp>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <realtime_tools/realtime_buffer.hpp>

#include "controller.h"
#include "messages.hpp"
#include "names.hpp"
#include "status.hpp"

namespace RD_PACKAGE
{
class PoseTopics
{
public:
  explicit PoseTopics(const SharedStatus & status)
  : status_(status) {}

  void open(const std::shared_ptr<rclcpp_lifecycle::LifecycleNode> & node)
  {
    using geometry_msgs::msg::PoseStamped;
    using geometry_msgs::msg::TwistStamped;
    node_ = node;
    pose_ = node->create_subscription<PoseStamped>(
      "~/pose", rclcpp::QoS(1).reliable(), [this](const PoseStamped & message) {
        const auto & at = message.pose.position;
        const auto & turn = message.pose.orientation;
        const double position[] = {at.x, at.y, at.z};
        const double quaternion[] = {turn.x, turn.y, turn.z, turn.w};
        rd_goal goal;
        follow(message.header, goal, rd_goal_set_pose(&goal, position, quaternion),
          "it must have finite numbers, and a quaternion of length 1");
      });
    twist_ = node->create_subscription<TwistStamped>(
      "~/twist", rclcpp::QoS(1).reliable(), [this](const TwistStamped & message) {
        const auto & v = message.twist.linear;
        const auto & w = message.twist.angular;
        const double twist[] = {v.x, v.y, v.z, w.x, w.y, w.z};
        rd_goal goal;
        follow(message.header, goal, rd_goal_set_twist(&goal, twist),
          "it must have finite numbers");
      });
  }

  void close()
  {
    pose_.reset();
    twist_.reset();
  }

  // In update(): a goal that has come since the last cycle replaces the one before.
  void answer(rd_controller & core)
  {
    const Numbered & next = *buffer_.readFromRT();
    if (next.number != answered_ && core.mode == RD_GUIDED) {
      core.law.setpoint.goal = next.goal;
    }
    answered_ = next.number;
  }

private:
  struct Numbered
  {
    long number = 0;
    rd_goal goal{};
  };

  // Pass a goal on to update(), or log why it is refused.
  template <class Header>
  void follow(const Header & header, const rd_goal & goal, bool is_valid, const char * rule)
  {
    const std::int64_t stamp = nanoseconds(header.stamp), now = node_->now().nanoseconds();
    const rd_mode mode = status_.get().mode;
    std::string problem;
    if (header.frame_id != rd_base_name) {
      problem = std::string("frame_id must be ") + rd_base_name;
    } else if (stamp != 0 && now - stamp > 1e9 * RD_GOAL_TIMEOUT) {
      problem = "its stamp is too old";
    } else if (mode != RD_GUIDED) {
      problem = std::string("the controller is ") + rd_mode_text[mode];
    } else if (!is_valid) {
      problem = rule;
    } else {
      buffer_.writeFromNonRT({++sent_, goal});
      return;
    }
    RCLCPP_WARN_THROTTLE(
      node_->get_logger(), *node_->get_clock(), 2000, "setpoint refused: %s", problem.c_str());
  }

  const SharedStatus & status_;
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> node_;
  realtime_tools::RealtimeBuffer<Numbered> buffer_;
  long sent_ = 0, answered_ = 0;
  std::shared_ptr<void> pose_, twist_;
};
}  // namespace RD_PACKAGE
