package harness

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Stalls watches whether the machine lets the tests and some programs run. What it returns
// ends that, and returns how long they stood still: the longest time that this process was
// not woken on time, or the time that the threads of a program have waited for a processor,
// if that is longer. Only Linux tells the latter.
func (g *Graph) Stalls(programs ...*Process) (longest func() time.Duration) {
	const every = 5 * time.Millisecond
	stop, found := make(chan struct{}), make(chan time.Duration)
	// owner: the caller; ends when it asks, or with the test.
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		var most time.Duration
		waited := make([]time.Duration, len(programs))
		for last := time.Now(); ; {
			select {
			case <-tick.C:
			case <-stop:
				found <- most
				return
			case <-g.T.Context().Done():
				return
			}
			now := time.Now()
			most, last = max(most, now.Sub(last)-every), now
			for i, p := range programs {
				waited[i] = max(waited[i], p.waited()) // threads take theirs along when they end
				most = max(most, waited[i])
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-found
	}
}

// waited is how long the threads of a program have waited for a processor.
func (p *Process) waited() (sum time.Duration) {
	threads, _ := filepath.Glob("/proc/" + strconv.Itoa(p.Cmd.Process.Pid) + "/task/*/schedstat")
	for _, thread := range threads {
		text, _ := os.ReadFile(thread)
		if fields := strings.Fields(string(text)); len(fields) == 3 { // ran, waited, how often
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			sum += time.Duration(n)
		}
	}
	return sum
}
