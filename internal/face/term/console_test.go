package term_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/face/term/termtest"
)

// A terminal that takes nothing holds up nobody, not even the end. When it goes on it
// is told how much it has missed.
func TestConsoleBlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		c := term.NewConsole(w, true)
		begun := time.Now()
		const lines = 20000
		for i := range lines {
			fmt.Fprintf(c, "line %019d\n", i) // 25 bytes
			if i == 0 {
				synctest.Wait() // from here on the terminal holds up what comes
			}
		}
		c.Draw([]string{"frame"})
		if c.Hide(100*time.Millisecond) || time.Since(begun) != 100*time.Millisecond {
			t.Error("a frame was hidden on a terminal that takes nothing")
		}
		c.Close()
		if d := time.Since(begun); d > 3*time.Second {
			t.Errorf("the end has taken %v", d)
		}
		got, read := bytes.Buffer{}, make(chan struct{})
		go func() {
			defer close(read)
			got.ReadFrom(r)
		}()
		termtest.After(time.Second)
		w.Close()
		<-read
		kept, left := strings.Count(got.String(), "line 0"), 0
		if i := strings.LastIndex(got.String(), "("); i > 0 {
			fmt.Sscanf(got.String()[i:], "(%d lines left out", &left)
		}
		if kept+left != lines || left == 0 || kept < 10000 {
			t.Errorf("%d lines, %d left out, of %d", kept, left, lines)
		}
	})
}

// Where there is no terminal there are no frames; what could drive the one on which a log
// is read is spelled out there, too.
func TestConsolePlain(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	c := term.NewConsole(&got, false)
	want := "one\n\x1b[31mtwo\x1b[m \\u009b\\u202e\nthree\n"
	c.Write([]byte("one\n\x1b[31mtwo\x1b[m \u009b\u202e\n"))
	c.Write([]byte("three\n"))
	c.Close()
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
