package harness

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a running program.
type Process struct {
	T      *testing.T
	Name   string
	Cmd    *exec.Cmd
	Out    Output
	Exited chan struct{}
	worker int // the process that does the work, if Cmd is a client of the server of Python; else 0
	err    error
}

// Signal sends a signal, unless the program has ended.
func (p *Process) Signal(s syscall.Signal) {
	if s == syscall.SIGKILL && isForkClient(p.Cmd) {
		s = killSignal
	}
	select {
	case <-p.Exited:
	default:
		p.Cmd.Process.Signal(s)
	}
}

// logIfFailed logs the end of what the program printed, if its test has failed.
func (p *Process) logIfFailed() {
	if !p.T.Failed() {
		return
	}
	end := "it runs"
	select {
	case <-p.Exited:
		end = p.Cmd.ProcessState.String()
	default:
	}
	p.T.Logf("%s (%s) printed:\n%s", p.Name, end, tail(p.Out.String()))
}

// tailLines is the number of lines of output that are logged for a failed test.
const tailLines = 60

func tail(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if n := len(lines) - tailLines; n > 0 {
		return fmt.Sprintf("(%d lines)\n%s", n, strings.Join(lines[n:], "\n"))
	}
	return strings.Join(lines, "\n")
}

// Wait returns the exit code.
func (p *Process) Wait() int {
	p.T.Helper()
	select {
	case <-p.Exited:
	case <-time.After(2 * Timeout):
		p.T.Fatalf("%s does not end within %v", p.Name, 2*Timeout)
	}
	return p.Cmd.ProcessState.ExitCode()
}

// Stop ends the program with SIGINT and expects exit code 0.
func (p *Process) Stop() {
	p.T.Helper()
	p.Signal(syscall.SIGINT)
	if code := p.Wait(); code != 0 {
		p.T.Fatalf("%s: exit code %d", p.Name, code)
	}
}

// Printed waits until the program has printed text.
func (p *Process) Printed(text string) {
	p.T.Helper()
	Eventually(p.T, p.Name+" prints "+text, func() bool {
		if strings.Contains(p.Out.String(), text) {
			return true
		}
		select {
		case <-p.Exited: // with all that it has printed
			if strings.Contains(p.Out.String(), text) {
				return true
			}
			p.T.Fatalf("%s has ended without printing %q: %v", p.Name, text, p.Cmd.ProcessState)
		default:
		}
		return false
	})
}

// Output collects what a program prints.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String returns everything that the program has printed.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Closed waits until the bag is closed.
func (g *Graph) Closed(bag string) {
	g.T.Helper()
	g.Eventually(bag+" is closed", func() bool {
		_, err := os.Stat(filepath.Join(g.Dir, bag))
		return err == nil
	})
}

// Record starts gorecord and waits until it has its file.
func (g *Graph) Record(args ...string) *Process {
	g.T.Helper()
	p := g.Start("gorecord", args...)
	p.Printed("Recording to")
	return p
}

// Ended waits for the end of the program, and checks its exit code and output.
func (p *Process) Ended(code int, texts ...string) {
	p.T.Helper()
	if got := p.Wait(); got != code {
		p.T.Errorf("exit code %d, want %d:\n%s", got, code, p.Out.String())
	}
	Contains(p.T, p.Out.String(), texts...)
}
