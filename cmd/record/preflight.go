package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/cmd/record/internal/face"
	"github.com/gorosbag/gorosbag/cmd/record/internal/preflight"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/tcpros"
)

// preflightCommand is the first argument that makes gorecord listen for a while instead of recording,
// with the options of a recording.
const preflightCommand = "preflight"

func preflightHelp() program.Subcommand {
	return program.Subcommand{
		Name: preflightCommand, Args: "[TOPICS] [OPTIONS]",
		Help: "Listen for 10 s, record nothing, and say what is not ready",
		Detail: `Takes the topics and options of a recording (gorecord --help). Prints each topic with its rate, what is expected of it and its stamps;
the disk, the buffer, the clock of the master's host, the address of --http if it is taken, and the store of --upload. Exit code: 0 all is ready, otherwise 1.`,
	}
}

const (
	listenFor = 10 * time.Second
	// of listenFor: then rates are measured.
	linkWithin = 2 * time.Second
	// bounds a question to the store or to the master's host.
	askWithin = 5 * time.Second
	// the clock of the master's host may differ this much: its answer has whole seconds.
	mostClock = 2 * time.Second
)

// runPreflight listens, prints what was heard, and returns the exit code: 0 if all is as it should be.
func runPreflight(args []string) int {
	errs, s := &program.Errors{W: os.Stderr, Name: name}, new(settings)
	line, code := (&program.Command{
		Errs: errs, Node: "preflight", Common: &s.Common,
		Parse: s.program().Parse, Check: s.checkStart,
	}).Read(args)
	if line == nil {
		return code
	}
	ctx, signals := program.Catch(context.Background())
	defer signals.Close()
	node := line.Node
	node.Log = program.NewLog(os.Stderr, program.LogTo(os.Stderr, s.Log, true))
	o := s.options(node.Log)
	resolve, err := tcpros.Resolver(node)
	if err == nil {
		err = s.checkOptions(&o, resolve)
	}
	if err != nil {
		return errs.Fail(program.ExitUsage, err)
	}
	graph, err := program.Join(ctx, node, s.ROS.EmbeddedMaster)
	if err != nil {
		return errs.Fail(program.ExitUsage, err)
	}
	defer graph.Close() //nolint:errcheck // nothing was recorded that could be lost
	o.Node = graph.Node
	h := &preflight.Heard{Named: namedTopics(&o)}
	if h.Expect, err = recorder.Expectations(o, resolve); err != nil {
		return errs.Fail(program.ExitUsage, err)
	}
	errs.Print("listening for " + finding.About(listenFor) + "; nothing is recorded")
	tried := make(chan error, 1)
	// owner: runPreflight; ends when the disk answers.
	go func() { tried <- recorder.TryOutput(o) }()
	simulated, _, err := graph.Node.Master().Param(ctx, "/use_sim_time")
	h.Simulated = err == nil && simulated == true
	listenErr := listen(ctx, o, h)
	if ctx.Err() != nil {
		return errs.Fail(program.ExitUsage, errors.New("interrupted"))
	}
	if f := bagFact(tried); f.Bad {
		h.Facts = append(h.Facts, f)
	}
	deletion, err := recorder.Deletion(o)
	if err != nil {
		node.Log.Warn("bags of earlier recordings do not count", zap.Error(err))
	}
	h.Facts = append(h.Facts, h.Disk(o.MinSpace, o.MinSpaceText, &deletion, face.LowTime),
		h.Buffer(o.MemoryBytes()), masterFact(ctx, graph.Node.MasterURI(), graph.Node.MasterUp()))
	if listenErr != nil {
		h.Facts = append(h.Facts, preflight.Fact{What: "graph", Text: listenErr.Error(), Bad: true})
	}
	if s.Web.Listen != "" {
		page, err := web.Listen(ctx, s.Web.Listen)
		if err == nil {
			err = page.Close()
		}
		if err != nil {
			h.Facts = append(h.Facts, preflight.Fact{What: "page", Text: err.Error(), Bad: true})
		}
	}
	if s.upload.to != "" {
		h.Facts = append(h.Facts, storeFact(ctx, &s.upload))
	}
	good, err := h.Write(os.Stdout)
	switch {
	case err != nil:
		return errs.Fail(program.ExitUsage, err)
	case !good:
		return program.ExitUsage
	}
	return program.ExitOK
}

