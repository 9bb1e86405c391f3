package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// bind makes the kernel kill the child when its parent's thread dies.
func bind(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

func started(*exec.Cmd) {}

// kill kills the processes that carry a mark, and reports whether there were any.
func kill(mark string) (found bool) {
	for _, pid := range Marked(mark) {
		number, err := strconv.Atoi(pid)
		if err != nil {
			continue
		}
		p, err := os.FindProcess(number)
		if err != nil {
			continue
		}
		// Another process may have the number by now. p always refers to the same process, so
		// check the mark again.
		if marked(pid, mark) {
			found = true
			_ = p.Kill()
		}
		_ = p.Release()
	}
	return found
}

// Marked returns the process numbers of the processes that carry a mark.
func Marked(mark string) (pids []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range all {
		if pid := filepath.Base(path); marked(pid, mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func marked(pid, mark string) bool {
	environ, err := os.ReadFile("/proc/" + pid + "/environ")
	return err == nil && pid != strconv.Itoa(os.Getpid()) && carries(string(environ), mark)
}
