package publink

import (
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A subscriber has the timeout for each part that it reads, from the check that saw the last part
// being read.
func TestDrainWaitsForProgress(t *testing.T) {
	const timeout = 6 * drainCheck
	const pause = timeout - drainCheck*3/4 // pause of the reader: it reads the second frame after 10.5 checks
	for name, tt := range map[string]struct {
		reads int
		want  string
		took  time.Duration
	}{
		"reads all":     {5, "", 5 * pause},
		"stops reading": {2, "takes nothing", 11*drainCheck + timeout},
		"reads nothing": {0, "takes nothing", timeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				defer there.Close()
				l := link(here, 0, &room{})
				f := make([]byte, batchBytes) // one write for each frame
				for range 5 {
					l.push(f, false)
				}
				served := make(chan error, 1)
				go func() { served <- l.Serve() }()
				go func() {
					for range tt.reads {
						time.Sleep(pause)
						if _, err := io.ReadFull(there, f); err != nil {
							t.Error(err)
						}
					}
					if tt.want == "" {
						synctest.Wait() // all is written
						_ = there.Close()
					}
				}()
				start := time.Now()
				if got := l.drain(t.Context(), timeout); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				<-served
			})
		})
	}
}

// The error names eight subscribers and counts the others.
func TestDrainErrorText(t *testing.T) {
	t.Parallel()
	one := Undrained{"/t", "/s", 3, "left early"}
	const text = ` /t by "/s" (left early, 3 queued)`
	for n, more := range map[int]string{1: "", 8: "", 9: " and 1 more", 20: " and 12 more"} {
		err := &DrainError{Subscribers: slices.Repeat([]Undrained{one}, n)}
		if want := "not taken to the end:" + strings.Repeat(text, min(n, 8)) + more; err.Error() != want {
			t.Errorf("got %s, want %s", err, want)
		}
	}
}
