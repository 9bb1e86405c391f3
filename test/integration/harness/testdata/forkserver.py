"""Runs Python programs, each in a process of its own that has the modules of ROS already.

To import them takes a rospy node or a tool of ROS longer than most of what tests have it
do. This process imports them once, and forks.

Argument: the number of a descriptor, a socket that listens. A client sends its standard
descriptors and, as a line of JSON, what to run: argv, cwd and env. Each byte that it sends
after that is a signal for the process; when it goes away without waiting, the process is
killed. It gets a line of JSON when the process has ended: the number that os.waitpid tells.
"""
import ctypes
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys

MARK = b'GOROSBAG_TEST_RUN='
PR_SET_PDEATHSIG = 1

for name in ('rospy', 'rosmaster.main', 'rosbag', 'rosgraph', 'rosnode', 'rosmsg', 'rosparam', 'rosservice', 'rostopic', 'roslib.message',
             'std_msgs.msg', 'geometry_msgs.msg', 'nav_msgs.msg', 'sensor_msgs.msg', 'tf2_msgs.msg', 'diagnostic_msgs.msg',
             'roscpp.srv', 'rosgraph_msgs.msg', 'std_srvs.srv', 'hashlib', 'logging.config', 'optparse', 'yaml'):
    try:
        importlib.import_module(name)
    except ImportError:
        pass  # the program that wants it will say so


class Request:
    """What a client wants to run, and with which standard descriptors."""

    def __init__(self, conn):
        text, self.fds, _, _ = socket.recv_fds(conn, 1 << 16, 3)
        while not text.endswith(b'\n'):
            more = conn.recv(1 << 16)
            if not more:
                raise EOFError('a client has gone')
            text += more
        self.__dict__.update(json.loads(text))


def serve(listener):
    """Serves clients. Returns in the process of each program, with the request for it."""
    clients = selectors.DefaultSelector()  # conn -> None or (pid, pidfd), pidfd -> (conn, pid)
    clients.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in clients.select():
            if key.fileobj is listener:
                conn, _ = listener.accept()
                conn.settimeout(60)
                try:
                    request = Request(conn)
                except (OSError, EOFError, ValueError):
                    conn.close()
                    continue
                pid = os.fork()
                if pid == 0:
                    for open_one in list(clients.get_map().values()):
                        os.close(open_one.fileobj) if isinstance(open_one.fileobj, int) else open_one.fileobj.close()
                    clients.close()
                    conn.close()
                    return request
                for fd in request.fds:
                    os.close(fd)
                pidfd = os.pidfd_open(pid)
                clients.register(conn, selectors.EVENT_READ, (pid, pidfd))
                clients.register(pidfd, selectors.EVENT_READ, (pid, conn))
            elif isinstance(key.fileobj, int):
                pid, conn = key.data
                _, status = os.waitpid(pid, 0)
                clients.unregister(key.fileobj)
                os.close(key.fileobj)
                try:
                    conn.sendall(b'%d\n' % status)
                except OSError:
                    pass
                try:
                    clients.unregister(conn)
                except KeyError:
                    pass
                conn.close()
            elif key.fileobj in clients.get_map():  # its program has not ended just now
                _, pidfd = key.data
                try:
                    wanted = key.fileobj.recv(1)
                except OSError:
                    wanted = b''
                try:
                    signal.pidfd_send_signal(pidfd, wanted[0] if wanted else signal.SIGKILL)
                except ProcessLookupError:
                    pass  # it has ended; the client will hear
                if not wanted:
                    clients.unregister(key.fileobj)


def remark(env):
    """Puts the mark of the program where those look who search for it: into the memory that /proc/PID/environ shows."""
    with open('/proc/self/environ', 'rb') as f:
        shown = f.read()
    begin = 0 if shown.startswith(MARK) else shown.index(b'\0' + MARK) + 1
    room = shown.index(b'\0', begin) - begin
    mark = MARK + env[MARK[:-1].decode()].encode()
    if len(mark) > room:
        raise ValueError('no room for %r' % mark)
    with open('/proc/self/stat', 'rb') as f:
        env_start = int(f.read().rpartition(b')')[2].split()[47])
    with open('/proc/self/mem', 'r+b', 0) as f:
        f.seek(env_start + begin)
        f.write(mark.ljust(room, b'\0'))


def become(request, server):
    """Makes this process what the client has asked for."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server:
        os._exit(1)
    remark(request.env)
    for fd, own in enumerate(request.fds):
        os.dup2(own, fd)
        os.close(own)
    os.environ.clear()
    os.environ.update(request.env)
    os.chdir(request.cwd)
    sys.argv[:] = request.argv  # default arguments of functions of ROS are this very list
    sys.path[0] = os.path.dirname(os.path.realpath(request.argv[0]))
    sys.path[1:1] = [p for p in request.env.get('PYTHONPATH', '').split(os.pathsep) if p]
    # All that the modules of ROS have read of arguments and environment when they were imported.
    names = sys.modules['rospy.names']
    names._mappings = names.load_mappings(sys.argv)
    names._caller_namespace = names.get_ros_namespace()
    names._caller_id = names._caller_namespace + 'unnamed'


listener = socket.socket(fileno=int(sys.argv[1]))
server = os.getpid()
gc.collect()
gc.freeze()  # else the collectors of the programs write to, and so copy, all of it
request = serve(listener)
become(request, server)
runpy.run_path(sys.argv[0], run_name='__main__')
