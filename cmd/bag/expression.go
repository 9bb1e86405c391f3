package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bagexpr"
	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/nearest"
)

// pythonTimes replaces the times of stock's expressions, which are Python.
var pythonTimes = strings.NewReplacer(
	"t.to_sec()", "t", "t.to_nsec()", "ns", "t.secs", "(ns / 1000000000 | int())", "t.nsecs", "(ns % 1000000000)",
)

// pythonHints are hints for Python syntax that is not supported.
var pythonHints = []struct {
	found *regexp.Regexp
	write string
}{
	{regexp.MustCompile(`\b(True|False|None)\b`), "true, false and nil"},
	{regexp.MustCompile(`\bm\._type\b`), "type for m._type"},
	{regexp.MustCompile(`\.startswith\(`), `topic startsWith "x" for topic.startswith("x")`},
	{regexp.MustCompile(`\.endswith\(`), `topic endsWith "x" for topic.endswith("x")`},
	{regexp.MustCompile(`\bin \(`), "a list in [...] for a tuple in (...)"},
	{regexp.MustCompile(`\bis (not )?`), "== and != for is and is not"},
	{regexp.MustCompile(`\blambda\b|\bfor \w+ in\b`), "any(m.list, # > 1) or filter(...) for lambdas and comprehensions"},
	{regexp.MustCompile(`\bre\.\w+\(`), `topic matches "^/cam" for re.match`},
	{regexp.MustCompile(`\bt\.`), "t, which is in seconds, for the members of t"},
}

var literalRE = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)

// compileExpression compiles an expression. Python's common expressions for the time are
// supported; for other Python syntax the error says what to write instead.
func compileExpression(text string) (*bagexpr.Program, error) {
	var b strings.Builder
	at := 0
	for _, span := range literalRE.FindAllStringIndex(text, -1) {
		b.WriteString(pythonTimes.Replace(text[at:span[0]]) + text[span[0]:span[1]])
		at = span[1]
	}
	b.WriteString(pythonTimes.Replace(text[at:]))
	p, err := bagexpr.Compile(b.String())
	if err == nil {
		return p, nil
	}
	code := literalRE.ReplaceAllString(text, `""`)
	for _, h := range pythonHints {
		if h.found.MatchString(code) {
			return nil, fmt.Errorf("%w; this is not Python: write %s", oneLine(err), h.write)
		}
	}
	return nil, oneLine(err)
}

// oneLine returns an error of an expression without quoting the expression.
func oneLine(err error) error {
	var bad *bagexpr.ExpressionError
	switch {
	case !errors.As(err, &bad):
		if cause := errors.Unwrap(err); cause != nil { // without the topic
			err = cause
		}
		return err
	case bad.Line > 0:
		return fmt.Errorf("expression, column %d: %s", bad.Column, bad.Reason)
	}
	return fmt.Errorf("expression: %s", bad.Reason)
}

// expressionFilter selects messages of a copy. Messages for which the evaluation fails are left
// out: an expression about one topic may be invalid for another. It reports the first such
// message of each connection.
type expressionFilter struct {
	j         *job
	input     string
	program   *bagexpr.Program
	told      map[*bagfmt.Connection]bool
	decided   bool // at least once
	undecided uint64
}

func newExpressionFilter(j *job, input, text string) (*expressionFilter, error) {
	p, err := compileExpression(text)
	if err != nil {
		return nil, err
	}
	return &expressionFilter{j: j, input: input, program: p, told: make(map[*bagfmt.Connection]bool)}, nil
}

// keep is rebag.Options.Match.
func (f *expressionFilter) keep(c *bagfmt.Connection, m *bagfmt.Message) (bool, error) {
	keep, err := f.program.Keep(c, m)
	if err == nil {
		f.decided = true
		return keep, nil
	}
	f.undecided++
	if !f.told[c] {
		f.told[c] = true
		f.j.lost(f.input, fmt.Errorf("%s: %w; messages like this are left out", explain.Name(c.Topic), oneLine(err)))
	}
	return false, nil
}

// errUndecided means that the expression failed for all messages.
var errUndecided = errors.New("the expression cannot be evaluated for any message")

// finish reports the number of messages for which the evaluation failed. If it failed for all, it
// returns an error. It returns errReported if no message had a field of the expression, which is misspelt then, unless
// it has a ?. before it.
func (f *expressionFilter) finish() error {
	switch {
	case f.undecided == 0:
	case !f.decided:
		return errUndecided
	default:
		f.j.complain("%s: %s left out because the expression cannot be evaluated for them", explain.Name(f.input), counted(f.undecided))
	}
	var err error
	for _, lack := range f.program.Missing() {
		f.j.complain("expression: %s", lack)
		if !lack.Optional {
			err = errReported
		}
	}
	return err
}

// checkTopics reports the topics of the expression that are not recorded. It returns errReported if
// one of them is misspelt: a recorded topic that the expression does not name is similar.
func (f *expressionFilter) checkTopics(recorded []string) error {
	named := f.program.Topics()
	var err error
	for _, topic := range named {
		if slices.Contains(recorded, topic) {
			continue
		}
		near := slices.DeleteFunc(nearest.Topics(topic, recorded), func(n string) bool { return slices.Contains(named, n) })
		if len(near) > 0 {
			err = errReported
		}
		f.j.complain("expression: %s", noTopic(topic, near))
	}
	return err
}
