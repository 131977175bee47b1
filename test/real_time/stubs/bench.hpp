// SPDX-License-Identifier: Apache-2.0
//
// The plugin with a simulated arm. Programs print what it did, a line "name value" each.
#pragma once

#include "plugin.cpp"

#include <cstdio>

extern "C" {
#include "robot.h"
}

using RD_PACKAGE::ControllerPlugin;
using RD_PACKAGE::Joints;
using trajectory_msgs::msg::JointTrajectory;
using controller_interface::CallbackReturn;

namespace
{
constexpr int SUBSTEPS = 4;
// Periods of the timers in ms; their callbacks run in every cycle.
#if RD_GUIDES
constexpr const char * TIMERS[] = {"10"};
#else
constexpr const char * TIMERS[] = {"10", "50"};
#endif
const rclcpp_lifecycle::State STATE;

// The arm of the generated equations: it applies the efforts of the command interfaces.
struct Arm
{
  Joints q{0.1, 0.2, 0.3, -1.5, 0.1, 1.5, 0.1}, v{}, tau{};

  void step(double dt)
  {
    double M[RD_N * RD_N], h[RD_N];
    const Joints zero{};
    rd_mass_matrix(q.data(), rd_parameters, M);
    rd_inverse_dynamics(q.data(), v.data(), zero.data(), rd_parameters, h);
    // Elimination without pivots: M is positive definite.
    Joints a;
    for (int i = 0; i < RD_N; ++i) {a[i] = tau[i] - h[i];}
    for (int k = 0; k < RD_N; ++k) {
      for (int i = k + 1; i < RD_N; ++i) {
        const double factor = M[i * RD_N + k] / M[k * RD_N + k];
        for (int j = k; j < RD_N; ++j) {M[i * RD_N + j] -= factor * M[k * RD_N + j];}
        a[i] -= factor * a[k];
      }
    }
    for (int i = RD_N - 1; i >= 0; --i) {
      for (int j = i + 1; j < RD_N; ++j) {a[i] -= M[i * RD_N + j] * a[j];}
      a[i] /= M[i * RD_N + i];
    }
    for (int i = 0; i < RD_N; ++i) {
      v[i] += dt * a[i];
      q[i] += dt * v[i];
    }
  }

  double speed() const
  {
    double largest = 0.0;
    for (const double each : v) {largest = std::max(largest, std::abs(each));}
    return largest;
  }
};

struct Bench
{
  Arm arm;
  ControllerPlugin plugin;
  rclcpp_lifecycle::LifecycleNode & node = *plugin.get_node();

  Bench()
  {
    plugin.command_interfaces_.resize(RD_N);
    plugin.state_interfaces_.resize(3 * RD_N);
    plugin.update_rate = static_cast<unsigned>(std::lround(1.0 / RD_PERIOD));
    plugin.on_init();
    node.time = rclcpp::Time(1700000000000000000);
    for (auto & interface : plugin.state_interfaces_) {*interface.value = NAN;}
  }

  // Activate with the state of an arm that is held.
  CallbackReturn activate()
  {
    const Arm start = arm;
    read_and_write();
    arm = start;
    return plugin.on_activate(STATE);
  }

  // What the hardware does in a cycle.
  void read_and_write()
  {
    for (int i = 0; i < RD_N; ++i) {
      const double command = *plugin.command_interfaces_[i].value;
      arm.tau[i] = std::isfinite(command) ? command : 0.0;
    }
    for (int k = 0; k < SUBSTEPS; ++k) {arm.step(RD_PERIOD / SUBSTEPS);}
    node.time = rclcpp::Time(node.time.nanoseconds() + std::lround(1e9 * RD_PERIOD));
    for (int i = 0; i < RD_N; ++i) {
      *plugin.state_interfaces_[i].value = arm.q[i];
      *plugin.state_interfaces_[RD_N + i].value = arm.v[i];
      *plugin.state_interfaces_[2 * RD_N + i].value = arm.tau[i];
    }
  }

  void run(double seconds)
  {
    for (double t = 0.0; t < seconds; t += RD_PERIOD) {
      cycle();
      for (const char * milliseconds : TIMERS) {
        node.find<rclcpp::TimerBase>(milliseconds).callback();
      }
    }
  }

  void cycle()
  {
    read_and_write();
    plugin.update(node.time, {std::lround(1e9 * RD_PERIOD)});
  }

  // Motion of joint 4 by an angle within 1 s, of joints in reverse order.
  JointTrajectory motion(double angle) const
  {
    JointTrajectory message;
    message.joint_names.assign(RD_PACKAGE::rd_joint_names, RD_PACKAGE::rd_joint_names + RD_N);
    std::reverse(message.joint_names.begin(), message.joint_names.end());
    message.points.resize(1);
    auto & point = message.points[0];
    point.positions.assign(arm.q.rbegin(), arm.q.rend());
    point.positions[RD_N - 4] += angle;
    point.velocities.assign(RD_N, 0.0);
    point.time_from_start.sec = 1;
    return message;
  }

  void send(const JointTrajectory & message)
  {
    node.find<rclcpp::Subscription<JointTrajectory>>("~/reference").callback(message);
  }

  // Cycles during a callback, which waits for the plugin in the thread of the executor.
  template <class Callback>
  void run_during(Callback callback)
  {
    std::atomic<bool> is_done{false};
    std::thread executor([&] {
        callback();
        is_done = true;
      });
    while (!is_done) {
      cycle();
      std::this_thread::sleep_for(std::chrono::duration<double>(RD_PERIOD));
    }
    executor.join();
  }

  void call(const char * service)
  {
    auto answer = std::make_shared<std_srvs::srv::Trigger::Response>();
    run_during([&] {
        node.find<rclcpp::Service<std_srvs::srv::Trigger>>(service).callback(nullptr, answer);
      });
    std::printf("%s %d\n", service, answer->success);
  }

  void print_text(const char * name, const char * topic)
  {
    const auto & publisher = node.find<rclcpp::Publisher<std_msgs::msg::String>>(topic);
    std::printf("%s %s\n", name, publisher.last.data.c_str());
  }

  int count(const char * topic)
  {
    return node.find<rclcpp::Publisher<sensor_msgs::msg::JointState>>(topic).count;
  }
};
}  // namespace
