package harness

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Stalls measures how long a busy machine delays the test and some programs, until the returned
// function is called. The function returns the sum of two delays: the longest delay of a timer of
// this process, and the time that the threads of the programs and of their descendants waited for a
// CPU, which is known on Linux only.
func (g *Graph) Stalls(programs ...*Process) (sum func() time.Duration) {
	const (
		every     = 5 * time.Millisecond
		lookEvery = 10 // at the programs; what a thread has waited stays until it ends
	)
	stop, found := make(chan struct{}), make(chan time.Duration)
	// owner: the caller; ends when the caller asks for the sum, or with the test.
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		var most time.Duration
		waited := make([]time.Duration, len(programs))
		look := func() (sum time.Duration) {
			for i, p := range programs {
				waited[i] = max(waited[i], p.Waited()) // the time of a thread is lost when it ends
				sum += waited[i]
			}
			return sum
		}
		begin := look()
		for n, last := 0, time.Now(); ; n++ {
			select {
			case <-tick.C:
			case <-stop:
				found <- most + look() - begin
				return
			case <-g.T.Context().Done():
				return
			}
			now := time.Now()
			most, last = max(most, now.Sub(last)-every), now
			if n%lookEvery == 0 {
				look()
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-found
	}
}

// Waited returns how long the threads of a program and its descendants have waited for a CPU.
func (p *Process) Waited() (sum time.Duration) {
	for _, thread := range threadsBelow(p.pid()) {
		text, _ := os.ReadFile(filepath.Join(thread, "schedstat"))
		if fields := strings.Fields(string(text)); len(fields) == 3 { // ran, waited, how often
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			sum += time.Duration(n)
		}
	}
	return sum
}

// pid returns the process that does the work.
func (p *Process) pid() int { return cmp.Or(p.worker, p.Cmd.Process.Pid) }

// threadsBelow returns the directories of the threads of a process and of its descendants.
func threadsBelow(pid int) (all []string) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, thread := range threads {
		all = append(all, thread)
		children, _ := os.ReadFile(filepath.Join(thread, "children"))
		for _, child := range strings.Fields(string(children)) {
			if n, err := strconv.Atoi(child); err == nil {
				all = append(all, threadsBelow(n)...)
			}
		}
	}
	return all
}

// WaitIdle waits until a program is idle: in several consecutive polls none of its threads is
// running, runnable or waiting for the disk. Then the program has processed what was sent to it.
// Tests need WaitIdle for programs of ROS, which do not report that. It works on Linux only;
// elsewhere it returns.
func (p *Process) WaitIdle() {
	p.T.Helper()
	const looks = 5
	idle := 0
	Eventually(p.T, p.Name+" has nothing to do", func() bool {
		idle++
		for _, thread := range threadsBelow(p.pid()) {
			stat, _ := os.ReadFile(filepath.Join(thread, "stat"))
			if at := strings.LastIndex(string(stat), ") "); at >= 0 && strings.ContainsAny(string(stat[at+2:at+3]), "RD") {
				idle = 0
			}
		}
		return idle >= looks
	})
}
