// SPDX-License-Identifier: Apache-2.0
//
// Life of a controller whose end effector follows poses and twists.
#include "bench.hpp"

namespace
{
using geometry_msgs::msg::PoseStamped;
using geometry_msgs::msg::TwistStamped;

template <class Message>
void follow(Bench & bench, const char * topic, const Message & message, double seconds)
{
  for (double t = 0.0; t < seconds; t += 0.1) {
    bench.node.find<rclcpp::Subscription<Message>>(topic).callback(message);
    bench.run(0.1);
  }
}

// Of a rotation, row after row, with w > 0.
geometry_msgs::msg::Quaternion quaternion_of(const double * R)
{
  const double w = 0.5 * std::sqrt(1.0 + R[0] + R[4] + R[8]);
  return {(R[7] - R[5]) / (4.0 * w), (R[2] - R[6]) / (4.0 * w), (R[3] - R[1]) / (4.0 * w), w};
}

double height(const Bench & bench)
{
  double pose[12];
  rd_tip_pose(bench.arm.q.data(), pose);
  return pose[11];
}
}  // namespace

int main()
{
  static Bench bench;
  bench.plugin.on_configure(STATE);
  bench.activate();
  bench.run(2.0);
  bench.print_text("mode", "~/mode");

  double pose[12], before = height(bench);
  rd_tip_pose(bench.arm.q.data(), pose);
  PoseStamped goal;
  goal.header.frame_id = RD_PACKAGE::rd_base_name;
  goal.pose.position = {pose[9], pose[10], pose[11] - 0.1};
  goal.pose.orientation = quaternion_of(pose);
  PoseStamped wrong = goal;
  wrong.header.frame_id = "camera";
  follow(bench, "~/pose", wrong, 0.5);
  wrong = goal;
  wrong.pose.orientation.w += 1.0;
  follow(bench, "~/pose", wrong, 0.5);
  wrong = goal;
  wrong.header.stamp = rclcpp::Time(bench.node.time.nanoseconds() - 2000000000);
  follow(bench, "~/pose", wrong, 0.5);
  std::printf("moved_by_wrong %.4f\n", height(bench) - before);
  follow(bench, "~/pose", goal, 2.0);
  std::printf("moved_by_pose %.4f\n", height(bench) - before);

  TwistStamped twist;
  twist.header.frame_id = RD_PACKAGE::rd_base_name;
  twist.twist.linear.z = 0.05;
  before = height(bench);
  follow(bench, "~/twist", twist, 2.0);
  std::printf("moved_by_twist %.4f\n", height(bench) - before);
  bench.run(2.0);
  std::printf("speed_without_twist %.4f\n", bench.arm.speed());
  bench.call("~/stop");
  before = height(bench);
  follow(bench, "~/twist", twist, 1.0);
  std::printf("moved_in_stop %.4f\n", height(bench) - before);
  bench.print_text("mode_in_stop", "~/mode");
}
