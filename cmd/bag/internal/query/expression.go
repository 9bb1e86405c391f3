package query

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/bags/expr"
	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/internal/text/lazyre"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/rosbag"
)

// pythonTimes has what is written here for the members of t in stock's expressions, which are Python.
var pythonTimes = map[string]string{
	"to_sec()": "t", "to_nsec()": "ns", "secs": "(ns / 1000000000 | int())", "nsecs": "(ns % 1000000000)",
}

var (
	timeRE     = lazyre.New(`(^|[^.\w])t\.(to_sec\(\)|to_nsec\(\)|secs\b|nsecs\b)`)
	fieldSecRE = lazyre.New(`(\w)\.to_sec\(\)`)
)

// translateTimes translates Python's expressions for times. A time in a message is a number of seconds
// already.
func translateTimes(code string) string {
	code = timeRE().ReplaceAllStringFunc(code, func(found string) string {
		part := timeRE().FindStringSubmatch(found)
		return part[1] + pythonTimes[part[2]]
	})
	return fieldSecRE().ReplaceAllString(code, "$1")
}

// pythonHints are hints for Python syntax that is not supported.
var pythonHints = []struct {
	found func() *regexp.Regexp
	write string
}{
	{lazyre.New(`\bin \(`), "a list in [...] for a tuple in (...)"},
	{lazyre.New(`\bis (not )?`), "== and != for is and is not"},
	{
		lazyre.New(`\blambda\b|\bfor \w+ in\b`),
		"any(m.list, # > 1) or filter(...) for lambdas and comprehensions",
	},
	{lazyre.New(`\bnot [^(]*[=<>]`), "not (a == b) for not a == b"},
	{lazyre.New(`\bif\b.*\belse\b`), "a ? b : c for b if a else c"},
	{lazyre.New(`\bstr\(`), "string(x) for str(x)"},
	{lazyre.New(`\bre\.\w+\(`), `topic matches "^/cam" for re.match`},
	{lazyre.New(`\bt\.`), "t, which is in seconds, for the members of t"},
	{lazyre.New(`(^|[^&])&($|[^&])`), "a and b for conditions, bitand(a, b) for the bits of numbers"},
	{lazyre.New(`(^|[^|])\|($|[^|])`), "a or b for conditions, bitor(a, b) for the bits of numbers"},
	{lazyre.New(`~`), "not a for conditions, bitnot(a) for the bits of a number"},
}

// methods are what to write for the methods of Python's texts and lists. The language has no methods.
var methods = map[string]string{
	"startswith": `x startsWith "a"`, "endswith": `x endsWith "a"`,
	"find": `x contains "a", or indexOf(x, "a") for the place`, "index": `indexOf(x, "a")`,
	"lower": "lower(x)", "upper": "upper(x)", "strip": "trim(x)", "split": `split(x, ",")`,
	"replace": `replace(x, "a", "b")`, "join": `join(list, ",")`,
	"count": "count(x, # == a)", "keys": "keys(x)", "values": "values(x)",
}

// headers are what to write for what the messages of rospy have beside their fields.
var headers = map[string]string{
	"_type": "type", "_md5sum": "md5sum",
	"_connection_header": "topic, type, md5sum or callerid",
}

var (
	methodRE = lazyre.New(`\.(\w+)\(`)
	headerRE = lazyre.New(`\b(?:m|msg)\.(_\w+)`)
)

// notPython returns an error for Python that the language would take for something else, or report only
// when it comes to it. code is the expression without its texts.
func notPython(code string) error {
	var hint string
	switch method, header := methodRE().FindStringSubmatch(code), headerRE().FindStringSubmatch(code); {
	case strings.Contains(code, "//"): // it begins a comment
		hint = "write floor(a / b) for a // b"
	case header != nil && headers[header[1]] != "":
		hint = fmt.Sprintf("write %s for m.%s", headers[header[1]], header[1])
	case method != nil && methods[method[1]] != "":
		hint = fmt.Sprintf("write %s for x.%s(…)", methods[method[1]], method[1])
	case method != nil:
		hint = fmt.Sprintf("there are no methods such as .%s(…); a function stands before what it is applied to, as in len(x)", method[1])
	default:
		return nil
	}
	return errors.New("expression: this is not Python: " + hint)
}

var pythonConstRE = lazyre.New(`unknown name (True|False|None)\b`)

var literalRE = lazyre.New(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)

// compileExpression compiles an expression. Python's common expressions for the time are
// supported; for other Python syntax the error says what to write instead.
func compileExpression(text string) (*expr.Program, error) {
	var b strings.Builder
	at := 0
	for _, span := range literalRE().FindAllStringIndex(text, -1) {
		b.WriteString(translateTimes(text[at:span[0]]) + text[span[0]:span[1]])
		at = span[1]
	}
	b.WriteString(translateTimes(text[at:]))
	if err := notPython(literalRE().ReplaceAllString(b.String(), `""`)); err != nil {
		return nil, err
	}
	p, err := expr.Compile(b.String())
	if err == nil {
		return p, nil
	}
	if pythonConstRE().MatchString(err.Error()) {
		return nil, fmt.Errorf("%w; this is not Python: write true, false and nil", OneLine(err))
	}
	code := literalRE().ReplaceAllString(text, `""`)
	for _, h := range pythonHints {
		if h.found().MatchString(code) {
			return nil, fmt.Errorf("%w; this is not Python: write %s", OneLine(err), h.write)
		}
	}
	return nil, OneLine(err)
}

