# SPDX-License-Identifier: Apache-2.0
"""What the environment makes of ROS 2: middleware, domain, how far discovery reaches."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from robot_dynamics.bringup.doctor.findings import Remark, error, note, ok, warning

#: Domains above this use ports that Linux gives to others, and above the second none at all.
_LAST_SAFE, LAST_DOMAIN = 101, 232
_RANGES = ('SUBNET', 'LOCALHOST', 'OFF', 'SYSTEM_DEFAULT')
_FILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')


def judge_environment(environment: Mapping[str, str], exists: Callable[[str], bool],
                      middleware: str = '') -> list[Remark]:
    """Say what in the environment keeps nodes from finding each other, or lets in too many.

    Parameters
    ----------
    environment : mapping of str to str
        Environment variables.
    exists : callable
        Whether a path is a file.
    middleware : str
        RMW implementation in use, empty where ROS 2 did not start.
    """
    remarks = [*_domain(environment), *_reach(environment), *_profiles(environment, exists)]
    if any(remark.remedy for remark in remarks):
        return remarks
    reach = 'this machine only' if _is_local(environment) else 'the whole network'
    name = middleware or environment.get('RMW_IMPLEMENTATION', 'the default middleware')
    return [*remarks, ok('ROS 2', f'{name}, discovery on {reach}')]


def _domain(environment: Mapping[str, str]) -> list[Remark]:
    text = environment.get('ROS_DOMAIN_ID', '')
    if not text:
        return []
    if not text.strip().isdigit() or int(text) > LAST_DOMAIN:
        return [error('ROS_DOMAIN_ID', f'is {text!r}', f'set a number from 0 to {_LAST_SAFE}')]
    if int(text) > _LAST_SAFE:
        return [warning('ROS_DOMAIN_ID', f'is {text}: its ports are among those that Linux gives '
                        'to any process', f'set a number from 0 to {_LAST_SAFE}')]
    return []


def _reach(environment: Mapping[str, str]) -> list[Remark]:
    """Judge how far discovery reaches."""
    reach, only = environment.get('ROS_AUTOMATIC_DISCOVERY_RANGE'), \
        environment.get('ROS_LOCALHOST_ONLY')
    remarks = []
    if reach is not None and reach not in _RANGES:
        remarks.append(error('ROS_AUTOMATIC_DISCOVERY_RANGE', f'is {reach!r}',
                             'set it to one of ' + ', '.join(_RANGES)))
    elif reach == 'OFF' and not environment.get('ROS_STATIC_PEERS'):
        remarks.append(error('ROS_AUTOMATIC_DISCOVERY_RANGE', 'is OFF: nodes find nobody',
                             'set it to LOCALHOST or SUBNET'))
    elif reach is not None and environment.get('ROS_DISTRO') == 'humble':
        remarks.append(warning('ROS_AUTOMATIC_DISCOVERY_RANGE', 'means nothing to Humble',
                               'set ROS_LOCALHOST_ONLY to 1 to stay on this machine'))
    if only == '1' and reach in ('SUBNET', 'SYSTEM_DEFAULT'):
        remarks.append(warning('ROS_LOCALHOST_ONLY', 'is 1 and wins over '
                               f'ROS_AUTOMATIC_DISCOVERY_RANGE={reach}', 'unset it'))
    if environment.get('ROS_DISCOVERY_SERVER'):
        remarks.append(note('ROS_DISCOVERY_SERVER', 'is set: who looks without being a super '
                            'client sees nobody'))
    if not remarks and not _is_local(environment):
        remarks.append(note('ROS_AUTOMATIC_DISCOVERY_RANGE', 'reaches the whole network: whoever '
                            'is in it can command the arm'))
    return remarks


def _profiles(environment: Mapping[str, str], exists: Callable[[str], bool]) -> list[Remark]:
    """Judge the files that configure DDS."""
    remarks = [warning(name, f'names {environment[name]!r}, which is no file',
                       'correct or unset it: DDS runs with its defaults, wherever they reach')
               for name in _FILES if environment.get(name) and not exists(environment[name])]
    uri = environment.get('CYCLONEDDS_URI', '')
    if uri and not uri.lstrip().startswith('<') and not exists(uri.removeprefix('file://')):
        remarks.append(warning('CYCLONEDDS_URI', f'names {uri!r}, which is no file',
                               'correct or unset it'))
    if environment.get('RMW_FASTRTPS_USE_QOS_FROM_XML') == '1':
        remarks.append(note('RMW_FASTRTPS_USE_QOS_FROM_XML', 'is 1: the profile may change the '
                            'quality of service that nodes ask for'))
    return remarks


def _is_local(environment: Mapping[str, str]) -> bool:
    return environment.get('ROS_AUTOMATIC_DISCOVERY_RANGE') in ('LOCALHOST', 'OFF') \
        or environment.get('ROS_LOCALHOST_ONLY') == '1'
