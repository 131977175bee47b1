// SPDX-License-Identifier: Apache-2.0
//
// Life of a controller that follows trajectories. The arguments are the files of estimates to start
// from and to save to.
#include <future>

#include "bench.hpp"

namespace
{
using Action = control_msgs::action::FollowJointTrajectory;
using Handle = rclcpp_action::ServerGoalHandle<Action>;

// A goal of the action: its trajectory with tolerances of joint 4.
struct Goal
{
  Bench & bench;
  std::shared_ptr<Handle> handle = std::make_shared<Handle>();
  rclcpp_action::Server<Action> & server =
    bench.node.find<rclcpp_action::Server<Action>>("~/follow_joint_trajectory");

  Goal(
    Bench & arm, const JointTrajectory & trajectory, double path = 0.0, double end = 0.0,
    double seconds = 0.0)
  : bench(arm)
  {
    auto goal = std::make_shared<Action::Goal>();
    goal->trajectory = trajectory;
    goal->path_tolerance = {{RD_PACKAGE::rd_joint_names[3], path}};
    goal->goal_tolerance = {{RD_PACKAGE::rd_joint_names[3], end}};
    goal->goal_time_tolerance.nanosec = static_cast<std::uint32_t>(1e9 * seconds);
    handle->goal = goal;
    bench.run_during([this] {server.accepted(handle);});
  }

  void cancel()
  {
    bench.run_during([this] {server.cancel(handle);});
    handle->is_cancelled = true;
  }

  void print(const char * name) const
  {
    std::printf("%s %s %d %s\n", name, handle->end.c_str(),
      handle->result ? handle->result->error_code : 0,
      handle->result ? handle->result->error_string.c_str() : "");
  }
};

void try_goals(Bench & bench)
{
  const double before = bench.arm.q[3];
  Goal reached(bench, bench.motion(0.2));
  bench.run(0.5);
  const auto & error = *reached.handle->feedback;
  std::printf("feedback %.4f %.4f %.9f\n", error.desired.velocities[3],
    error.actual.positions[3] - before, error.error.positions[3]);
  bench.run(1.0);
  reached.print("reached");

  JointTrajectory other = bench.motion(0.1);
  other.joint_names[0] = "other";
  Goal(bench, other).print("other_joints");
  JointTrajectory old = bench.motion(0.1);
  old.header.stamp = rclcpp::Time(bench.node.time.nanoseconds() - 2000000000);
  Goal(bench, old).print("old");
  Goal(bench, bench.motion(9.0)).print("outside");
  Goal(bench, bench.motion(0.1), -2.0).print("wrong_tolerance");

  Goal path(bench, bench.motion(-0.2), 1e-7);
  bench.run(0.4);
  path.print("path");
  std::printf("speed_after_path %.4f\n", bench.arm.speed());
  Goal end(bench, bench.motion(-0.2), -1.0, 1e-12, 0.3);
  bench.run(1.2);
  end.print("before_goal_time");
  bench.run(0.3);
  end.print("after_goal_time");

  Goal cancelled(bench, bench.motion(0.3));
  bench.run(0.4);
  cancelled.cancel();
  bench.run(0.004);
  cancelled.print("cancelling");
  bench.run(1.0);
  cancelled.print("cancelled");
  std::printf("speed_after_cancel %.4f\n", bench.arm.speed());

  Goal first(bench, bench.motion(0.3));
  bench.run(0.3);
  Goal(bench, other).print("refused_goal");
  Goal second(bench, bench.motion(0.1));
  first.print("replaced_by_goal");
  bench.run(0.1);
  bench.send(bench.motion(-0.1));
  bench.run(0.1);
  second.print("replaced_by_reference");
  bench.run(1.0);
}
}  // namespace

int main(int, char ** arguments)
{
  static Bench bench;
  auto & plugin = bench.plugin;
  bench.node.parameters["estimates.restore_from"] = {std::string(arguments[1])};
  bench.node.parameters["estimates.save_to"] = {std::string(arguments[2])};
  plugin.update_rate = 100;
  std::printf("wrong_rate %d\n", plugin.on_configure(STATE) == CallbackReturn::FAILURE);
  plugin.update_rate = static_cast<unsigned>(std::lround(1.0 / RD_PERIOD));
  std::printf("configured %d\n", plugin.on_configure(STATE) == CallbackReturn::SUCCESS);
  std::printf("first_state %s\n", plugin.state_interface_configuration().names[RD_N].c_str());
  std::printf("refused %d\n", plugin.on_activate(STATE) == CallbackReturn::FAILURE);

  std::printf("activated %d\n", bench.activate() == CallbackReturn::SUCCESS);
  bench.run(1.0);
  bench.print_text("mode_after_activation", "~/mode");

  const double before = bench.arm.q[3];
  JointTrajectory other = bench.motion(0.2);
  other.joint_names = {"other"};
  bench.send(other);
  bench.print_text("rejected", "~/reference_status");
  bench.send(bench.motion(0.2));
  bench.run(2.0);
  bench.print_text("followed", "~/reference_status");
  std::printf("moved %.4f\n", bench.arm.q[3] - before);
  std::printf("errors %d\ncommands %d\n", bench.count("~/tracking_error"),
    bench.count("~/command"));

  bench.send(bench.motion(-0.2));
  bench.run(0.4);
  bench.call("~/stop");
  bench.run(1.0);
  bench.print_text("mode_after_stop", "~/mode");
  std::printf("speed_after_stop %.4f\n", bench.arm.speed());
  bench.call("~/resume");
  bench.run(0.1);
  bench.print_text("mode_after_resume", "~/mode");

  try_goals(bench);

  // From the thread of the cycle: the last command is gravity.
  plugin.on_deactivate(STATE);
  double g[RD_N], largest = 0.0;
  rd_gravity(bench.arm.q.data(), rd_parameters, g);
  for (int i = 0; i < RD_N; ++i) {
    largest = std::max(largest, std::abs(*plugin.command_interfaces_[i].value - g[i]));
  }
  std::printf("beside_gravity %.4f\n", largest);

  // From another thread, that of the activation, in motion, while the cycle goes on.
  std::promise<void> activated, moves;
  auto ended = std::async(std::launch::async, [&] {
        plugin.on_activate(STATE);
        activated.set_value();
        moves.get_future().wait();
        plugin.on_deactivate(STATE);
      });
  activated.get_future().wait();
  bench.run(1.0);
  Goal last(bench, bench.motion(0.4));
  bench.run(0.5);
  std::printf("speed_before_end %.4f\n", bench.arm.speed());
  moves.set_value();
  bench.run_during([&] {ended.wait();});
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
  last.print("stopped");
}
