package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/player"
)

// With --quiet the error is the only line there is: it has to say what was lost.
func TestQuietReportSaysWhatWasLost(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stderr := os.Stderr
	os.Stderr = w
	code := report(&config.Play{Quiet: true}, &player.Summary{Dropped: 7, Undelivered: errors.New("/x did not take all")}, nil)
	os.Stderr = stderr
	w.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if code != program.ExitLoss {
		t.Errorf("exit code %d, want %d", code, program.ExitLoss)
	}
	for _, want := range []string{"7 by full queues", "--queue", "/x did not take all"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
}
