// SPDX-License-Identifier: Apache-2.0
//
// The action ~/follow_joint_trajectory, with the names and meaning of that of
// joint_trajectory_controller. A goal is followed as any trajectory of ~/reference. Feedback, the
// end of a goal and its result are decided beside the control cycle, which compares only the
// tolerances of the path.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <control_msgs/action/follow_joint_trajectory.hpp>
#include <rclcpp/rclcpp.hpp>
#include <rclcpp_action/rclcpp_action.hpp>
#include <rclcpp_lifecycle/lifecycle_node.hpp>

#include "goal_tolerances.hpp"
#include "messages.hpp"
#include "references.hpp"
#include "status.hpp"

namespace RD_PACKAGE
{
class TrajectoryAction
{
public:
  using Action = control_msgs::action::FollowJointTrajectory;
  using Handle = rclcpp_action::ServerGoalHandle<Action>;
  using Result = Action::Result;

  TrajectoryAction(References & references, const SharedStatus & status)
  : references_(references), status_(status) {}

  // Serve the action for the joints of a controller.
  void open(
    const std::shared_ptr<rclcpp_lifecycle::LifecycleNode> & node,
    const std::vector<std::string> & joints)
  {
    node_ = node;
    joints_ = joints;
    const auto values = [&node](const std::string & name) {
        return bounds_of(node->get_parameter("constraints." + name).as_double_array());
      };
    defaults_.path.position = values("trajectory");
    defaults_.at_end.position = values("goal");
    defaults_.at_end.velocity =
      bounds_of({node->get_parameter("constraints.stopped_velocity_tolerance").as_double()});
    defaults_.time = bounds_of({node->get_parameter("constraints.goal_time").as_double()})[0];
    server_ = rclcpp_action::create_server<Action>(
      node, "~/follow_joint_trajectory",
      // Every goal is accepted, so that one that cannot be followed gets a result with the reason.
      [](const rclcpp_action::GoalUUID &, std::shared_ptr<const Action::Goal>) {
        return rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
      },
      [this](const std::shared_ptr<Handle> handle) {return on_cancel(handle);},
      [this](const std::shared_ptr<Handle> handle) {on_goal(handle);});
    timer_ = node->create_wall_timer(std::chrono::milliseconds(50), [this] {check();});
  }

  // Abort the goal, and serve no more.
  void close()
  {
    check();
    timer_.reset();
    server_.reset();
  }

private:
  struct Goal
  {
    std::shared_ptr<Handle> handle;
    long number = 0;  // Of its reference, or of the stop on its path.
    ErrorBounds path, at_end;
    double time = 0.0;  // After the end of the trajectory, to come within the bounds. s.
  };

  // Follow a new goal instead of the one before, or abort it with the reason.
  void on_goal(const std::shared_ptr<Handle> & handle)
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    Goal goal = defaults_;
    goal.handle = handle;
    try {
      begin(goal);
    } catch (const JointNamesError & error) {
      return conclude(goal, &Handle::abort, Result::INVALID_JOINTS, error.what());
    } catch (const OldTrajectoryError & error) {
      return conclude(goal, &Handle::abort, Result::OLD_HEADER_TIMESTAMP, error.what());
    } catch (const TrajectoryError & error) {
      return conclude(goal, &Handle::abort, Result::INVALID_GOAL, error.what());
    }
    if (goal_) {
      conclude(*goal_, &Handle::abort, Result::INVALID_GOAL, "a new goal replaced it");
    }
    goal_ = goal;
  }

  // Have a goal followed; throws a TrajectoryError.
  void begin(Goal & goal)
  {
    const auto request = goal.handle->get_goal();
    if (!request->multi_dof_trajectory.points.empty()) {
      throw TrajectoryError("multi_dof_trajectory must be empty");
    }
    override_bounds(goal.path, request->path_tolerance, joints_, "path_tolerance");
    override_bounds(goal.at_end, request->goal_tolerance, joints_, "goal_tolerance");
    override_bound(
      goal.time, 1e-9 * static_cast<double>(nanoseconds(request->goal_time_tolerance)),
      "goal_time_tolerance");
    const auto reference = std::make_shared<Reference>();
    read_trajectory(request->trajectory, joints_, *reference);
    reference->path = goal.path;
    references_.follow(reference);
    goal.number = reference->number;
  }

