package queue_test

import (
	"context"
	"errors"
	"testing"

	"github.com/gorosbag/gorosbag/recorder/internal/queue"
)

var errExecuted = errors.New("as executed")

// bag is a file that is closed.
type bag string

func (b bag) Target() string { return string(b) }

func (b bag) Closed(context.Context) (string, error) { return string(b), nil }

// openBag is a file that is not closed while somebody waits; giveUp ends the wait.
type openBag struct {
	bag
	giveUp func()
}

func (b openBag) Closed(ctx context.Context) (string, error) {
	b.giveUp()
	<-ctx.Done()
	return "", ctx.Err()
}

// executed returns a command that the sink has executed.
func executed(file queue.File, err error) *queue.Command {
	c := &queue.Command{Done: make(chan struct{}), File: file, Err: err}
	close(c.Done)
	return c
}

// TestWaiting: a command has an answer once it is executed, and its file has a name once it is closed.
// Nobody waits longer than their context allows.
func TestWaiting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		c       *queue.Command
		givenUp bool
		want    error
		file    string
	}{
		"not necessary":      {c: nil},
		"queued":             {c: &queue.Command{Done: make(chan struct{})}, givenUp: true, want: context.Canceled},
		"failed":             {c: executed(bag("x.bag"), errExecuted), want: errExecuted},
		"without a file":     {c: executed(nil, nil)},
		"with a closed file": {c: executed(bag("x.bag"), nil), file: "x.bag"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.givenUp {
				cancel()
			}
			if err := test.c.Wait(ctx); !errors.Is(err, test.want) {
				t.Errorf("Wait returns %v, want %v", err, test.want)
			}
			if file, err := test.c.ClosedFile(ctx); !errors.Is(err, test.want) || file != test.file {
				t.Errorf("ClosedFile returns %q, %v; want %q, %v", file, err, test.file, test.want)
			}
		})
	}
}

// TestClosedFileIsGivenUp: the command is executed, its file is still written, and the caller gives up.
func TestClosedFileIsGivenUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := executed(openBag{"x.bag", cancel}, nil).ClosedFile(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}
