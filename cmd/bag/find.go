package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/query"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/bags/catalog"
	"github.com/gorosbag/gorosbag/internal/bags/expr"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/internal/ros2/db3"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

type findFlags struct {
	readOnly
	emptyFlags

	JSON   bool     `name:"json" help:"One line of JSON for each bag: its summary."`
	Quiet  bool     `short:"q" help:"Show no progress bar, and do not print what was found besides."`
	Expr   string   `arg:"" name:"expr" help:"What the bags have to be like."`
	Places []string `arg:"" name:"place" completion-predictor:"dir" help:"Directories, or URLs of stores such as s3://BUCKET/PREFIX: with all that is below."`
}

// Help is the long help.
func (findFlags) Help() string {
	return `Prints the names of the bags for which an expression is true, as gobag filter takes them:

  gobag find 'topic == "/imu/data" and size > 1e9' s3://fleet-bags/
  gobag find 'robot == "r7" and start > date("2026-11-20 08:00")' s3://fleet-bags/
  gobag find '"/scan" in topics and notes.site == "hall 3"' ~/bags

  topic, type       of one of its topics: the expression has to hold for at least one
  topics, types     lists of all; topics have a leading slash
  start, end        of its messages, in seconds as a number: compare them with date("TEXT"),
                    a time as goplay --start takes it, and with now()
  duration          in seconds
  size, messages    in bytes; in number
  robot             the note "robot", otherwise the machine that uploaded the bag
  notes             notes.site or notes["hall no"]; "" where there is no such note
  marks             the texts of the first hundred marks, such as what was wrong with topics:
                    any(marks, {# startsWith "silent /imu"})
  bag               the name below the place

A recording of ROS 2 is found by its directory, in a store by its MCAP files. A .db3 file
that is a database of another program is passed over.

What bags are like is in a catalog, which gorecord --upload writes and gobag index
makes. A bag that is not in it is read.

If no bag is found, the exit code is 1. Bags that cannot be read are named, and the exit
code is 3.`
}

// Run prints the bags that match.
func (f *findFlags) Run(ctx context.Context, out job.Output) error {
	j := job.New(ctx, out, job.Options{Quiet: f.Quiet})
	program, err := expr.CompileBags(f.Expr, query.ParseDate)
	if err == nil {
		_, err = program.Matches(&expr.Bag{}) // dates that are none
	}
	if err != nil {
		return query.OneLine(err)
	}
	w := bufio.NewWriter(out.Stdout)
	bags, found, read := 0, 0, 0
	for _, arg := range f.Places {
		c, p, err := loadCatalog(j, arg, false)
		if err != nil {
			return errors.Join(w.Flush(), j.Failed(arg, err))
		}
		if p.Remote {
			read += c.Read
		}
		for _, s := range c.Bags {
			bags++
			if s.Error != "" {
				j.Lost(p.Path(s.Bag), errors.New(s.Error))
				continue
			}
			switch ok, err := s.Matches(program); {
			case err != nil:
				return errors.Join(w.Flush(), query.OneLine(err))
			case ok:
				found++
				s.Bag = p.Path(s.Bag)
				f.sayBothForms(j, s, program.Topics())
				f.print(w, s)
			}
		}
		if err := errors.Join(p.Close(), w.Flush()); err != nil {
			return err
		}
	}
	if read > 0 {
		j.Say("%s had to be read; gobag index %s makes the next search faster",
			wording.Plural(uint64(read), "bag"), wording.Shown(f.Places[0]))
	}
	err = j.Done()
	if found == 0 && err == nil && !f.AllowEmpty {
		return fmt.Errorf("none of %s matches; --allow-empty allows that",
			wording.Plural(uint64(bags), "bag"))
	}
	return err
}

// sayBothForms names the topics of the expression that a bag has with a leading slash and without.
func (*findFlags) sayBothForms(j *job.Job, s *catalog.Summary, named []string) {
	var recorded []string
	for _, t := range s.Topics {
		recorded = append(recorded, t.Topic)
	}
	for _, topic := range topicmatch.BothForms(recorded) {
		if slices.Contains(named, topic) {
			j.Complain("%s: %v", wording.Shown(s.Bag), query.BothFormsError(topic))
		}
	}
}

// print prints a bag that matches. A bufio.Writer keeps its error for Flush.
func (f *findFlags) print(w *bufio.Writer, s *catalog.Summary) {
	if !f.JSON {
		_, _ = fmt.Fprintln(w, wording.EscapeLine(s.Bag))
		return
	}
	_ = wording.WriteEscapedJSON(w, s)
}

// loadCatalog reads the catalog of a place, and the bags that it lacks, or all. It reports those
// that cannot be read. The caller closes the place.
func loadCatalog(j *job.Job, arg string, all bool) (*catalog.Catalog, *bags.Place, error) {
	p, err := bags.OpenPlace(j.Ctx, arg, 0)
	if err != nil {
		return nil, nil, err
	}
	o := catalog.Options{
		All: all,
		Open: func(ctx context.Context, bag string) (rosbag.Source, io.Closer, error) {
			r, err := bags.Open(ctx, p.Path(bag), bags.Options{IndexOnly: store.Remote(arg), Plain: true})
			switch {
			case errors.Is(err, db3.ErrForeign) && path.Ext(bag) == ".db3":
				// not a folder whose metadata.yaml names it
				return nil, nil, catalog.ErrForeign
			case err != nil:
				return nil, nil, err
			}
			return r.Source, r, nil
		},
		Listed: func(n int) { j.Bar.Set(job.Work{Title: "Listing " + store.Redact(arg)}, int64(n)) },
		Read:   func(n, of int) { j.Bar.Set(job.Work{Title: "Reading bags", Total: int64(of)}, int64(n)) },
		Foreign: func(name string) {
			j.Say("%s: is passed over: a database, but no recording of ROS 2", wording.Shown(p.Path(name)))
		},
		Problem: func(name string, err error) { j.Lost(p.Path(name), err) },
	}
	if !p.Remote { // in stores, MCAP files are recordings by themselves
		o.IsRecording = func(folder string) bool { return bags.IsROS2Directory(j.Ctx, p.Path(folder)) }
	}
	c, err := catalog.Load(j.Ctx, p.Bucket, o)
	j.Bar.Clear()
	if err == nil && len(c.Bags)+c.Failed == 0 {
		err = errors.New("no bags there")
	}
	if err != nil {
		_ = p.Close() // the error is that of reading
		return nil, nil, wording.Explain(err)
	}
	return c, p, nil
}