// namedTopics returns the topics that the user has named in full.
func namedTopics(o *recorder.Options) (names []string) {
	for _, t := range o.Select.Topics {
		if !o.Select.Regex && !topicmatch.IsGlob(t) {
			names = append(names, t)
		}
	}
	return names
}

// listen subscribes as the recording would, without a bag, and without what is left of earlier recordings.
func listen(parent context.Context, o recorder.Options, h *preflight.Heard) error {
	o.Begin, o.Recover, o.Retain, o.Publish, o.Params, o.Log = control.StateStopped, false,
		recorder.Retention{}, false, false, zap.NewNop()
	o.Snapshot = recorder.Snapshot{}
	noFolder := recorder.CheckOutput(o) != nil
	if noFolder {
		// in which nothing is written
		o.Output = recorder.Output{Prefix: filepath.Join(os.TempDir(), preflightCommand)}
	}
	o.Expect = nil // is judged here, over less than ten seconds
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	ended := make(chan error, 1)
	// owner: listen; ends when ctx is done.
	go func() {
		_, err := recorder.Run(ctx, o)
		ended <- err
	}()
	var statsErr error
	for _, step := range []struct {
		wait time.Duration
		into *control.Stats
	}{{linkWithin, &h.Before}, {listenFor - linkWithin, &h.After}} {
		select {
		case <-time.After(step.wait):
		case err := <-ended:
			return err
		}
		*step.into, statsErr = o.Control.Stats()
	}
	if noFolder {
		h.After.DiskFree = -1
	}
	cancel()
	err := <-ended
	if errors.Is(err, recorder.ErrNotBegun) {
		return err
	}
	return errors.Join(statsErr, err)
}

// bagFact says why no bag can be written, if so.
func bagFact(tried <-chan error) preflight.Fact {
	select {
	case err := <-tried:
		if err != nil {
			return preflight.Fact{What: "bag", Text: err.Error(), Bad: true}
		}
		return preflight.Fact{What: "bag"}
	default:
		return preflight.Fact{
			What: "bag", Text: "the disk does not answer: a file cannot be created",
			Bad: true,
		}
	}
}

// masterFact compares the clock of the master's host with ours, by the date in the head of an HTTP answer.
func masterFact(parent context.Context, uri string, up bool) preflight.Fact {
	f := preflight.Fact{What: "master", Text: uri + " does not answer", Bad: true}
	if !up {
		return f
	}
	ctx, cancel := context.WithTimeout(parent, askWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, http.NoBody) //nolint:gosec // the user's own master
	if err != nil {
		return f
	}
	begun := time.Now()
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r) //nolint:gosec // as above
	if err != nil {
		return f
	}
	_ = answer.Body.Close() // only the head is of interest
	middle := begun.Add(time.Since(begun) / 2)
	date, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return preflight.Fact{What: "master", Text: uri + " answers, but does not tell its clock"}
	}
	f.Text, f.Bad = uri+", whose clock agrees with ours", false
	if off := middle.Sub(date.Add(time.Second / 2)); off.Abs() > mostClock {
		f.Text, f.Bad = fmt.Sprintf("%s, whose clock is %s behind ours", uri, finding.About(off)), true
		if off < 0 {
			f.Text = fmt.Sprintf("%s, whose clock is %s ahead of ours", uri, finding.About(-off))
		}
	}
	return f
}

// storeFact says whether the store takes uploads. One that is not reachable is told, and is no obstacle:
// bags wait.
func storeFact(parent context.Context, u *uploadSettings) preflight.Fact {
	f := preflight.Fact{What: "store", Bad: true}
	ctx, cancel := context.WithTimeout(parent, askWithin)
	defer cancel()
	_, bucket, err := u.open(ctx)
	if err != nil {
		f.Text = err.Error()
		return f
	}
	defer bucket.Close() //nolint:errcheck // nothing was written
	unchecked, err := bucket.Check(ctx)
	switch {
	case err != nil:
		f.Text = err.Error()
	case unchecked != "":
		f.Text, f.Bad = bucket.String()+" answers; not checked: "+unchecked, false
	default:
		f.Text, f.Bad = bucket.String()+" takes uploads", false
	}
	return f
}
