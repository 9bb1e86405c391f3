package doors_test

import (
	"context"
	"io"
	"os"
	"testing"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/face/term/keys"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/doors"
)

// TestDisplay: without a screen the keys still work. Jobs outlast the end of the program's context, as the screen does,
// and Hide ends them and waits for them. It may be called again, and without Show.
func TestDisplay(t *testing.T) {
	t.Parallel()
	new(doors.Display).Hide()
	console := term.NewConsole(io.Discard, false)
	defer console.Close()
	ctx, signals := program.Catch(t.Context())
	defer signals.Close()
	in, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer typed.Close()
	pressed := make(chan keys.Key, 1)
	d := &doors.Display{Console: console, Out: os.Stderr, Input: in, Press: func(key keys.Key) { pressed <- key }, Signals: signals, Log: zap.NewNop()}
	d.Show(ctx)
	if _, err := io.WriteString(typed, "p"); err != nil {
		t.Fatal(err)
	}
	if key := <-pressed; key != 'p' {
		t.Errorf("key %v", key)
	}
	signals.End()
	<-ctx.Done()
	early := make(chan error)
	ended := false
	d.Go(func(ctx context.Context) {
		early <- ctx.Err()
		<-ctx.Done()
		ended = true
	})
	if err := <-early; err != nil {
		t.Errorf("the job ends with the program's context: %v", err)
	}
	d.Hide()
	if !ended {
		t.Error("Hide does not wait for the job")
	}
	d.Hide()
}
