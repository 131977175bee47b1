# SPDX-License-Identifier: Apache-2.0
"""The controller of ros2_control that takes efforts from a topic: plain data, without ROS.

A forward_command_controller applies the numbers of a message to its joints in its own order and
keeps the last ones forever. Whether it is active, and in which order it has the joints, cannot be
seen from its topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_EFFORT = '/effort'
ACTIVE = 'active'


@dataclass(frozen=True)
class DriverController:
    """A controller of ros2_control that takes commands.

    Parameters
    ----------
    name : str
        Full name of its node.
    manager : str
        Full name of its controller manager, empty where that is unknown.
    state : str
        Its state as the controller manager reports it, empty where that is unknown.
    joints : tuple of str
        Its parameter ``joints``: the order of the efforts in its messages.
    claimed : tuple of str
        Command interfaces that it has while it is active.
    """

    name: str
    manager: str = ''
    state: str = ''
    joints: tuple[str, ...] = ()
    claimed: tuple[str, ...] = ()

    @property
    def base_name(self) -> str:
        """Name without namespace, by which its controller manager knows it."""
        return self.name.rpartition('/')[2]

    @property
    def activation(self) -> str:
        """Command that activates it."""
        where = f' -c {self.manager}' if self.manager not in ('', '/controller_manager') else ''
        return f'ros2 control switch_controllers --activate {self.base_name}{where}'

    def why_inactive(self) -> str | None:
        """Sentence on a controller that is not active, None where it is or may be."""
        if self.state in ('', ACTIVE):
            return None
        return f'{self.name} is {self.state} and applies no efforts; {self.activation}'

    def why_other_joints(self, joints: Sequence[str], *, ordered: bool) -> str | None:
        """Sentence on efforts that would reach other joints, None without a difference.

        Parameters
        ----------
        joints : sequence of str
            Joints of our commands, in their order.
        ordered : bool
            Whether messages have no names, so that the order decides.
        """
        wanted = tuple(joints)
        if self.joints and set(self.joints) != set(wanted):
            return (f'{self.name} takes efforts of {_listed(self.joints)}, and this controller '
                    f'sends those of {_listed(wanted)}; set joints of both to the same')
        if ordered and self.joints and self.joints != wanted:
            return (f'{self.name} takes efforts in the order {_listed(self.joints)}, and this '
                    f'controller sends them in the order {_listed(wanted)}; set command_joints '
                    'to the order of the effort controller')
        efforts = tuple(name.removesuffix(_EFFORT).rpartition('/')[2] for name in self.claimed
                        if name.endswith(_EFFORT))
        if self.state == ACTIVE and self.claimed and set(efforts) != set(wanted):
            return (f'{self.name} has claimed the efforts of {_listed(efforts) or "no joint"}, '
                    f'and this controller sends those of {_listed(wanted)}; correct its joints '
                    'and interface_name')
        return None


def _listed(names: Sequence[str]) -> str:
    return ', '.join(names)
