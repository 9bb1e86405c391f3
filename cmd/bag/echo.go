package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/bagjob"
	"github.com/gorosbag/gorosbag/internal/bagopen"
	"github.com/gorosbag/gorosbag/internal/bagquery"
	"github.com/gorosbag/gorosbag/internal/escape"
	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/msgtypes"
	"github.com/gorosbag/gorosbag/internal/store"
	"github.com/gorosbag/gorosbag/rosmsg"
)

type echoFlags struct {
	readOnly

	Bag       []string `short:"b" sep:"none" placeholder:"FILE" completion-predictor:"bag" help:"A bag; the same as an argument, as rostopic echo has it."`
	Topic     []string `short:"t" sep:"none" placeholder:"TOPIC" completion-predictor:"topic" help:"Only these topics; * and ? stand for any characters. A field of the messages may follow: /odom/pose/pose. May be repeated."`
	Regex     bool     `short:"e" help:"Topics are regular expressions for the whole name; no field can follow."`
	All       bool     `short:"a" help:"All topics, as without any."`
	CSV       bool     `short:"p" name:"csv" xor:"format" help:"Comma separated values, with a header line for the first message. Strings are as they are, but on a terminal control characters are escaped."`
	JSON      bool     `name:"json" xor:"format" help:"A line of JSON for each message; uint8[] is base64."`
	Count     uint64   `short:"n" placeholder:"N" help:"Stop after N messages."`
	NoArrays  bool     `name:"noarr" help:"Leave arrays out of text and CSV."`
	NoStrings bool     `name:"nostr" help:"Leave strings out of text and CSV."`

	config.Window
	emptyFlags

	Expr string   `name:"expr" aliases:"filter" placeholder:"EXPR" help:"Only messages for which this is true: see gobag filter --help."`
	Args []string `arg:"" name:"bag|topic" optional:"" completion-predictor:"bag" help:"Bags of any version, one after the other, - for standard input, and topics, which begin with / and are no files."`
}

// Help is printed below the flags.
func (f *echoFlags) Help() string {
	return `Messages are printed as rostopic echo -b does:

  gobag echo robot.bag /odom                 messages of a topic, as text
  gobag echo robot.bag /odom/pose/pose -n 5  a field of them
  gobag echo robot.bag /tf/transforms[0] -p  an element, as CSV
  gobag echo robot.bag --json | jq .msg      everything
  ssh robot cat run.bag | gobag echo - /tf   from a pipe

Exit code 3: messages could not be shown, because they have no definition or do not
fit it, because --expr makes no sense for them, or because the bag is damaged. The
others were shown.`
}

// Run prints the messages of bags.
func (f *echoFlags) Run(ctx context.Context, out bagjob.Output) error {
	e := &echo{
		flags: f, Job: bagjob.New(ctx, out, bagjob.Options{Quiet: true}), w: bufio.NewWriterSize(out.Stdout, 64<<10),
		escape: f.CSV && bagjob.IsTerminal(out.Stdout),
	}
	bags, err := e.sort(f.Args)
	if err != nil {
		return err
	}
	if f.Expr != "" {
		if e.match, err = bagquery.NewExpression(f.Expr, func(err error) { e.Lost(e.path, err) }); err != nil {
			return err
		}
	}
	for _, path := range bags {
		if e.limitReached() {
			break
		}
		err := e.bag(path)
		if err == nil {
			continue
		}
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, context.Canceled) {
			break // nobody reads on, or the user has seen enough
		}
		_ = e.w.Flush()         // what is there comes before the complaint about it
		_ = e.Failed(path, err) // e.failed makes the exit code
		e.failed = true
	}
	return e.end()
}

// echo is one run of the command.
type echo struct {
	flags *echoFlags
	*bagjob.Job
	w      *bufio.Writer
	escape bool // print no control characters: CSV has strings as they are
	topics []*echoTopic
	match  *bagquery.Expression

	types    msgtypes.Cache
	recorded []string // topics of the bags, to suggest one

	path     string
	shows    map[*bagfmt.Connection][]*show // of the current bag
	buf      []byte
	last     *bagopen.Recording // the last bag that was printed; nil before the first. Closed
	selected uint64             // messages that were asked for, also those that cannot be shown
	count    uint64
	titled   bool // the header of CSV is out
	failed   bool
}