// OneLine returns an error of an expression without quoting the expression.
func OneLine(err error) error {
	var bad *expr.ExpressionError
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

// Expression selects messages. It leaves out messages for which the evaluation fails: an expression
// about one topic may be invalid for another.
type Expression struct {
	failed    func(error)
	program   *expr.Program
	failing   map[*rosbag.Connection]bool // connections that failed was called for
	whole     map[*rosbag.Connection]bool // connections whose messages are all selected
	decided   bool                        // at least once
	undecided uint64
}

// NewExpression compiles an expression. failed is called for the first message of each connection for
// which the evaluation fails.
func NewExpression(text string, failed func(error)) (*Expression, error) {
	p, err := compileExpression(text)
	if err != nil {
		return nil, err
	}
	return &Expression{
		failed: failed, program: p, failing: make(map[*rosbag.Connection]bool),
		whole: make(map[*rosbag.Connection]bool),
	}, nil
}

// Keep reports whether a message is selected. It never returns an error.
func (x *Expression) Keep(c *rosbag.Connection, m *rosbag.Message) (bool, error) {
	if x.whole[c] {
		x.decided = true
		return true, nil
	}
	keep, err := x.program.Keep(c, m)
	if err == nil {
		x.decided = true
		return keep, nil
	}
	x.undecided++
	if !x.failing[c] {
		x.failing[c] = true
		x.failed(fmt.Errorf("%s: %w; messages like this are left out", wording.Shown(c.Topic), OneLine(err)))
	}
	return false, nil
}

// Admits reports whether messages of a connection may be selected: those of others need not be read.
func (x *Expression) Admits(c *rosbag.Connection) bool {
	some, all := x.program.Admits(c)
	x.decided = x.decided || !some
	x.whole[c] = all
	return some
}

// Within limits a query to what may be selected.
func (x *Expression) Within(q *rosbag.Query) {
	start, end := x.program.Window()
	if q.Start.Before(start) {
		q.Start = start
	}
	if !end.IsZero() && (q.End.IsZero() || end.Before(q.End)) {
		q.End = end
	}
	keep := q.Keep
	q.Keep = func(c *rosbag.Connection) bool { return (keep == nil || keep(c)) && x.Admits(c) }
}

// Findings are what the user should know of an expression.
type Findings struct {
	Lines    []string
	Misspelt bool // the expression means something that is not there
}

// errUndecided means that the expression failed for all messages.
var errUndecided = errors.New("the expression cannot be evaluated for any message")

// Finish returns, after the last message of input, for how many messages the evaluation failed. It is
// an error if the evaluation failed for all. The expression is misspelt if no message had a field of
// it, unless that has a ?. before it.
func (x *Expression) Finish(input string) (Findings, error) {
	var found Findings
	switch {
	case x.undecided == 0:
	case !x.decided:
		return found, errUndecided
	default:
		found.Lines = append(found.Lines,
			fmt.Sprintf("%s: %s left out because the expression cannot be evaluated for them",
				wording.Shown(input), wording.Plural(x.undecided, "message")))
	}
	for _, replaced := range x.program.Replaced() {
		found.Lines = append(found.Lines, fmt.Sprintf("%s: %s", wording.Shown(input), replaced))
	}
	for _, lack := range x.program.Missing() {
		if !lack.Optional {
			found.Lines = append(found.Lines, "expression: "+lack.String())
			found.Misspelt = true
		}
	}
	return found, nil
}

// CheckTopics returns the topics of the expression that are not recorded. The expression is misspelt
// if a recorded topic that it does not name is similar to one of them.
func (x *Expression) CheckTopics(recorded []string) Findings {
	named := x.program.Topics()
	var found Findings
	for _, topic := range named {
		// it has a leading slash
		if slices.Contains(recorded, topic) || slices.Contains(recorded, topic[1:]) {
			continue
		}
		near := slices.DeleteFunc(wording.NearestTopics(topic, recorded),
			func(n string) bool { return slices.Contains(named, topicmatch.Rooted(n)) })
		found.Misspelt = found.Misspelt || len(near) > 0
		found.Lines = append(found.Lines, "expression: "+NoTopic(topic, near))
	}
	return found
}

// BothForms returns the topics that the expression names, and that are recorded with a leading slash and
// without.
func (x *Expression) BothForms(recorded []string) []string {
	return slices.DeleteFunc(topicmatch.BothForms(recorded),
		func(topic string) bool { return !slices.Contains(x.program.Topics(), topic) })
}

// NoTopic says that a topic is not recorded, and which ones have similar names.
func NoTopic(topic string, near []string) string {
	if len(near) == 0 {
		return wording.Shown(topic) + ": no such topic"
	}
	for i := range near {
		near[i] = wording.Shown(near[i])
	}
	return fmt.Sprintf("%s: no such topic; did you mean %s?", wording.Shown(topic),
		strings.Join(near, " or "))
}