  // Bring the arm to rest on its path; `check` reports when it is.
  rclcpp_action::CancelResponse on_cancel(const std::shared_ptr<Handle> & handle)
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (goal_ && goal_->handle == handle) {
      const auto stop = std::make_shared<Reference>();
      try {
        references_.follow(stop);
        goal_->number = stop->number;
      } catch (const TrajectoryError &) {
        // The controller has stopped, which `check` reports.
      }
    }
    return rclcpp_action::CancelResponse::ACCEPT;
  }

  // Publish feedback, or end the goal where that has to be.
  void check()
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (!goal_) {
      return;
    }
    const Status now = status_.get();
    const bool is_over = now.time >= now.end;
    if (now.mode != RD_TRACKING) {
      finish(&Handle::abort, Result::INVALID_GOAL, std::string("the controller is ") +
        rd_mode_text[now.mode] + ": " + text_of(now.reason));
    } else if (now.followed != goal_->number) {
      finish(&Handle::abort, Result::INVALID_GOAL, "another trajectory replaced it");
    } else if (now.violation.what) {
      finish(&Handle::abort, Result::PATH_TOLERANCE_VIOLATED, text_of(now.violation));
    } else if (goal_->handle->is_canceling()) {
      if (is_over) {
        finish(&Handle::canceled, Result::SUCCESSFUL, "cancelled, at rest");
      }
    } else {
      publish_feedback(now);
      const auto away = find_violation(
        goal_->at_end, difference(now.q_d, now.q), difference(now.v_d, now.v));
      if (is_over && !away.what) {
        finish(&Handle::succeed, Result::SUCCESSFUL, "the goal is reached");
      } else if (now.time > now.end + goal_->time) {
        finish(&Handle::abort, Result::GOAL_TOLERANCE_VIOLATED, text_of(away));
      }
    }
  }

  void publish_feedback(const Status & now) const
  {
    const auto fill = [](auto & point, const Joints & q, const Joints & v) {
        point.positions.assign(q.begin(), q.end());
        point.velocities.assign(v.begin(), v.end());
      };
    auto feedback = std::make_shared<Action::Feedback>();
    feedback->header.stamp = node_->now();
    feedback->joint_names = joints_;
    fill(feedback->desired, now.q_d, now.v_d);
    feedback->desired.accelerations.assign(now.a_d.begin(), now.a_d.end());
    fill(feedback->actual, now.q, now.v);
    fill(feedback->error, difference(now.q_d, now.q), difference(now.v_d, now.v));
    goal_->handle->publish_feedback(feedback);
  }

  // Ends of a goal: `succeed`, `abort` or `canceled`.
  using End = void (Handle::*)(std::shared_ptr<Result>);

  void finish(End end, int code, const std::string & text)
  {
    conclude(*goal_, end, code, text);
    goal_.reset();
  }

  void conclude(const Goal & goal, End end, int code, const std::string & text) const
  {
    const auto result = std::make_shared<Result>();
    result->error_code = code;
    result->error_string = text;
    RCLCPP_INFO(node_->get_logger(), "goal of the action: %s", text.c_str());
    ((*goal.handle).*end)(result);
  }

  References & references_;
  const SharedStatus & status_;
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> node_;
  std::vector<std::string> joints_;
  Goal defaults_;
  std::optional<Goal> goal_;
  std::mutex mutex_;
  rclcpp::TimerBase::SharedPtr timer_;
  std::shared_ptr<rclcpp_action::Server<Action>> server_;
};
}  // namespace RD_PACKAGE