// sort tells bags from topics.
func (e *echo) sort(args []string) (bags []string, err error) {
	bags = slices.Clone(e.flags.Bag)
	topics := slices.Clone(e.flags.Topic)
	for _, arg := range args {
		if err := checkNotEnd(e.flags.Regex, arg); err != nil {
			return nil, err
		}
		if isTopic(arg, len(e.flags.Bag) > 0) {
			topics = append(topics, arg)
		} else {
			bags = append(bags, arg)
		}
	}
	if bags, err = bagopen.Names(e.Ctx, bags); err != nil {
		return nil, err
	}
	if len(bags) == 0 {
		return nil, errors.New("no bag is given; see gobag echo --help")
	}
	for _, bag := range bags { // before the others are printed, which may take long
		if err := exists(bag); err != nil {
			return nil, err
		}
	}
	if e.flags.All && len(topics) > 0 {
		return nil, errors.New("--all and a topic exclude each other")
	}
	if e.flags.JSON && (e.flags.NoArrays || e.flags.NoStrings) {
		return nil, errors.New("--noarr and --nostr are for text and CSV")
	}
	for _, t := range topics {
		topic, err := newEchoTopic(t, e.flags.Regex)
		if err != nil {
			return nil, err
		}
		e.topics = append(e.topics, topic)
	}
	return bags, nil
}

// exists returns an error if path is no file, which may be a topic misspelt.
func exists(path string) error {
	if store.IsURL(path) {
		return nil
	}
	if _, err := os.Stat(path); path == "-" || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if strings.HasPrefix(path, "/") || bagopen.HasBagEnding(path) {
		return fmt.Errorf("%s: no such file", explain.Name(path))
	}
	return fmt.Errorf("%s: no such file; topics begin with /", explain.Name(path))
}

// isTopic tells a topic from a file: it begins with a slash, unless bags are named
// otherwise, and no such file exists or is likely to be meant.
func isTopic(arg string, haveBags bool) bool {
	if arg == "-" || store.IsURL(arg) || !haveBags && !strings.HasPrefix(arg, "/") || bagopen.HasBagEnding(arg) || strings.HasSuffix(arg, ".active") {
		return false
	}
	_, err := os.Stat(arg)
	return err != nil
}

func (e *echo) limitReached() bool { return e.flags.Count > 0 && e.count >= e.flags.Count }

// end writes what is left, tells what was not there and returns what the exit code is
// made of.
func (e *echo) end() error {
	if err := e.w.Flush(); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	if e.Ctx.Err() == nil && !e.limitReached() && e.last != nil {
		slices.Sort(e.recorded)
		recorded := slices.Compact(e.recorded)
		for _, t := range e.topics {
			if why := t.problem(recorded); why != "" {
				e.Complain("%s", why)
				e.failed = true
			}
		}
		var err error
		if e.match != nil {
			found, undecided := e.match.Finish(e.path)
			err = errors.Join(tell(e.Job, e.match.CheckTopics(recorded)), undecided, tell(e.Job, found))
		}
		if err == nil && !e.failed {
			err = e.flags.refuse(e.selected, e.last)
		}
		if err != nil && !errors.Is(err, bagjob.ErrReported) {
			e.Complain("%v", err)
		}
		e.failed = e.failed || err != nil
	}
	if err := e.Done(); !e.failed {
		return err
	}
	return bagjob.ErrReported
}

// reportUnshown tells about messages that cannot be shown.
func (e *echo) reportUnshown(err error) {
	e.SetLossy()
	_ = e.w.Flush() // an error stays in the Writer
	e.Complain("%s: %v", explain.Name(e.path), err)
}

