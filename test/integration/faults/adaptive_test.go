package faults_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/load"
)

// TestAdaptive: what bz2 cannot take is compressed less, as the log and the summary say;
// nothing is lost, and stock reads a bag of several compressions.
func TestAdaptive(t *testing.T) {
	t.Parallel()
	harness.Long(t, "takes seconds of processor time")
	g := harness.NewGraph(t, "gomaster")
	rec := g.Record("/load", "-O", "out", "--bz2", "--adaptive", "-b", "16", "--overflow", "block")
	ctx, cancel := context.WithTimeout(t.Context(), 2*harness.Timeout)
	defer cancel()
	const messages = 30
	err := peers.Offer(ctx, g, "/load").Serve(ctx, 1<<20, func(l *load.Link) error {
		_, err := l.Flood(messages, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rec.Stop()
	for _, want := range []string{"compression does not keep up", "\nchunks: ", "lost: none"} {
		if !strings.Contains(rec.Out.String(), want) {
			t.Errorf("no %q in:\n%s", want, rec.Out.String())
		}
	}
	bag := filepath.Join(g.Dir, "out.bag")
	if n := len(bags.Read(t, bag)["/load"].Messages); n != messages {
		t.Errorf("%d of %d messages", n, messages)
	}
	g.Run("gobag", "check", bag)
	if !harness.ROSMissing() {
		stockReads(g, bag, messages)
	}
}
