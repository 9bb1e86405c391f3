package source_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/rosbag"
)

func corrupt(offset int64) error { return &rosbag.CorruptError{Offset: offset, Reason: "damaged"} }
func rebuilt(offset int64) error {
	return &rosbag.CorruptError{Offset: offset, Reason: "index", Recovered: true}
}

// TestDamageLog: each place is recorded and logged once, by what it is, and again only when more messages turn
// out to be lost with it.
func TestDamageLog(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	d := source.NewDamageLog(zap.New(core))
	for _, e := range []*control.DamageError{
		{Bag: "x.bag", Messages: 3, Err: corrupt(100)},
		{Bag: "x.bag", Messages: 3, Err: corrupt(100)}, // another pass
		{Bag: "y.bag", Messages: 3, Err: corrupt(100)},
		{Bag: "x.bag", Messages: 5, Err: corrupt(100)},
		{Bag: "x.bag", Err: &rosbag.ReadError{Offset: 7, Err: errors.New("device gone")}},
		{Bag: "x.bag", Err: &rosbag.LimitError{Offset: 9}},
		{Bag: "z.mcap", Err: &rosbag.EncodingError{Topic: "/json", Encoding: "json"}},
		{Bag: "x.bag", Err: rebuilt(200)},
		{Bag: "x.bag", Err: rebuilt(200)},
		{Bag: "x.bag", Err: fmt.Errorf("reading: %w", context.Canceled)},
	} {
		d.Report(e)
	}
	var got []string
	for _, e := range logs.All() {
		got = append(got, fmt.Sprint(e.Level, " ", e.Message, " ", e.ContextMap()["bag"], " ", e.ContextMap()["offset"], " ", e.ContextMap()["lost messages"]))
	}
	want := []string{
		"error bag is damaged, playing on after it x.bag 100 at most 3",
		"error bag is damaged, playing on after it y.bag 100 at most 3",
		"error bag is damaged, playing on after it x.bag 100 at most 5",
		"error a part of the bag could not be read, playing on after it x.bag 7 an unknown number",
		"error a chunk is larger than --max-chunk allows, playing on after it x.bag 9 an unknown number",
		"error a topic is left out, playing the others z.mcap <nil> an unknown number",
		"warn an index of the bag is damaged, its messages are played x.bag 200 <nil>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if n := len(d.Found()); n != 6 || d.RebuiltIndexes() != 1 {
		t.Errorf("%d places, %d indexes; want 6 and 1", n, d.RebuiltIndexes())
	}
	if c := d.Count(); c != (control.DamageCount{Places: 6, Messages: 11, Unknown: 3}) {
		t.Errorf("count %+v", c)
	}
}

// TestDamageBeforePlay: opening finds each place once, so two indexes with the same text count twice.
func TestDamageBeforePlay(t *testing.T) {
	t.Parallel()
	d := source.NewDamageLog(zap.NewNop())
	e := &control.DamageError{Bag: "x.bag", Err: rebuilt(200)}
	lost := &control.DamageError{Bag: "x.bag", Err: corrupt(1)}
	d.ReportAll([]*control.DamageError{e, e, lost, lost})
	if d.RebuiltIndexes() != 2 || len(d.Found()) != 1 {
		t.Errorf("%d indexes, %d places; want 2 and 1", d.RebuiltIndexes(), len(d.Found()))
	}
}

// TestDamageIsBounded: a bag in which everything is damaged does not fill memory and log.
func TestDamageIsBounded(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	d := source.NewDamageLog(zap.New(core))
	for i := range int64(1500) {
		d.Report(&control.DamageError{Bag: "x.bag", Err: corrupt(i)})
		d.Report(&control.DamageError{Bag: "x.bag", Err: rebuilt(i)})
	}
	if len(d.Found()) != 1000 || d.RebuiltIndexes() != 1000 || logs.Len() != 2000 {
		t.Errorf("%d places, %d indexes, %d lines; want 1000, 1000, 2000", len(d.Found()), d.RebuiltIndexes(), logs.Len())
	}
}

func TestOpenError(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"Interrupted while opening x.bag":                      fmt.Errorf("index: %w", context.Canceled),
		"Error opening file: x.bag: no such file or directory": &os.PathError{Op: "open", Path: "/tmp/x.bag", Err: errors.New("no such file or directory")},
		"Error opening file: x.bag: bagfmt: not a bag":         errors.New("bagfmt: not a bag"),
	} {
		e := &source.OpenError{Bag: "x.bag", Err: err}
		if e.Error() != want || !errors.Is(e, err) {
			t.Errorf("got %q, want %q", e.Error(), want)
		}
	}
}