// bag prints the messages of one bag.
func (e *echo) bag(path string) (err error) {
	_ = e.w.Flush() // before what opening complains about; an error stays in the Writer
	src, err := e.OpenInput(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	e.path, e.shows = src.Name, make(map[*bagfmt.Connection][]*show)
	q, err := e.query(src)
	if err != nil {
		return err
	}
	e.last = src
	for m, err := range src.Messages(q) {
		if e.Ctx.Err() != nil {
			return e.Ctx.Err()
		}
		if err != nil {
			_ = e.w.Flush()
			if err := e.Damaged(e.path, err); err != nil {
				return err
			}
			continue
		}
		if err := e.message(m); err != nil {
			return err
		}
		if e.limitReached() {
			break
		}
	}
	for _, c := range src.Connections() {
		e.recorded = append(e.recorded, absolute(c.Topic))
		e.summarize(c, e.wanted(c))
	}
	return nil
}

// query returns what is wanted of a bag.
func (e *echo) query(src *bagopen.Recording) (bagfmt.Query, error) {
	q := bagfmt.Query{Workers: bagjob.Workers(), Reuse: true, Keep: func(c *bagfmt.Connection) bool { return e.wanted(c) != nil }}
	var err error
	q.Start, q.End, err = bagquery.WindowTimes(&e.flags.Window, src.Bag)
	return q, err
}

// wanted returns what is shown of the messages of a connection: the fields that topics
// name, each once.
func (e *echo) wanted(c *bagfmt.Connection) []*show {
	if all, ok := e.shows[c]; ok {
		return all
	}
	var all []*show
	if len(e.topics) == 0 {
		all = []*show{{}}
	}
	for _, t := range e.topics {
		field, ok := t.match(c.Topic)
		if ok && !slices.ContainsFunc(all, func(s *show) bool { return s.field == field }) {
			all = append(all, &show{topic: t, field: field})
		}
	}
	e.shows[c] = all
	return all
}

// message prints one message.
func (e *echo) message(m *bagfmt.Message) error {
	if e.match != nil {
		keep, err := e.match.Keep(m.Conn, m)
		if err != nil {
			return err
		}
		if !keep {
			return nil
		}
	}
	e.selected++
	for _, s := range e.wanted(m.Conn) {
		if e.limitReached() {
			break
		}
		if !s.ready {
			e.prepare(s, m.Conn)
		}
		if s.path == nil || !e.show(s, m) {
			s.skipped++
			continue
		}
		e.count++
		if _, err := e.w.Write(e.buf); err != nil {
			return err
		}
	}
	return nil
}

// show puts what is printed of a message into e.buf, and tells for the first message
// of a connection what is wrong with it.
func (e *echo) show(s *show, m *bagfmt.Message) bool {
	v, err := s.path.Lookup(m.Data())
	if err == nil {
		e.buf, err = e.print(e.buf[:0], v, m, s.field)
		if e.escape {
			e.buf = escapeLines(e.buf)
		}
	}
	if err == nil {
		return true
	}
	if !s.told {
		s.told = true
		e.reportUnshown(fmt.Errorf("%s at %s: %w", explain.Name(m.Conn.Topic), m.Time, err))
	}
	return errors.Is(err, rosmsg.ErrTrailing)
}

// print appends a message in the format that was asked for. With rosmsg.ErrTrailing
// it is complete.
func (e *echo) print(dst []byte, v rosmsg.Value, m *bagfmt.Message, field string) ([]byte, error) {
	o := rosmsg.TextOptions{NoArrays: e.flags.NoArrays, NoStrings: e.flags.NoStrings}
	var err error
	switch {
	case e.flags.JSON:
		dst = rosmsg.AppendJSONString(append(dst, `{"topic":`...), m.Conn.Topic)
		// Add carries a second and more of nanoseconds, which --csv and stock's clients do as well.
		dst = fmt.Appendf(dst, `,"t":"%v","type":`, m.Time.Add(0))
		dst = rosmsg.AppendJSONString(dst, m.Conn.Header.Type())
		if field != "" {
			dst = rosmsg.AppendJSONString(append(dst, `,"field":`...), field)
		}
		dst = append(dst, `,"msg":`...)
		dst, err = v.AppendJSON(dst, rosmsg.JSONOptions{})
		return append(dst, "}\n"...), err
	case e.flags.CSV:
		if !e.titled {
			if dst, err = v.AppendCSVHeader(dst, o); err != nil && !errors.Is(err, rosmsg.ErrTrailing) {
				return dst, err
			}
			dst = append(dst, '\n')
			e.titled = true
		}
		dst, err = v.AppendCSV(dst, int64(m.Time.Sec)*1e9+int64(m.Time.Nsec), o)
		return append(dst, '\n'), err
	}
	dst, err = v.AppendText(dst, o)
	return append(dst, "\n---\n"...), err
}

// escapeLines escapes what could control a terminal, but for line breaks.
func escapeLines(b []byte) []byte {
	out := b[:0:0]
	for line := range bytes.Lines(b) {
		text, end := bytes.CutSuffix(line, []byte("\n"))
		out = append(out, escape.Text(string(text))...)
		if end {
			out = append(out, '\n')
		}
	}
	return out
}

// summarize says how many messages of a connection were not shown.
func (e *echo) summarize(c *bagfmt.Connection, all []*show) {
	for _, s := range all {
		if s.skipped > 1 && s.path != nil {
			e.reportUnshown(fmt.Errorf("%s: %d messages like this were not shown", explain.Name(c.Topic), s.skipped))
		}
	}
}

// show is how the messages of one connection are shown, or a field of them.
type show struct {
	topic *echoTopic
	field string // of the messages, with dots; empty for all

	ready   bool
	path    *rosmsg.Path // nil if they cannot be shown
	told    bool
	skipped int
}

// prepare finds out how messages are decoded, and tells once what is in the way.
func (e *echo) prepare(s *show, c *bagfmt.Connection) {
	s.ready = true
	typ, err := e.types.Of(c)
	if err != nil {
		e.reportUnshown(fmt.Errorf("%s: %w; its messages cannot be shown", explain.Name(c.Topic), err))
		return
	}
	if want := c.Header.MD5Sum(); want != "" && want != "*" && want != typ.MD5Sum() {
		_ = e.w.Flush() // an error stays in the Writer
		e.Complain("%s: %s: the definition of %s has md5sum %s, the connection %s; it is used anyway",
			explain.Name(e.path), explain.Name(c.Topic), explain.Name(c.Header.Type()), typ.MD5Sum(), explain.Name(want))
	}
	path, err := typ.Path(s.field)
	if err != nil {
		s.topic.noField = fmt.Errorf("%s: %w", explain.Name(e.path), err)
		return
	}
	s.path = path
	if s.topic != nil {
		s.topic.shown = true
	}
}
