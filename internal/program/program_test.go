//go:build unix

package program_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

// roleVariable makes the test program one that has to be ended.
const roleVariable = "PROGRAM_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		hangs()
	}
	os.Exit(m.Run())
}

// hangs heeds no signal, and tells which it has seen.
func hangs() {
	ctx, signals := program.Catch(context.Background())
	signals.BeforeExit(func() {
		fmt.Println("cleanup")
		select {}
	})
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println("first")
	<-signals.Abort
	fmt.Println("second")
	select {}
}

// The third signal ends a program in which everything hangs.
func TestThirdSignal(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), roleVariable+"=hangs")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := testkit.Start(c); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, want := range []string{"ready", "first", "second", "cleanup"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("got %q, want %q", lines.Text(), want)
		}
		if want == "first" || want == "second" {
			// What comes now is another request: this one was counted before the line was written.
			<-time.After(program.RequestWindow + 100*time.Millisecond)
		}
		for range 2 { // as timeout(1) does, for one request
			if err := c.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != program.ExitInternal {
		t.Errorf("it ended with %v", err)
	}
}

// TestMasterThatEndsFirst: who stops a robot may stop all programs at once. A master that is away while a program ends
// is not worth a line.
func TestMasterThatEndsFirst(t *testing.T) {
	t.Parallel()
	m, err := master.New(t.Context(), master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.WarnLevel)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g, err := program.Join(ctx, tcpros.NodeOptions{BaseName: "record", MasterURI: m.URI(), Args: tcpros.Args{IP: "127.0.0.1"}, Log: zap.New(core)}, "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Node.Advertise(tcpros.AdvertiseOptions{Topic: "/t", Type: "std_msgs/Empty", MD5Sum: "d41d8cd98f00b204e9800998ecf8427e"})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the registration", g.Node.MasterUp)
	cancel()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	p.Close()
	waitFor(t, "a call that fails", func() bool { return !g.Node.MasterUp() })
	g.Close()
	if logs.Len() > 0 {
		t.Errorf("logged %v", logs.All())
	}
}

// waitFor waits until ok returns true.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for start := time.Now(); !ok(); time.Sleep(time.Millisecond) {
		if time.Since(start) > 30*time.Second {
			t.Fatalf("waiting for %s", what)
		}
	}
}
