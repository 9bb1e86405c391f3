package main

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestDryRunOutput: the text is the result of a dry run, so that the program fails if it cannot be written. A reader
// that has gone has seen enough.
func TestDryRunOutput(t *testing.T) {
	t.Parallel()
	s, err := parse([]string{"../../bagfmt/testdata/cpp_lz4.bag"})
	if err != nil {
		t.Fatal(err)
	}
	log := zap.NewNop()
	opened, err := open(t.Context(), io.Discard, log, s.selection.bags, bags.Options{})
	if err != nil {
		t.Fatal(err)
	}
	node, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: "play", MasterURI: "http://127.0.0.1:1", Args: tcpros.Args{IP: "127.0.0.1"}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close(context.Background())
	for err, want := range map[error]struct {
		code int
		text string
	}{
		nil:            {code: program.ExitOK},
		syscall.EPIPE:  {code: program.ExitOK},
		syscall.ENOSPC: {program.ExitUsage, "goplay: write |1: " + syscall.ENOSPC.Error() + "\n"},
	} {
		var errs strings.Builder
		r := reporter{out: io.Discard, errs: &program.Errors{W: &errs, Name: name}}
		if code := dryRun(t.Context(), s, opened, node, log, &r, outputThat{err}); code != want.code || errs.String() != want.text {
			t.Errorf("%v: exit code %d, %q", err, code, errs.String())
		}
	}
}

// TestDryRunEnds although nobody takes its text, as while less shows the first page.
func TestDryRunEnds(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close() // the write ends
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := printPreview(ctx, w, strings.Repeat("x", 1<<20)); err != nil {
		t.Error(err)
	}
}

// outputThat fails with err.
type outputThat struct{ err error }

func (o outputThat) Write(b []byte) (int, error) {
	if o.err != nil {
		return 0, &os.PathError{Op: "write", Path: "|1", Err: o.err}
	}
	return len(b), nil
}

// TestDryRunInterrupted: what is listed after an interrupt is not all, so the exit code says so.
func TestDryRunInterrupted(t *testing.T) {
	t.Parallel()
	s, err := parse([]string{"../../bagfmt/testdata/cpp_lz4.bag"})
	if err != nil {
		t.Fatal(err)
	}
	log := zap.NewNop()
	opened, err := open(t.Context(), io.Discard, log, s.selection.bags, bags.Options{})
	if err != nil {
		t.Fatal(err)
	}
	node, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: "play", MasterURI: "http://127.0.0.1:1", Args: tcpros.Args{IP: "127.0.0.1"}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close(context.Background())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs strings.Builder
	r := reporter{out: io.Discard, errs: &program.Errors{W: &errs, Name: name}}
	if code := dryRun(ctx, s, opened, node, log, &r, io.Discard); code != program.ExitUsage || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
}
