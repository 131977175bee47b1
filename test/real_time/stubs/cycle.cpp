// SPDX-License-Identifier: Apache-2.0
//
// Runs the plugin with a simulated arm and prints what it did, a line "name value" each. The
// arguments are the files of estimates to start from and to save to.
#include "plugin.cpp"

#include <cstdio>

extern "C" {
#include "robot.h"
}

using RD_PACKAGE::ControllerPlugin;
using RD_PACKAGE::Joints;
using controller_interface::CallbackReturn;

namespace
{
constexpr int SUBSTEPS = 4;
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

  void run(double seconds, const std::atomic<bool> * until = nullptr)
  {
    for (double t = 0.0; t < seconds && !(until && *until); t += RD_PERIOD) {
      read_and_write();
      plugin.update(node.time, {std::lround(1e9 * RD_PERIOD)});
      node.find<rclcpp::TimerBase>("timer").callback();
      if (until) {std::this_thread::sleep_for(std::chrono::microseconds(100));}
    }
  }

  // Move joint 4 by an angle within 1 s.
  void send(double angle, std::vector<std::string> names)
  {
    trajectory_msgs::msg::JointTrajectory message;
    message.joint_names = std::move(names);
    message.points.resize(1);
    auto & point = message.points[0];
    // The joints of the message are in reverse order.
    point.positions.assign(arm.q.rbegin(), arm.q.rend());
    point.positions[RD_N - 4] += angle;
    point.velocities.assign(RD_N, 0.0);
    point.time_from_start.sec = 1;
    node.find<rclcpp::Subscription<trajectory_msgs::msg::JointTrajectory>>("~/reference")
    .callback(message);
  }

  void call(const char * service)
  {
    std::atomic<bool> is_answered{false};
    auto answer = std::make_shared<std_srvs::srv::Trigger::Response>();
    std::thread caller([&] {
        node.find<rclcpp::Service<std_srvs::srv::Trigger>>(service).callback(nullptr, answer);
        is_answered = true;
      });
    run(10.0, &is_answered);
    caller.join();
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

int main(int, char ** arguments)
{
  static Bench bench;
  auto & plugin = bench.plugin;
  std::vector<std::string> names(RD_PACKAGE::rd_joint_names, RD_PACKAGE::rd_joint_names + RD_N);
  std::reverse(names.begin(), names.end());
  plugin.update_rate = 100;
  plugin.on_init();
  bench.node.parameters["estimates.restore_from"] = {std::string(arguments[1])};
  bench.node.parameters["estimates.save_to"] = {std::string(arguments[2])};
  std::printf("wrong_rate %d\n", plugin.on_configure(STATE) == CallbackReturn::FAILURE);
  plugin.update_rate = static_cast<unsigned>(std::lround(1.0 / RD_PERIOD));
  std::printf("configured %d\n", plugin.on_configure(STATE) == CallbackReturn::SUCCESS);
  std::printf("first_state %s\n", plugin.state_interface_configuration().names[RD_N].c_str());
  plugin.command_interfaces_.resize(RD_N);
  plugin.state_interfaces_.resize(3 * RD_N);
  bench.node.time = rclcpp::Time(1700000000000000000);
  for (auto & interface : plugin.state_interfaces_) {*interface.value = NAN;}
  std::printf("refused %d\n", plugin.on_activate(STATE) == CallbackReturn::FAILURE);

  const Arm start = bench.arm;
  bench.read_and_write();
  bench.arm = start;
  std::printf("activated %d\n", plugin.on_activate(STATE) == CallbackReturn::SUCCESS);
  bench.run(1.0);
  bench.print_text("mode_after_activation", "~/mode");

  const double before = bench.arm.q[3];
  bench.send(0.2, {"other"});
  bench.print_text("rejected", "~/reference_status");
  bench.send(0.2, names);
  bench.run(2.0);
  bench.print_text("followed", "~/reference_status");
  std::printf("moved %.4f\n", bench.arm.q[3] - before);
  std::printf("errors %d\ncommands %d\n", bench.count("~/tracking_error"),
    bench.count("~/command"));

  bench.send(-0.2, names);
  bench.run(0.4);
  bench.call("~/stop");
  bench.run(1.0);
  bench.print_text("mode_after_stop", "~/mode");
  std::printf("speed_after_stop %.4f\n", bench.arm.speed());
  bench.call("~/resume");
  bench.run(0.1);
  bench.print_text("mode_after_resume", "~/mode");

  // From the thread of the cycle: the last command is gravity.
  plugin.on_deactivate(STATE);
  double g[RD_N], largest = 0.0;
  rd_gravity(bench.arm.q.data(), rd_parameters, g);
  for (int i = 0; i < RD_N; ++i) {
    largest = std::max(largest, std::abs(*plugin.command_interfaces_[i].value - g[i]));
  }
  std::printf("beside_gravity %.4f\n", largest);

  // From another thread, in motion, while the cycle goes on.
  plugin.on_activate(STATE);
  bench.run(1.0);
  bench.send(0.4, names);
  bench.run(0.5);
  std::printf("speed_before_end %.4f\n", bench.arm.speed());
  std::atomic<bool> has_ended{false};
  std::thread end([&] {
      plugin.on_deactivate(STATE);
      has_ended = true;
    });
  while (!has_ended) {
    bench.read_and_write();
    plugin.update(bench.node.time, {0});
    std::this_thread::sleep_for(std::chrono::duration<double>(RD_PERIOD));
  }
  end.join();
  std::printf("speed_after_end %.4f\n", bench.arm.speed());
#if RD_ESTIMATES > 0
  const auto & estimates =
    bench.node.find<rclcpp::Publisher<std_msgs::msg::Float64MultiArray>>("~/parameter_estimate");
  bench.print_text("names", "~/parameter_names");
  std::printf("estimates");
  for (const double each : estimates.last.data) {std::printf(" %.17g", each);}
  std::printf("\n");
#endif
  plugin.on_cleanup(STATE);
  bench.print_text("last_mode", "~/mode");
}
