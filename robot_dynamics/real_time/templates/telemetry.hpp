// SPDX-License-Identifier: Apache-2.0
//
// Topics for plots and recorders: filled in the control cycle, sent by other threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <rclcpp/rclcpp.hpp>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <realtime_tools/realtime_publisher.hpp>
#include <sensor_msgs/msg/joint_state.hpp>
#include <std_msgs/msg/float64_multi_array.hpp>

#include "controller.h"
#include "goal_tolerances.hpp"
#include "ros_versions.hpp"

namespace RD_PACKAGE
{
// Message of all joints with some fields. RViz needs the frame to draw efforts.
inline sensor_msgs::msg::JointState joint_message(
  std::initializer_list<std::vector<double> sensor_msgs::msg::JointState::*> fields)
{
  sensor_msgs::msg::JointState message;
  message.name.assign(rd_joint_names, rd_joint_names + RD_N);
  message.header.frame_id = rd_base_name;
  for (const auto field : fields) {
    (message.*field).resize(RD_N);
  }
  return message;
}

// Array with one dimension of a label.
inline std_msgs::msg::Float64MultiArray array_message(const std::string & label, std::size_t size)
{
  std_msgs::msg::Float64MultiArray message;
  message.layout.dim.resize(1);
  message.layout.dim[0].label = label;
  message.layout.dim[0].size = message.layout.dim[0].stride = static_cast<std::uint32_t>(size);
  message.data.resize(size);
  return message;
}

class Telemetry
{
public:
  // Open the topics, each with a rate in Hz, 0 for none.
  void open(rclcpp_lifecycle::LifecycleNode & node, double rate)
  {
    using sensor_msgs::msg::JointState;
    cycles_ = rate > 0.0 ? std::max(1L, std::lround(1.0 / (RD_PERIOD * rate))) : 0;
    open(node, error_, "~/tracking_error",
      joint_message({&JointState::position, &JointState::velocity}));
    open(node, command_, "~/command", joint_message({&JointState::effort}));
    open(node, timing_, "~/timing", array_message("timing", 4));
#if RD_ESTIMATES > 0
    open(node, estimate_, "~/parameter_estimate", array_message("parameter", RD_ESTIMATES));
#endif
  }

  void close()
  {
    for (auto * topic : {&error_, &command_}) {topic->publisher.reset();}
    for (auto * topic : {&timing_, &estimate_}) {topic->publisher.reset();}
  }

  // Fill and send each topic once a round of cycles_, spread over its cycles.
  void publish(const rclcpp::Time & time, const rd_controller & core, const Joints & tau)
  {
    if (cycles_ == 0) {
      return;
    }
    const auto is_turn = [this](long k) {return cycle_ == k * cycles_ / 4;};
    if (is_turn(0) && core.mode >= RD_TRACKING && core.mode <= RD_HALTED) {
      for (std::size_t i = 0; i < RD_N; ++i) {
        error_.message.position[i] = core.q_d[i] - core.monitor.q[i];
        error_.message.velocity[i] = core.v_d[i] - core.monitor.v[i];
      }
      error_.message.header.stamp = time;
      send(*error_.publisher, error_.message, 0);
    }
    if (is_turn(1)) {
      std::copy(tau.begin(), tau.end(), command_.message.effort.begin());
      command_.message.header.stamp = time;
      send(*command_.publisher, command_.message, 0);
    }
    if (is_turn(2) && send(*timing_.publisher, timing_.message, 0)) {
      timing_.message.data[2] = timing_.message.data[3] = 0.0;
    }
#if RD_ESTIMATES > 0
    if (is_turn(3)) {
      std::copy_n(core.law.parameters, RD_ESTIMATES, estimate_.message.data.begin());
      send(*estimate_.publisher, estimate_.message, 0);
    }
#endif
    cycle_ = (cycle_ + 1) % cycles_;
  }

  // Note the latency and the duration of a cycle, s; the largest are published too.
  void note_times(double latency, double duration)
  {
    auto & timing = timing_.message.data;
    timing[0] = latency;
    timing[1] = duration;
    timing[2] = std::max(timing[2], latency);
    timing[3] = std::max(timing[3], duration);
  }

private:
  template <class Message>
  struct Topic
  {
    Message message;
    std::unique_ptr<realtime_tools::RealtimePublisher<Message>> publisher;
  };

  template <class Message>
  static void open(
    rclcpp_lifecycle::LifecycleNode & node, Topic<Message> & topic, const std::string & name,
    const Message & message)
  {
    topic.message = message;
    topic.publisher = std::make_unique<realtime_tools::RealtimePublisher<Message>>(
      node.create_publisher<Message>(name, rclcpp::QoS(10).reliable()));
  }

  long cycles_ = 0, cycle_ = 0;
  Topic<sensor_msgs::msg::JointState> error_, command_;
  Topic<std_msgs::msg::Float64MultiArray> timing_, estimate_;
};
}  // namespace RD_PACKAGE
