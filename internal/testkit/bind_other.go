//go:build unix && !linux

package testkit

import (
	"os/exec"
	"strconv"
	"syscall"
)

// bind gives the child a process group, which the guardian kills: there is no signal for the
// death of a parent.
func bind(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if !cmd.SysProcAttr.Setsid {
		cmd.SysProcAttr.Setpgid = true
	}
}

func started(cmd *exec.Cmd) { tell("group", strconv.Itoa(cmd.Process.Pid)) }

// kill kills no process: not every system lets a process read the environments of others.
func kill(string) bool { return false }

// Marked returns no process, for the same reason as kill.
func Marked(string) []string { return nil }
