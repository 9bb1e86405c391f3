package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/query"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/bags/diff"
	"github.com/gorosbag/gorosbag/internal/bags/diff/report"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

type diffFlags struct {
	readOnly
	emptyFlags

	Topic     []string `short:"t" sep:"none" placeholder:"PATTERN" completion-predictor:"topic" help:"Only these topics; * and ? stand for any characters. May be repeated, as the next."`
	Exclude   []string `short:"x" sep:"none" placeholder:"PATTERN" completion-predictor:"topic" help:"Not these topics."`
	By        string   `enum:"order,header" default:"order" help:"Pair the messages of a publisher by their order, or by the stamps of their headers."`
	Tolerance string   `placeholder:"TIME" help:"With --by header, how far two stamps may be from each other: 5ms, or seconds (0)."`
	Times     string   `xor:"times" placeholder:"TIME" help:"Times are different if they differ by more than this; 0 for any difference."`
	Spacing   string   `xor:"times" placeholder:"TIME" help:"As --times, apart from a shift that is the same for all messages."`
	Count     int      `short:"n" default:"10" placeholder:"N" help:"Show N differing messages in detail (${default}), of each topic about as many."`
	JSON      bool     `name:"json" help:"Print the whole report as one line of JSON."`
	A         string   `arg:"" completion-predictor:"bag" help:"A bag of any version, or its URL."`
	B         string   `arg:"" completion-predictor:"bag" help:"The bag that it is compared with."`
}

// Help is the long help.
func (diffFlags) Help() string {
	return `Compares what is in two bags, not how it is stored: topics, types, definitions, latching
and the other fields of connection headers except the callerid, then every message of
every publisher, byte by byte and in order. Publishers are those of the same callerid. If
the bags name them differently, as in a recording of playback, the topic is compared as
one stream, which is said. Where one bag is a copy of a part of the other, messages with
the same time belong together; latched messages that a cut repeats have no time to compare.

  gobag diff run1.bag copy.bag                          is it the same?
  gobag diff --times 0 run1.bag compressed.bag          also in all times
  gobag diff --spacing 5ms run1.bag recording-of-play.bag
  gobag diff --by header --tolerance 1ms robot.bag other-recorder.bag

Without --times and --spacing a message that has another time is a difference if most
messages have the same time in both bags. Otherwise the bags are two recordings, and how
far their times differ is only reported.

Exit code 0: the bags are the same. 3: they are different, or what can be read of a
damaged one is not all. 1: they cannot be compared.`
}

// Run compares two bags.
func (f *diffFlags) Run(ctx context.Context, out job.Output) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	d := &comparison{Job: job.New(ctx, out, job.Options{}), paths: [2]string{f.A, f.B}}
	d.Wanted = o.Keep
	var bags [2]*bags.Recording
	for s, path := range d.paths {
		b, e := d.openSide(diff.Side(s), path)
		if e != nil {
			err = d.Failed(path, e)
			continue
		}
		defer b.Close() //nolint:errcheck // only read from
		bags[s] = b
	}
	if err != nil {
		return err
	}
	if err := f.anyTopic(bags); err != nil {
		return err
	}
	asked := query.Selection{Topic: f.Topic, Exclude: f.Exclude}
	for _, b := range bags {
		for _, topic := range asked.BothForms(b.Topics()) {
			d.Complain("%s: %v", wording.Shown(b.Name), query.BothFormsError(topic))
		}
	}
	o.Workers = job.Workers()
	o.Damaged = d.damage
	d.Bar.Set(job.Bytes("Comparing "+filepath.Base(store.Redact(f.B)), bags[0].Size+bags[1].Size), 0)
	found, err := diff.Compare(ctx, bags[0].Source, bags[1].Source, o)
	d.Bar.Clear()
	if err != nil {
		return err
	}
	if len(f.Topic)+len(f.Exclude) > 0 {
		var selected uint64
		for _, t := range found.Topics {
			selected += t.MessagesA + t.MessagesB
		}
		if err := f.refuse(selected, bags[:]...); err != nil {
			return err
		}
	}
	found.A.Path, found.A.Damage = store.Redact(f.A), d.found[diff.A]
	found.B.Path, found.B.Damage = store.Redact(f.B), d.found[diff.B]
	if err := f.print(out, found); err != nil {
		return err
	}
	_ = d.Done() // damage that hides no message makes no difference
	if !found.Same || !found.Complete {
		return job.ErrLossy
	}
	return nil
}

// options translates the flags.
func (f *diffFlags) options() (o diff.Options, err error) {
	if f.Count < 0 {
		return o, fmt.Errorf("-n %d is less than 0", f.Count)
	}
	o.Details = f.Count
	o.ByHeader = f.By == "header"
	if f.Tolerance != "" && !o.ByHeader {
		return o, errors.New("--tolerance needs --by header; --times and --spacing are for the times of the bag")
	}
	limit := func(flag, text string) (*time.Duration, error) {
		if text == "" {
			return nil, nil // no limit
		}
		d, err := query.Duration(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		if d < 0 {
			return nil, fmt.Errorf("%s %s is less than 0", flag, text)
		}
		return &d, nil
	}
	tolerance, err := limit("--tolerance", f.Tolerance)
	if err != nil {
		return o, err
	}
	if tolerance != nil {
		o.Tolerance = *tolerance
	}
	if o.Times, err = limit("--times", f.Times); err != nil {
		return o, err
	}
	if o.Spacing, err = limit("--spacing", f.Spacing); err != nil {
		return o, err
	}
	o.Keep, err = (&query.Selection{Topic: f.Topic, Exclude: f.Exclude}).Keep()
	return o, err
}

// anyTopic returns an error if neither bag has a topic that was asked for: otherwise a
// misspelt topic would make the bags equal.
func (f *diffFlags) anyTopic(bags [2]*bags.Recording) error {
	asked := query.Selection{Topic: f.Topic}
	missing := asked.Unmatched(bags[1].Source)
	for _, topic := range asked.Unmatched(bags[0].Source) {
		if slices.Contains(missing, topic) {
			return fmt.Errorf("%s: neither bag has such a topic", topic)
		}
	}
	return nil
}

// comparison is one run of the command.
type comparison struct {
	*job.Job
	paths [2]string
	found [2][]string // damage
}

// openSide opens one of the bags.
func (d *comparison) openSide(s diff.Side, path string) (*bags.Recording, error) {
	if path == "-" {
		return nil, errors.New("standard input cannot be compared, because both bags are read by their indexes; write it to a file first")
	}
	b, err := d.Open(path)
	if err != nil {
		return nil, err
	}
	for _, err := range b.Source.Info().Damage {
		d.note(s, err)
	}
	return b, nil
}

// damage prints what cannot be read of a bag. An error ends the comparison.
func (d *comparison) damage(s diff.Side, err error) error {
	if err := d.Damaged(d.paths[s], err); err != nil {
		return err
	}
	d.note(s, err)
	return nil
}

// note puts damage into the report.
func (d *comparison) note(s diff.Side, err error) {
	if len(d.found[s]) < job.MaxReported && !errors.Is(err, rosbag.ErrUnindexed) &&
		rosbag.Concerns(err, d.Wanted) {
		d.found[s] = append(d.found[s], wording.Explain(err).Error())
	}
}

func (f *diffFlags) print(out job.Output, r *report.Report) error {
	if !f.JSON {
		return r.WriteText(out.Stdout)
	}
	return wording.WriteEscapedJSON(out.Stdout, r)
}
