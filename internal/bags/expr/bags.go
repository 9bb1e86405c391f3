package expr

import (
	"time"

	"github.com/expr-lang/expr"
)

// Bag is what an expression about a bag as a whole may use.
type Bag struct {
	Bag      string            `expr:"bag"` // its name
	Robot    string            `expr:"robot"`
	Size     int64             `expr:"size"`  // in bytes
	Start    float64           `expr:"start"` // of the earliest message, in seconds since 1970
	End      float64           `expr:"end"`   // of the latest
	Duration float64           `expr:"duration"`
	Messages uint64            `expr:"messages"`
	Topics   []string          `expr:"topics"` // with a leading slash, as Topic
	Types    []string          `expr:"types"`
	Marks    []string          `expr:"marks"` // the texts of the first hundred
	Notes    map[string]string `expr:"notes"` // a note that the bag does not have is ""

	// One of the topics: the expression is evaluated for each.
	Topic string `expr:"topic"`
	Type  string `expr:"type"`
}

// BagProgram is a compiled expression about bags. It is not for concurrent use.
type BagProgram struct {
	machine machine
	topics  []string // that the expression names
}

// Topics is that of [Program].
func (p *BagProgram) Topics() []string { return p.topics }

// CompileBags compiles an expression about bags, with the fields of Bag; date("2006-01-02 15:04")
// is a time in seconds, as parseTime returns it, and now() the present one. Errors are an
// [ExpressionError].
func CompileBags(text string, parseTime func(text string) (seconds float64, err error)) (*BagProgram, error) {
	date := func(args ...any) (any, error) {
		text, _ := args[0].(string) // the type is checked
		return parseTime(text)
	}
	now := func(...any) (any, error) { return float64(time.Now().UnixMicro()) / 1e6, nil }
	p := new(BagProgram)
	names := &topicNames{resolve: rooted}
	err := p.machine.compile(text,
		expr.Env(Bag{}),
		expr.DisableBuiltin("date"),
		expr.DisableBuiltin("now"),
		expr.Function("date", date, new(func(string) float64)),
		expr.Function("now", now, new(func() float64)),
		expr.Patch(names),
	)
	if err != nil {
		return nil, err
	}
	p.topics = names.all()
	return p, nil
}

// Matches evaluates the expression. An index beyond the end of a list makes it false. Errors are an
// [ExpressionError].
func (p *BagProgram) Matches(b *Bag) (bool, error) {
	result, err := p.machine.run(b, 0)
	if err != nil {
		return false, explain(err)
	}
	return result, nil
}
