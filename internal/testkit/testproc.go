//go:build unix

// This file keeps the programs that tests start from outliving them, also when the process of
// the tests is killed or hits its timeout.
//
// Start makes a child die with the process that started it. Main covers all other processes, such
// as grandchildren and containers: every process that is started while Main runs inherits a mark in
// its environment. A guardian, a second process of the same executable, waits at a pipe for the end
// of the tests. If the tests end without a message, the guardian kills all processes with the mark,
// and runs the commands of AfterDeath.

package testkit

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	markVar  = "GOROSBAG_TEST_RUN"   // a process with this variable belongs to that run
	guardVar = "GOROSBAG_TEST_GUARD" // makes a test executable the guardian of that run
	goodbye  = "bye"
)

// guardian is the writing end of the pipe that the guardian waits at.
var guardian struct {
	sync.Mutex
	pipe io.Writer
}

// Main runs the tests of a package, with a guardian. TestMain calls Main before anything else,
// because the guardian runs the same function.
func Main(run func() int) int {
	if mark := os.Getenv(guardVar); mark != "" {
		guard(mark, os.Stdin)
		return 0
	}
	mark := fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())
	bye, err := startGuardian(mark)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testkit:", err)
		return 1
	}
	os.Setenv(markVar, mark)
	defer bye()
	defer Sweep(mark)
	defer unignore(syscall.SIGINT, syscall.SIGHUP)()
	return run()
}

// unignore makes the children of the tests obey signals that this process ignores because nohup or
// a script's & started it: children inherit ignored signals, but no handlers.
func unignore(signals ...os.Signal) (stop func()) {
	ignored := make(chan os.Signal, 1)
	for _, s := range signals {
		if signal.Ignored(s) {
			signal.Notify(ignored, s)
		}
	}
	return func() { signal.Stop(ignored) }
}

func startGuardian(mark string) (bye func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	// The guardian has no mark, so it outlives an outer run, and its own session, so signals to the group
	// of the tests do not reach it.
	cmd.Env = append(os.Environ(), guardVar+"="+mark, markVar+"=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	guardian.pipe = pipe
	return func() {
		tell(goodbye)
		pipe.Close()
		_ = cmd.Wait()
	}, nil
}

// tell sends a line to the guardian, if there is one.
func tell(words ...string) {
	guardian.Lock()
	defer guardian.Unlock()
	if guardian.pipe != nil {
		_ = json.NewEncoder(guardian.pipe).Encode(words)
	}
}

// AfterDeath makes the guardian run a command if the tests end without cleaning up. The command
// given last runs first.
func AfterDeath(command ...string) { tell(append([]string{"run"}, command...)...) }

// guard waits for the end of the tests, and cleans up after them.
func guard(mark string, pipe io.Reader) {
	var commands [][]string
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		var words []string
		switch err := json.Unmarshal(lines.Bytes(), &words); {
		case err != nil || len(words) == 0:
		case words[0] == goodbye:
			return
		case words[0] == "group":
			defer killGroup(words[1])
		case words[0] == "run":
			commands = append(commands, words[1:])
		}
	}
	Sweep(mark)
	for i := len(commands) - 1; i >= 0; i-- {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		_ = exec.CommandContext(ctx, commands[i][0], commands[i][1:]...).Run()
		cancel()
	}
}

func killGroup(id string) {
	if pid, err := strconv.Atoi(id); err == nil && pid > 1 {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// Mark returns an entry for the environment of processes, such as all processes that one test
// starts, and the mark with which Sweep finds these processes.
func Mark(part string) (entry, mark string) {
	mark = os.Getenv(markVar) + "." + part
	return markVar + "=" + mark, mark
}

// Sweep kills all processes with a mark, and with marks that are parts of the mark. It returns when
// the processes are gone.
func Sweep(mark string) {
	deadline := time.Now().Add(10 * time.Second)
	for kill(mark) && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
}

// carries reports whether an environment, as in /proc, has the mark or a part of it.
func carries(environ, mark string) bool {
	for entry := range strings.SplitSeq(environ, "\x00") {
		if value, ok := strings.CutPrefix(entry, markVar+"="); ok &&
			(value == mark || strings.HasPrefix(value, mark+".")) {
			return true
		}
	}
	return false
}

// starts passes the children to the goroutine Starter, whose thread lives as long as the process:
// on Linux, children die with the thread that started them.
var starts = sync.OnceValue(func() chan<- func() {
	c := make(chan func())
	go Starter(c) // owner: the process; never ends
	return c
})

// Starter is the goroutine that starts children. Tests that look for leaks ignore the goroutine by
// its name.
func Starter(starts <-chan func()) {
	runtime.LockOSThread()
	for start := range starts {
		start()
	}
}

// Start starts a command that dies with this process.
func Start(cmd *exec.Cmd) error {
	bind(cmd)
	done := make(chan error)
	starts() <- func() { done <- cmd.Start() }
	err := <-done
	if err == nil {
		started(cmd)
	}
	return err
}

// Run is Start, then Wait.
func Run(cmd *exec.Cmd) error {
	if err := Start(cmd); err != nil {
		return err
	}
	return cmd.Wait()
}

// CombinedOutput is Run, and returns what the command printed.
func CombinedOutput(cmd *exec.Cmd) ([]byte, error) {
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	err := Run(cmd)
	return []byte(out.String()), err
}

// Output is Run, and returns what the command printed to its standard output.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var out, errs strings.Builder
	cmd.Stdout = &out
	if cmd.Stderr == nil {
		cmd.Stderr = &errs
	}
	err := Run(cmd)
	if err != nil {
		err = fmt.Errorf("%w: %.2000s", err, errs.String())
	}
	return []byte(out.String()), err
}
