package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/gorosbag/gorosbag/internal/testkit"
)

// Programs in ROS's Python are forked from a server process that has imported their modules: see
// testdata/forkserver.py. In place of such a program, a test starts a client, which is the test
// executable again. The client makes the server run the program, passes signals on, and ends in the
// same way as the program: for the test, the client is the program.

// serverVar is the variable that makes a test executable such a client. Its value is the path of
// the socket of the server.
const serverVar = "GOROSBAG_TEST_PYTHON"

// killSignal makes a client kill its program, and then end in the same way. SIGKILL would end the
// client at once, and the program a while later.
const killSignal = syscall.SIGALRM

// isForkClient reports whether a command is a client.
func isForkClient(cmd *exec.Cmd) bool {
	return slices.ContainsFunc(cmd.Env, func(entry string) bool { return strings.HasPrefix(entry, serverVar+"=") })
}

// serverMark leaves room for the marks of programs. See the remark in testdata/forkserver.py.
var serverMark = "python" + strings.Repeat("-", 64)

// pythonPrograms are the programs of ROS that do all their work in Python. A roscore starts other
// programs.
var pythonPrograms = []string{"rosbag", "rosmsg", "rosnode", "rosparam", "rosservice", "rostopic"}

// useForkServer turns a command into that of a client if the command runs a program in ROS's
// Python.
func useForkServer(cmd *exec.Cmd) error {
	script := 0
	switch program := filepath.Base(cmd.Path); {
	case program == "python3" && len(cmd.Args) > 1 && strings.HasSuffix(cmd.Args[1], ".py"):
		script = 1
	case !slices.Contains(pythonPrograms, program):
		return nil
	}
	if ROSMissing() {
		return nil
	}
	socket, err := pythonServer()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd.Path, cmd.Args = self, cmd.Args[script:]
	cmd.Env = append(cmd.Env, serverVar+"="+socket)
	return nil
}

// pythonServer starts the server and returns the path of its socket.
var pythonServer = sync.OnceValues(func() (path string, err error) {
	path = filepath.Join(RunDir(), "python")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return "", err
	}
	listener.SetUnlinkOnClose(false)
	socket, err := listener.File()
	if err = errors.Join(err, listener.Close()); err != nil {
		return "", err
	}
	defer socket.Close()
	script, err := filepath.Abs(filepath.Join(root, "test/integration/harness/testdata/forkserver.py"))
	if err != nil {
		return "", err
	}
	entry, _ := testkit.Mark(serverMark)
	cmd := exec.Command("/usr/bin/python3", script, "3")
	cmd.Env = append(os.Environ(), entry, "PATH=/usr/bin:"+os.Getenv("PATH"), "PYTHONUNBUFFERED=1")
	cmd.ExtraFiles = []*os.File{socket}
	cmd.Stderr = os.Stderr
	return path, testkit.Start(cmd)
})

// A forkRequest is what a client asks of the server.
type forkRequest struct {
	Argv []string          `json:"argv"`
	Cwd  string            `json:"cwd"`
	Env  map[string]string `json:"env"`
}

// runPython is the client. It returns the exit code of the program.
func runPython(socket string) int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, killSignal)
	status, err := askServer(socket, signals)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "the server of Python:", err)
		return 1
	case status.Signaled():
		signal.Reset(status.Signal())
		_ = syscall.Kill(os.Getpid(), status.Signal())
		select {} // until the signal arrives
	}
	return status.ExitStatus()
}

// askServer makes the server run the program that this process stands for.
func askServer(socket string, signals <-chan os.Signal) (status syscall.WaitStatus, err error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	request := forkRequest{Argv: os.Args, Env: map[string]string{}}
	if request.Cwd, err = os.Getwd(); err != nil {
		return 0, err
	}
	for _, entry := range os.Environ() {
		if key, value, _ := strings.Cut(entry, "="); key != serverVar {
			request.Env[key] = value
		}
	}
	line, err := json.Marshal(request)
	if err != nil {
		return 0, err
	}
	line = append(line, '\n')
	n, _, err := conn.WriteMsgUnix(line[:1], syscall.UnixRights(0, 1, 2), nil)
	if err != nil {
		return 0, err
	}
	if _, err := conn.Write(line[n:]); err != nil {
		return 0, err
	}
	go func() { // ends with the process
		for s := range signals {
			if number, ok := s.(syscall.Signal); ok {
				if number == killSignal {
					number = syscall.SIGKILL
				}
				_, _ = conn.Write([]byte{byte(number)})
			}
		}
	}()
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseUint(strings.TrimSpace(answer), 10, 32)
	return syscall.WaitStatus(number), err
}
