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

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/testproc"
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
	if err := testproc.Start(c); err != nil {
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
